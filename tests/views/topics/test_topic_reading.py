"""Infini Memory-H and -A: what a recall has of what a model picks, looks at, or gets wrong."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from zibaldone import Consolidation, ModelUnavailable
from zibaldone.errors import ModelFailed
from zibaldone.testing import ScriptedModel
from zibaldone.views.topics.read import reader_a

VEGETABLES = "beans", "peas", "kale"
# Three documents and CURRENT are made of it without a model, in this order.
WORK = ["Ann works for Globex.", "The headquarters of Globex is in Lyon.", "Acme has its own in Turin."]
SAID = [
    *(*WORK, "Lyon lies where two rivers meet."),
    *(f"{what.title()} grow in bed number {n} of the garden." for n, what in enumerate(VEGETABLES)),
    "The kettle is broken.",
]
SMALL = Consolidation(current_threshold_tokens=60, split_tokens=120, merge_tokens=1, group_similarity=0)
QUESTION = "Where is the headquarters of the firm that Ann works for?"


@pytest.fixture
def read(opened):
    """A recall by a reader whose model answers so, the last answer again and again, and its requests."""
    with opened(topics=SMALL, maintained=["topics"]) as memory:
        memory.add(SAID, user="ann")
        memory.maintain()
        ids = [document.id for document in memory.user("ann").topics.documents()]
    assert ids == ["topic-0001", "topic-0002", "topic-0003", "CURRENT"]

    def read(question, *answers, reader="agentic", budget_tokens=1000):
        def answer(_):
            return answers[min(len(model.requests), len(answers)) - 1]

        model = ScriptedModel(answer)
        memory = opened(chat=model if answers else None, topics=replace(SMALL, reader=reader))
        found = memory.recall(
            question, user="ann", views=["topics"], budget_tokens=budget_tokens, min_confidence=0
        )
        return found, [json.loads(request.turns[1].content) for request in model.requests]

    return read


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


def move(*calls):
    """A round with these calls."""
    return {"done": False, "tool_calls": list(calls)}


def done(*snippets, docs=()):
    """The end, with this evidence."""
    chosen = [{"doc_id": d, "start_line": a, "end_line": b} for d, a, b in snippets]
    return {"done": True, "relevant_snippets": chosen, "relevant_docs": list(docs)}


def test_an_agent_looks_with_tools_and_chooses_lines(read):
    """Several answers in a round; what it chose comes first, and the documents stay as they are."""
    looks = move(call("search", query="Ann works"), call("grep", pattern="headquarters"))
    found, sent = read(QUESTION, looks, done(("topic-0003", 4, 4)), budget_tokens=20)
    (first,) = sent[1]["rounds"]
    assert [one["name"] for one in first["calls"]] == ["search", "grep"]
    assert "Globex" in first["calls"][1]["answer"]
    assert "Peas" in found.text
    assert found.trace.views[0].model_calls == 2


def test_an_agent_chooses_whole_documents(read):
    """Every entry of them comes before what the question's words find."""
    found, _ = read(QUESTION, done(docs=("topic-0003",)), budget_tokens=60)
    assert "Beans" in found.text
    assert "Peas" in found.text


BEDS = [
    move(call("grep_doc", doc_id="topic-0003", pattern=what, context_lines=0)) for what in ("beans", "peas")
]
LINES = [move(call("read_lines", doc_id="topic-0001", start_line=n, end_line=n)) for n in range(1, 7)]


@pytest.mark.parametrize(
    ("answers", "evidence_tokens", "asked"),
    [
        ([*BEDS, *LINES], 8000, 7),
        ([move(call("grep", pattern="Globex"))], 8000, 7),
        ([move(call("grep", pattern="."))], 20, 1),
        (["hm"], 8000, 4),  # each answer is put right once, in vain
        ([ModelUnavailable("gone")], 8000, 1),
    ],
    ids=["rounds", "the same again", "evidence", "no answer", "no model"],
)
def test_a_search_that_does_not_finish_is_stopped(read, monkeypatch, answers, evidence_tokens, asked):
    """What it saw is recalled, and what offline reading finds."""
    monkeypatch.setattr(reader_a, "_EVIDENCE_TOKENS", evidence_tokens)
    found, sent = read(QUESTION, *answers)
    assert len(sent) == asked
    assert WORK[1] in found.text
    assert "gone" in found.trace.views[0].note or not isinstance(answers[0], ModelUnavailable)


WRONG = move(call("grep", pattern="("), call("fly", to="moon"), call("read_lines", doc_id="x", lines="all"))


@pytest.mark.parametrize(
    ("answers", "says"),
    [([WRONG], "error: "), ([move()], "no tool was called"), (["hm", "hm"], "could not be used")],
)
def test_what_a_model_does_wrong_is_told_and_costs_a_round(read, answers, says):
    """It can do better in the next one."""
    found, sent = read(QUESTION, *answers, BEDS[0], done(("topic-0003", 3, 3)), budget_tokens=20)
    first = sent[-1]["rounds"][0]
    assert all(one["answer"].startswith("error: ") for one in first["calls"])
    assert says in str(first)
    assert sent[-1]["rounds_left"] == 5
    assert "Beans" in found.text


def test_invented_evidence_brings_the_fallback(read):
    """Ids and lines that do not exist choose nothing; BM25 over heading blocks stands in."""
    ranges = ("topic-9999", 1, 5), ("topic-0001", 900, 901), ("topic-0001", 5, 1)
    found, _ = read(QUESTION, done(*ranges, docs=("nowhere",)))
    assert WORK[1] in found.text
    assert "found little" in found.trace.views[0].note


def test_what_an_agent_picks_is_recalled_though_the_question_has_none_of_its_words(opened):
    """The floor of confidence is for what nobody has read."""

    def answer(request):
        if request.task != "topics.search_memory":
            raise ModelFailed("only the reader works today")
        shown = json.loads(request.turns[1].content)
        return done(*((document["id"], 1, 99) for document in shown["documents"]))

    memory = opened(chat=ScriptedModel(answer), topics=replace(SMALL, reader="agentic"))
    memory.add([f"The kettle number {number} is on the stove." for number in range(60)], user="ann")
    question = "Which queue did we decide against?"
    assert not memory.recall(question, user="ann", views=["messages"])
    assert memory.recall(question, user="ann", views=["topics"])


@pytest.mark.parametrize(
    ("picked", "recalled"),
    [
        (["topic-7777", "topic-0003", "topic-0003"], ["Beans"]),
        ([], ["Kale", "kettle"]),  # CURRENT belongs to every context (Algorithm 3, line 17)
    ],
)
def test_the_entries_of_picked_documents_come_first(read, picked, recalled):
    """Invented ids among them are left out."""
    found, _ = read("What is in the kitchen?", {"documents": picked}, reader="hybrid", budget_tokens=60)
    assert all(word in found.text for word in recalled)
    assert not found.trace.views[0].note


@pytest.mark.parametrize(
    ("answers", "says"),
    [([{"documents": ["nowhere"]}] * 2, "nowhere"), ([ModelUnavailable("gone")], "gone")],
)
def test_without_a_choice_words_and_vectors_choose(read, answers, says):
    """Ids that do not exist are shown to the model once; the reading says so, and loses no entry."""
    found, sent = read("Which beans grow?", *answers, reader="hybrid")
    assert len(sent) == found.trace.views[0].model_calls == len(answers)
    assert says in found.trace.views[0].note
    offline, _ = read("Which beans grow?", reader="hybrid")
    assert Counter(unit.text for unit in found.evidence) == Counter(unit.text for unit in offline.evidence)
    assert "Beans" in offline.text
