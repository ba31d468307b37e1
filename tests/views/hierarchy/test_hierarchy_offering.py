"""Evidence of the hierarchy view: what is offered of a conversation of two sessions, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hierarchy_talk import START, talk

from zibaldone import Evidence, Filter, Message, XMemory
from zibaldone.errors import ModelFailed
from zibaldone.models.base import ChatReply, ChatRequest, TokenLogprob
from zibaldone.testing import HashEmbedder, ScriptedModel
from zibaldone.views.hierarchy.stage_two import StageTwo

NOW = START + timedelta(days=30)
MUSIC = talk(
    "Bea: I play the bassoon in the town orchestra since yesterday.",
    "Ann: How are you?",
    "Bea: The orchestra rehearses in an old brewery.",
)
GARDEN = talk(
    "Ann: My tomatoes drowned in the rain.",
    "Ann: The slugs ate every lettuce leaf.",
    "Bea: Copper rings keep slugs away.",
    session="2",
    start=START + timedelta(days=3),
)
STORY = "Bea told Ann that she plays the bassoon in an orchestra."


@pytest.fixture
def recalled(opened):
    """Makes a memory of a talk, which is maintained, and asks its hierarchy view."""

    def ask(text, said=(*MUSIC, *GARDEN), tail=(), *, session=None, config=None, chat=None):
        options = {
            "embedder": HashEmbedder(64),
            "maintained": ["hierarchy"],
            "hierarchy": config or XMemory(),
        }
        made.append(memory := opened(f"{len(made)}", chat=chat, **options))
        end = Message("Bye!", name="Ann", time=NOW - timedelta(days=1), session="end")
        memory.add([replace(one, seq=0) for one in (*said, end)], user="u")
        memory.maintain()
        memory.add(list(tail), user="u")
        return memory.recall(
            text, user="u", views=["hierarchy"], filter=Filter(session=session), min_confidence=0, now=NOW
        )

    made: list[Any] = []
    return ask


def offered(found) -> list[Evidence]:
    """What the view offers, the best first."""
    return [decision.evidence for decision in found.trace.decisions]


def sources(found) -> set[int]:
    return {seq for one in offered(found) for seq in one.sources}


class Model:
    """Tells STORY of the music and distils a fact of each session; its drafts are unsure, or fail."""

    def __init__(self, *, drafts: bool = True) -> None:
        self.drafts, self.shown = drafts, ""

    def __call__(self, request: ChatRequest) -> ChatReply | str | Exception:
        if "draft" in request.task:
            self.shown += (shown := request.turns[-1].content)
            unsure = TokenLogprob("x", -1000 / len(shown))
            return ChatReply("x", logprobs=(unsure,)) if self.drafts else ModelFailed("the reader is out")
        given = json.loads(request.turns[1].content)
        music = "bassoon" in str(given["messages"])
        match request.task:
            case "hierarchy.narrate":
                return json.dumps({"title": "A talk", "narrative": STORY if music else "Ann and Bea: slugs."})
            case "hierarchy.distil":
                fact = ("Bea plays the bassoon.", 0) if music else ("Slugs eat lettuce.", 1)
                sources = [given["messages"][fact[1]]["seq"]]
                return json.dumps({"statements": [{"text": fact[0], "sources": sources}]})
        return json.dumps({"expected": []})


def test_the_message_that_says_it_comes_first_with_all_its_fields(recalled) -> None:
    """Its dates resolved; the rest of its episode is there too, what states nothing as well, and once."""
    found = recalled("Who plays the bassoon in the town orchestra?")
    first = offered(found)[0]
    assert (first.sources, first.speaker, first.session, first.time) == ((1,), "Bea", "1", MUSIC[0].time)
    assert first.text == "I play the bassoon in the town orchestra since yesterday (7 May 2023)."
    assert (first.view, first.kind, first.place) == ("hierarchy", "message", 0)
    assert [one.channel for one in first.channels] == ["score", "lexical", "dense", "context", "clues"]
    assert first.channels[1].rank == 1
    assert {1, 2, 3} <= sources(found)
    assert len({one.sources for one in offered(found)}) == len(offered(found))


@pytest.mark.parametrize(
    "config",
    [XMemory(), XMemory(include=False), XMemory(select=False), XMemory(stage_two=StageTwo(least=2))],
    ids=["default", "no stage II", "no stage I", "two at least"],
)
def test_a_session_is_a_wall(recalled, config) -> None:
    """Nothing of another session is offered, nor cited, nor shown to the reader."""
    model = Model()
    question = "bassoon orchestra brewery slugs"
    found = recalled(question, session="2", config=config, chat=ScriptedModel(model))
    assert {one.session for one in offered(found)} == {"2"}
    assert sources(found) <= {4, 5, 6}
    assert "bassoon in the" not in model.shown
    assert STORY not in model.shown
    assert recalled("bassoon orchestra slugs", session="3", config=config).trace.confidence == 0.0


def test_what_a_model_told_is_offered_as_it_told_it(recalled) -> None:
    """The narrative cites every message, as long as doubt asks for no more."""
    found = recalled("Who plays the bassoon?", config=XMemory(reader="offline"), chat=ScriptedModel(Model()))
    told = [one for one in offered(found) if one.kind == "episode"]
    assert (told[0].text, told[0].sources, told[0].speaker) == (STORY, (1, 2, 3), None)
    assert not [one for one in offered(found) if one.kind == "semantic" and 1 in one.sources]


def test_without_the_gate_sources_stand_behind_the_facts(recalled) -> None:
    """The facts' own messages come first, and then the rest of the episodes that they were drawn from."""
    found = recalled("slugs", config=XMemory(select=False, include=False))
    order = [one.sources[0] for one in offered(found) if one.sources != (7,)]
    assert order[-1] == 2  # it states nothing
    assert set(order) == {1, 2, 3, 4, 5, 6}


def test_the_newest_messages_compete(recalled) -> None:
    """Messages without an episode are offered beside the rest, when they say as much."""
    new = [Message("The contrabassoon arrived.", name="Bea", time=NOW, session="3")]
    assert offered(recalled("Has the contrabassoon arrived?", tail=new))[0].sources == (8,)


def test_a_long_message_is_offered_in_passages(recalled) -> None:
    """Those that state a fact come first, and each says where it starts."""
    filler = " ".join(f"Sentence number {i} is about nothing in particular." for i in range(60))
    (long,) = talk(f"Ann: {filler} The vault opens with 4711. {filler}")
    found = recalled("What opens the vault?", [long])
    first = offered(found)[0]
    assert "4711" in first.text
    assert first.kind == "passage"
    assert long.content[first.place : first.place + len(first.text)] == first.text
    assert max(one.tokens for one in offered(found)) <= 128 + 8


def test_a_reader_that_fails_is_noted(recalled) -> None:
    """Every draft is a model call; without one the offline signal goes on, and the note says why."""
    offline = XMemory(reader="offline")
    good, bad, never = (
        recalled("Who plays the bassoon?", config=config, chat=ScriptedModel(Model(drafts=drafts)))
        for config, drafts in ((XMemory(), True), (XMemory(), False), (offline, True))
    )
    (reading,), (failing,), (without,) = (found.trace.views for found in (good, bad, never))
    assert reading.model_calls > 0
    assert not reading.note
    assert "the reader is out" in failing.note
    assert (failing.model_calls, without.model_calls) == (0, 0)
    assert bad.text == never.text
