"""Infini Memory-A with models that search well, badly, or for ever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from topic_shelves import CURRENT, EMBEDDER, TODAY, ranked, texts

from zibaldone.errors import ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest
from zibaldone.models.meter import Meter
from zibaldone.testing import ScriptedModel
from zibaldone.testing.fakes import Scripted
from zibaldone.views.topics.read.ranking import ReadingResult
from zibaldone.views.topics.read.reader_a import AgenticSettings, read_agentic
from zibaldone.views.topics.read.reader_h import read_hybrid

QUESTION = "Where is the headquarters of the firm that Ann works for?"
LITTLE = AgenticSettings(min_retrieval_tokens=1)
LYON = "The headquarters of Globex is in Lyon."


def call(name: str, **arguments: Any) -> Mapping[str, Any]:
    """One tool call."""
    return {"name": name, "arguments": arguments}


def move(*calls: Mapping[str, Any]) -> Mapping[str, Any]:
    """A round with these calls."""
    return {"done": False, "tool_calls": list(calls)}


def done(*snippets: tuple[str, int, int], docs: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """The end, with this evidence."""
    chosen = [{"doc_id": d, "start_line": a, "end_line": b} for d, a, b in snippets]
    return {"done": True, "relevant_snippets": chosen, "relevant_docs": list(docs)}


def read(*answers: Scripted, settings: AgenticSettings = LITTLE) -> tuple[ReadingResult, ScriptedModel]:
    """Reader A's result with a model that answers so, the last answer again and again."""

    def answer(_: ChatRequest) -> Scripted:
        return answers[min(len(model.requests), len(answers)) - 1]

    model = ScriptedModel(answer)
    asker = Asker(model, Meter(None), EMBEDDER)
    return read_agentic(ranked(QUESTION), asker, EMBEDDER, user="ann", today=TODAY, settings=settings), model


def sent(model: ScriptedModel, at: int = -1) -> Any:
    """Input of the model in a round."""
    return json.loads(model.requests[at].turns[1].content)


def test_an_agent_gets_several_answers_in_a_round_and_chooses_lines() -> None:
    """The chosen lines come first, then the rest of their heading block."""
    reading, model = read(
        move(call("search", query="Ann works"), call("grep", pattern="headquarters")),
        done(("topic-0002", 3, 3)),
    )
    assert [one["name"] for one in sent(model)["rounds"][0]["calls"]] == ["search", "grep"]
    assert "Globex" in sent(model)["rounds"][0]["calls"][1]["answer"]
    assert texts(reading)[:2] == [LYON, "The headquarters of Acme is in Turin."]
    assert (reading.stopped, reading.rounds, reading.model_calls) == ("done", 1, 2)


def test_whole_documents_can_be_chosen() -> None:
    """Every entry of them is in; CURRENT stands behind what was chosen."""
    reading, _ = read(done(docs=("topic-0003",)))
    assert sum(one.place.document == "topic-0003" for one in reading.hits) == 3
    assert reading.hits[0].place.document == "topic-0003"
    assert texts(reading)[-1] == CURRENT.entries[0].text


GREP = move(call("grep", pattern="Globex"))
BEDS = [
    move(call("grep_doc", doc_id="topic-0003", pattern=f"number {n}", context_lines=0)) for n in (0, 1, 2)
]
LINES = [move(call("read_lines", doc_id="topic-0002", start_line=n, end_line=n)) for n in (1, 3, 4, 8, 6)]


@pytest.mark.parametrize(
    ("answers", "evidence_tokens", "stopped", "asked", "found"),
    [
        ([*BEDS, *LINES], 4096, "rounds", 7, ["Bed number 0 has beans.", "Bed number 2 has kale.", LYON]),
        ([GREP], 4096, "nothing new", 3, [LYON]),  # the same call again and again is no search
        ([move(call("grep", pattern="."))], 20, "evidence", 1, [LYON, "Bed number 2 has kale."]),
        (["hm"], 4096, "no model", 4, [LYON]),  # each answer is put right once, in vain
        ([ModelUnavailable("gone")], 4096, "no model", 1, [LYON]),
    ],
)
def test_a_search_that_does_not_finish_is_stopped(answers, evidence_tokens, stopped, asked, found) -> None:
    """And keeps what it saw; where it saw nothing, what offline reading finds."""
    settings = AgenticSettings(evidence_tokens=evidence_tokens, min_retrieval_tokens=1)
    reading, model = read(*answers, settings=settings)
    assert (reading.stopped, len(model.requests)) == (stopped, asked)
    assert set(found) <= set(texts(reading))
    assert "gone" in reading.note or not isinstance(answers[0], ModelUnavailable)


WRONG = move(call("grep", pattern="("), call("fly", to="moon"), call("read_lines", doc_id="x", lines="all"))


@pytest.mark.parametrize(
    ("answers", "says"),
    [([WRONG], "error: "), ([move()], "no tool was called"), (["hm", "hm"], "could not be used")],
)
def test_what_a_model_does_wrong_is_told_and_costs_a_round(answers, says) -> None:
    """It can do better in the next one."""
    reading, model = read(*answers, move(call("grep", pattern="Lyon")), done(("topic-0002", 3, 3)))
    first = sent(model)["rounds"][0]
    assert all(one["answer"].startswith("error: ") for one in first["calls"])
    assert says in str(first)
    assert sent(model)["rounds_left"] == 5
    assert (reading.stopped, texts(reading)[0]) == ("done", LYON)


def test_invented_evidence_brings_the_fallback() -> None:
    """Ids and lines that do not exist choose nothing; BM25 over heading blocks stands in."""
    reading, _ = read(
        done(("topic-9999", 1, 5), ("topic-0001", 900, 901), ("topic-0001", 5, 1), docs=("nowhere",))
    )
    assert reading.hits[0].why == "fallback"
    assert LYON in texts(reading)
    assert "fallback" in reading.note or "found little" in reading.note


def test_without_a_model_it_reads_as_the_hybrid_does() -> None:
    """Offline there is one reader."""
    asker = Asker(None, Meter(None), EMBEDDER)
    agent = read_agentic(ranked(QUESTION), asker, EMBEDDER, user="ann", today=TODAY)
    assert agent.hits == read_hybrid(ranked(QUESTION), asker, user="ann").hits
