"""ask: a model that may look again, answers with citations, and never costs what a recall has."""

import json
import shutil
import threading

import pytest

from zibaldone import Config, Filter, InvalidInput, Memory, TooMany
from zibaldone.errors import ModelUnavailable
from zibaldone.models.base import ChatReply
from zibaldone.testing import FrozenClock, ScriptedModel


def ann(content, time, session, **fields):
    """A message of hers, or in answer to her."""
    return {"role": "user", "name": "Ann", "content": content, "time": time, "session": session, **fields}


ANN = [
    ann("I adopted a beagle called Pip.", "2023-05-08T09:00", "a"),
    ann("Lovely! How old is Pip?", "2023-05-08T09:01", "a", role="assistant", name=None),
    ann("The vet says Pip has a heart murmur.", "2023-06-01T09:00", "b"),
    ann("My sister Ruth moved to Ghent.", "2023-07-02T09:00", "c"),
    ann("The vet gave Pip pills against the murmur.", "2023-08-01T09:00", "d"),
]
FILLER = [
    ann(
        f"On day {day} of the tour we walked {day + 3} miles along the canal towards the lock.",
        f"2022-{1 + day // 28:02}-{1 + day % 28:02}T09:00",
        f"tour {day}",
    )
    for day in range(80)
]


def sent(request):
    """What the model was shown, as it was sent."""
    return json.loads(request.turns[1].content)


