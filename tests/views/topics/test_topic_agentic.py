"""Infini Memory-A with models that search well, badly, or for ever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from topic_shelves import CURRENT, EMBEDDER, TODAY, ranked

from zibaldone.errors import ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest
from zibaldone.models.meter import Ceilings, Meter
from zibaldone.testing import ScriptedModel
from zibaldone.testing.fakes import Scripted
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.read.ranking import ReadingResult
from zibaldone.views.topics.read.reader_a import AgenticSettings, read_agentic
from zibaldone.views.topics.read.reader_h import read_hybrid

QUESTION = "Where is the headquarters of the firm that Ann works for?"
LITTLE = AgenticSettings(min_retrieval_tokens=1)


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


def read(
    *answers: Scripted, settings: AgenticSettings = LITTLE, library: Library | None = None
) -> tuple[ReadingResult, ScriptedModel]:
    """Reader A's result with a model that answers so, the last answer again and again."""

    def answer(_: ChatRequest) -> Scripted:
        return answers[min(len(model.requests), len(answers)) - 1]

    model = ScriptedModel(answer)
    asker = Asker(model, Meter(None), EMBEDDER)
    asked = ranked(QUESTION, library)
    return read_agentic(asked, asker, EMBEDDER, user="ann", today=TODAY, settings=settings), model


def texts(reading: ReadingResult) -> list[str]:
    """Texts of the entries found, best first."""
    return [one.place.entry.text for one in reading.hits]


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
    assert texts(reading)[:2] == [
        "The headquarters of Globex is in Lyon.",
        "The headquarters of Acme is in Turin.",
    ]
    assert (reading.stopped, reading.rounds, reading.model_calls) == ("done", 1, 2)


def test_whole_documents_can_be_chosen() -> None:
    """Every entry of them is in."""
    reading, _ = read(done(docs=("topic-0003",)))
    assert sum(one.place.document == "topic-0003" for one in reading.hits) == 3
    assert reading.hits[0].place.document == "topic-0003"


def test_an_agent_that_never_finishes_is_stopped_and_keeps_what_it_saw() -> None:
    """After seven rounds; nothing that a tool showed is lost."""
    calls = [
        move(call("grep_doc", doc_id="topic-0003", pattern=f"number {n}", context_lines=0)) for n in (0, 1, 2)
    ]
    more = [move(call("read_lines", doc_id="topic-0002", start_line=n, end_line=n)) for n in (1, 3, 4, 8, 6)]
    reading, model = read(*calls, *more)
    assert (reading.stopped, len(model.requests)) == ("rounds", 7)
    seen = {one.place.entry.text for one in reading.hits if one.why == "seen"}
    assert {f"Bed number {n} has {what}." for n, what in enumerate(("beans", "peas", "kale"))} <= seen
    assert "The headquarters of Globex is in Lyon." in seen


def test_rounds_that_show_nothing_new_end_the_search() -> None:
    """The same call again and again is no search."""
    reading, model = read(move(call("grep", pattern="Globex")))
    assert reading.stopped == "nothing new"
    assert len(model.requests) == 3
    assert "The headquarters of Globex is in Lyon." in texts(reading)


def test_enough_evidence_ends_the_search() -> None:
    """A model that reads the whole library is stopped, and keeps what it read."""
    settings = AgenticSettings(evidence_tokens=20, min_retrieval_tokens=1)
    reading, model = read(move(call("grep", pattern=".")), settings=settings)
    assert (reading.stopped, len(model.requests)) == ("evidence", 1)
    assert len(reading.hits) == 10


def test_wrong_calls_come_back_as_text_and_cost_a_round() -> None:
    """The model can do better in the next one."""
    reading, model = read(
        move(call("grep", pattern="("), call("fly", to="moon"), call("read_lines", doc_id="x", lines="all")),
        move(call("grep", pattern="Lyon")),
        done(("topic-0002", 3, 3)),
    )
    answers = [one["answer"] for one in sent(model)["rounds"][0]["calls"]]
    assert all(answer.startswith("error: ") for answer in answers)
    assert sent(model)["rounds_left"] == 5
    assert texts(reading)[0] == "The headquarters of Globex is in Lyon."


def test_an_answer_without_a_call_is_told_so() -> None:
    """It costs a round too."""
    _, model = read(move(), done(("topic-0002", 3, 3)))
    assert "no tool was called" in sent(model)["rounds"][0]["remark"]


def test_what_is_no_json_costs_a_round() -> None:
    """Asked twice for it, the agent goes on in the next round; twice in a row is enough."""
    reading, model = read("hm", "hm", move(call("grep", pattern="Lyon")), done(("topic-0002", 3, 3)))
    assert reading.stopped == "done"
    assert "could not be used" in sent(model)["rounds"][0]["remark"]
    reading, model = read("hm")
    assert (reading.stopped, len(model.requests)) == ("no model", 4)
    assert reading.hits


def test_invented_evidence_brings_the_fallback() -> None:
    """Ids and lines that do not exist choose nothing; BM25 over heading blocks stands in."""
    reading, _ = read(
        done(("topic-9999", 1, 5), ("topic-0001", 900, 901), ("topic-0001", 5, 1), docs=("nowhere",))
    )
    assert reading.hits[0].why == "fallback"
    assert "The headquarters of Globex is in Lyon." in texts(reading)
    assert "fallback" in reading.note or "found little" in reading.note


def test_current_is_always_in_the_evidence() -> None:
    """Behind what was chosen, where there is room."""
    reading, _ = read(done(("topic-0003", 3, 3)))
    assert texts(reading)[-1] == CURRENT.entries[0].text


def test_a_model_that_is_down_leaves_what_offline_reading_finds() -> None:
    """With a note; and it is not asked again."""
    reading, model = read(ModelUnavailable("gone"))
    assert (reading.stopped, len(model.requests)) == ("no model", 1)
    assert "gone" in reading.note
    assert "The headquarters of Globex is in Lyon." in texts(reading)


def test_a_ceiling_ends_the_search_with_what_was_seen() -> None:
    """Tokens per call are used up by the first round."""
    model = ScriptedModel(lambda _: move(call("grep", pattern="beans")))
    asker = Asker(model, Meter(None, Ceilings(tokens_per_call=1)), EMBEDDER)
    reading = read_agentic(ranked(QUESTION), asker, EMBEDDER, user="ann", today=TODAY, settings=LITTLE)
    assert reading.stopped == "no model"
    assert reading.hits


def test_without_a_model_it_reads_as_the_hybrid_does() -> None:
    """Offline there is one reader."""
    asker = Asker(None, Meter(None), EMBEDDER)
    agent = read_agentic(ranked(QUESTION), asker, EMBEDDER, user="ann", today=TODAY)
    hybrid = read_hybrid(ranked(QUESTION), asker, user="ann")
    assert agent.hits == hybrid.hits