def texts(request):
    """Of the evidence in it."""
    return [entry["text"] for entry in sent(request)["evidence"]]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The folder of a memory of Ann's, and of a word of Bob's."""
    folder = tmp_path_factory.mktemp("told") / "memory"
    with Memory(folder, config=Config(clock=FrozenClock())) as opened:
        opened.add(FILLER + ANN, user="ann")
        opened.add([{"role": "user", "content": "My beagle Rex bites."}], user="bob")
    return folder


@pytest.fixture
def memory(tmp_path, told):
    """A copy of it."""
    shutil.copytree(told, tmp_path / "memory")
    with Memory(tmp_path / "memory", config=Config(clock=FrozenClock())) as opened:
        yield opened


def test_a_model_that_has_enough_answers_in_one_request(memory):
    """Its answer cites what it names, at the place where the words stand."""
    model = ScriptedModel([{"answer": "Pip", "sources": [81]}])
    answer = memory.ask("What is the beagle called?", user="ann", chat=model)
    assert (answer.text, answer.known, answer.marks, answer.calls) == ("Pip", True, (), 1)
    (cited,) = answer.citations
    assert answer.evidence.text[cited.start : cited.end] == ANN[0]["content"]
    first, last = answer.steps
    assert (first.number, first.calls, last.answered, last.prompt_tokens) == (0, 0, True, 10)
    assert sent(model.requests[0])["rounds_left"] == 3


def test_a_history_that_fits_is_shown_whole(tmp_path):
    """The first look has all of a short history, whatever the question."""
    model = ScriptedModel([{"answer": "x", "sources": [1]}])
    with Memory(tmp_path / "m", chat=model) as memory:
        memory.add(ANN, user="ann")
        memory.ask("Where does Ruth live?", user="ann")
    assert texts(model.requests[0]) == [message["content"] for message in ANN]


def test_what_a_model_asks_for_is_added_once(memory):
    """A query brings what was not there yet; the evidence has no message twice and is in order."""
    model = ScriptedModel(
        [
            {"queries": [{"query": "pills against the murmur"}, {"query": "the vet and the murmur"}]},
            {"answer": "pills", "sources": [85]},
        ]
    )
    answer = memory.ask("What became of the lock?", user="ann", chat=model, budget_tokens=300)
    before, after = (texts(request) for request in model.requests)
    assert ANN[4]["content"] not in before
    assert after.count(ANN[4]["content"]) == 1
    assert ANN[2]["content"] in after
    seqs = [entry["seq"] for entry in sent(model.requests[1])["evidence"]]
    assert seqs == sorted(seqs)
    assert len(set(seqs)) == len(seqs)
    assert sent(model.requests[1])["asked"][0] == "pills against the murmur"
    assert {83, 85} <= set(answer.steps[1].added)
    assert answer.evidence.tokens <= 300


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ({"since": "2023-08-01"}, {85}),
        ({"until": "2023-06-01", "since": "2023-06-01"}, {83}),  # a bare day is in
        ({"session": "b"}, {83}),
        ({"role": "assistant"}, {82}),
        ({"since": "2023-05-01", "order": "last"}, None),
    ],
)
def test_a_query_is_narrowed_as_the_model_says(memory, narrowed, found):
    """By time, session and role; in an order, the latest mention is there even where little fits."""
    model = ScriptedModel(
        [{"queries": [{"query": "Pip the beagle and the vet", **narrowed}]}, {"answer": "x", "sources": []}]
    )
    answer = memory.ask("canal towards the lock", user="ann", chat=model, budget_tokens=400)
    assert answer.steps[1].added
    if found is None:
        assert 85 in answer.steps[1].added
    else:
        assert set(answer.steps[1].added) == found


def test_a_filter_holds_for_all_that_a_model_asks(memory):
    """A query for what lies outside brings nothing, be it another session, role or time."""
    asked = [
        {"query": "Pip", "session": "d"},
        {"query": "Pip", "role": "assistant"},
        {"query": "Pip", "until": "2023-01-01"},
    ]
    model = ScriptedModel([{"queries": asked}, {"answer": "Pip", "sources": [81]}])
    narrowed = Filter(session="a", roles=["user"], since="2023-01-01")
    answer = memory.ask("Who is Pip?", user="ann", chat=model, filter=narrowed)
    assert [unit.sources for unit in answer.evidence.evidence] == [(81,)]


def test_another_part_of_a_long_message_can_be_asked_for(memory):
    """What was shown of it does not keep the rest away."""
    days = " ".join(f"Stage {n} of the ride goes over the pass of {n} windmills." for n in range(1, 61))
    memory.add({"role": "assistant", "content": f"Here is your plan. {days} Pack a raincoat."}, user="ann")
    model = ScriptedModel(
        [
            {"queries": [{"query": "stage 57 windmills", "role": "assistant"}]},
            {"answer": "x", "sources": [86]},
        ]
    )
    memory.ask("Here is your plan: stage 1?", user="ann", chat=model, budget_tokens=600)
    before, after = (" ".join(texts(request)) for request in model.requests)
    assert "Stage 1 of the ride" in before
    assert "Stage 57 of the ride" not in before
    assert "Stage 57 of the ride" in after
    assert after.count("Stage 1 of the ride") == 1


def test_a_model_is_told_of_queries_that_bring_nothing(memory):
    """What has no match, and what was shown already."""
    queries = [{"query": "quantum chromodynamics"}, {"query": "Pip", "session": "nowhere"}]
    model = ScriptedModel([{"queries": queries}, {"answer": "Pip", "sources": [81]}])
    memory.ask("Who is Pip?", user="ann", chat=model)
    assert sent(model.requests[1])["asked"] == [
        "quantum chromodynamics (nothing further clearly about it)",
        "Pip (nothing new)",
    ]


def test_queries_are_followed_though_the_model_does_not_know_yet(memory):
    """`known: false` beside queries is no answer while a round is left, and one when none is."""
    asking = {"queries": [{"query": "puppy called Pip"}], "answer": None, "sources": [], "known": False}
    model = ScriptedModel([asking, {"answer": "A dog.", "sources": [81]}])
    answer = memory.ask("Who is Pip?", user="ann", chat=model)
    assert (answer.text, answer.known, len(model.requests)) == ("A dog.", True, 2)
    answer = memory.ask("Who is Pip?", user="ann", chat=ScriptedModel([asking] * 2), rounds=1)
    assert (answer.text, answer.known, answer.degraded) == ("", False, False)


def test_rounds_are_one_request_each_and_end(memory):
    """A model that always asks is asked `rounds` + 1 times; the last time it is told that none is left."""
    model = ScriptedModel(lambda request: {"queries": [{"query": f"more {len(request.turns[1].content)}"}]})
    answer = memory.ask("Who is Pip?", user="ann", chat=model, rounds=3)
    assert [sent(request)["rounds_left"] for request in model.requests] == [3, 2, 1, 0]
    assert answer.degraded
    assert answer.evidence
    assert "no round is left" in answer.marks[0]
    assert answer.calls == 4


@pytest.mark.parametrize(
    "said",
    [
        "no JSON",
        {"queries": []},
        {"queries": [{"query": " "}]},
        {"queries": [{"query": "x", "since": "soon"}]},
        {"queries": [{"query": "x", "order": "oldest"}]},
        {"answer": "x", "sources": ["y"]},
        ModelUnavailable("down"),
        ChatReply("I can't help with that", finish="refusal"),
    ],
)
def test_a_model_that_talks_nonsense_leaves_the_plain_recall(memory, said):
    """The evidence is that of the first look, and a mark says what went wrong."""
    model = ScriptedModel(lambda _: said)
    answer = memory.ask("Who is Pip?", user="ann", chat=model)
    assert (answer.degraded, answer.known) == (True, None)
    assert answer.text == ""
    assert answer.citations == ()
    assert answer.marks[0].startswith("step: ")
    assert any(ANN[0]["content"] == unit.text for unit in answer.evidence.evidence)
    assert len(model.requests) <= 4


def test_what_a_model_cites_must_have_been_shown(memory):
    """A source that is not in the evidence is marked and no citation; so is an answer without any."""
    for sources, word in (([81, 999], "not shown: [999]"), ([], "cites no message")):
        model = ScriptedModel([{"answer": "Pip", "sources": sources}])
        answer = memory.ask("Who is Pip?", user="ann", chat=model)
        assert word in answer.marks[0]
        assert {cited.seq for cited in answer.citations} == set(sources) & {81}


def test_what_memory_does_not_hold_is_said(memory):
    """A model may say so, with a reason and no source."""
    model = ScriptedModel([{"answer": "No cat is mentioned.", "known": False}])
    answer = memory.ask("What is my cat called?", user="ann", chat=model)
    assert (answer.known, answer.marks, answer.text) == (False, (), "No cat is mentioned.")


def test_of_an_empty_memory_no_model_is_asked(tmp_path):
    """There is nothing that it could be shown."""
    model = ScriptedModel([])
    with Memory(tmp_path / "m", chat=model) as memory:
        answer = memory.ask("Who is Pip?", user="ann")
    assert (answer.known, answer.evidence.evidence, model.requests) == (False, (), [])


def test_without_a_model_the_error_names_chat(memory):
    """Nothing stands in for it; a recall needs none."""
    with pytest.raises(InvalidInput, match="chat="):
        memory.ask("Who is Pip?", user="ann")
    with pytest.raises(InvalidInput, match="chat="):
        memory.recall("Who is Pip?", user="ann", rounds=2)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"rounds": 11}, TooMany), ({"rounds": -1}, InvalidInput), ({"question": "  "}, InvalidInput),
     ({"filter": {"session": "a"}}, InvalidInput), ({"budget_tokens": 0}, InvalidInput)],
)  # fmt: skip
def test_a_bad_argument_is_told_before_anybody_is_asked(memory, options, error):
    """Each error names the argument."""
    model = ScriptedModel([])
    with pytest.raises(error):
        memory.ask(**{"question": "Who is Pip?", "user": "ann", "chat": model, **options})
    assert not model.requests


def test_steps_are_told_as_they_come(memory):
    """The first look before the model is asked, and each round with what it asked and brought."""
    model = ScriptedModel([{"queries": [{"query": "pills"}]}, {"answer": "Pip", "sources": [81]}])
    told = []
    answer = memory.ask(
        "Who is Pip?", user="ann", chat=model, on_step=lambda step: told.append((step, len(model.requests)))
    )
    assert [requests for _, requests in told] == [0, 1, 2]
    assert tuple(step for step, _ in told) == answer.steps
    assert [lookup.query for lookup in answer.steps[1].queries] == ["pills"]


def test_what_is_forgotten_while_a_model_thinks_is_in_no_answer(memory):
    """The words and their citation are gone, and the answer that was made from them is withheld."""

    def answered(_):
        memory.forget(user="ann", seqs=[81])
        return {"answer": "a beagle called Pip", "sources": [81]}

    answer = memory.ask("What did I adopt?", user="ann", chat=ScriptedModel(answered))
    assert answer.text == ""
    assert "forgotten" in answer.marks[0]
    assert answer.citations == ()
    assert "adopted" not in answer.evidence.text


def test_a_grant_that_ends_while_a_model_thinks(memory):
    """The model, whose reply was no use, is not shown once more what was shared."""
    memory.add("The beagle show is on Thursday.", user="team:dogs")
    memory.admin.grant("team:dogs", user="ann")

    def answered(_):
        memory.admin.revoke("team:dogs", user="ann")
        return {"sources": "no list"}

    model = ScriptedModel(answered)
    answer = memory.ask("When is the beagle show?", user="ann", chat=model, rounds=1)
    assert len(model.requests) == 1
    assert answer.text == ""
    assert "Thursday" not in answer.evidence.text


def test_recall_in_rounds_gives_the_united_evidence(memory):
    """For a reader of one's own: one request a round, and no answer."""
    model = ScriptedModel([{"queries": [{"query": "pills against the murmur"}]}, {"queries": []}])
    recalled = memory.recall("canal towards the lock", user="ann", chat=model, rounds=2, budget_tokens=400)
    assert ANN[4]["content"] in recalled.text
    assert recalled.tokens <= 400
    assert len(model.requests) == 2
    with pytest.raises(InvalidInput, match="rounds="):
        memory.recall("Who is Pip?", user="ann", chat=model)


def test_a_failing_model_leaves_all_of_the_plain_recall(memory):
    """Not the smaller first look; and so does a recall in rounds whose model wants nothing more."""
    plain = memory.recall("canal towards the lock", user="ann", budget_tokens=500)
    down = ScriptedModel(lambda _: ModelUnavailable("down"))
    asked = memory.ask("canal towards the lock", user="ann", chat=down, budget_tokens=500).evidence
    idle = ScriptedModel(lambda _: {"queries": []})
    gathered = memory.recall("canal towards the lock", user="ann", chat=idle, rounds=1, budget_tokens=500)
    assert {unit.sources for unit in asked.evidence} == {unit.sources for unit in plain.evidence}
    assert {unit.sources for unit in gathered.evidence} == {unit.sources for unit in plain.evidence}


def test_a_recall_in_rounds_keeps_to_the_chat_and_the_order(memory):
    """What the chat says is not recalled again, and an order that there is not is refused."""
    chat = [
        {"role": "user", "content": ANN[0]["content"]},
        {"role": "user", "content": "Who is Pip the beagle?"},
    ]
    idle = ScriptedModel(lambda _: {"queries": []})
    recalled = memory.recall(messages=iter(chat), user="ann", chat=idle, rounds=1)
    assert ANN[0]["content"] not in recalled.text
    assert ANN[2]["content"] in recalled.text
    with pytest.raises(InvalidInput, match="order"):
        memory.recall("Pip", user="ann", chat=idle, rounds=1, order="bogus")


def test_no_request_is_made_after_the_deadline(memory):
    """The time was over before the model's turn."""
    model = ScriptedModel([])
    answer = memory.ask(
        "Who is Pip?", user="ann", chat=model, timeout_s=0.3, on_step=lambda _: threading.Event().wait(0.4)
    )
    assert not model.requests
    assert answer.degraded
    assert answer.evidence


def test_a_last_bad_answer_leaves_a_request_for_the_answer(memory):
    """With one round, a look that cannot be read is followed by the answer, not by a second look."""
    model = ScriptedModel(["no JSON", {"answer": "Pip", "sources": [81]}])
    answer = memory.ask("Who is Pip?", user="ann", chat=model, rounds=1)
    assert (answer.text, len(model.requests)) == ("Pip", 2)
