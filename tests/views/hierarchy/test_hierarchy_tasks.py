"""Tasks of the hierarchy view, and the use of their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from hierarchy_talk import EMBEDDER, Known, talk, vectors_of

from zibaldone.errors import ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.testing import ScriptedModel
from zibaldone.views.hierarchy.distil import EpisodeMaker
from zibaldone.views.hierarchy.episodes import LONGEST, Block, OpenEpisodes, closed
from zibaldone.views.hierarchy.nodes import (
    Episode,
    Semantic,
    Statement,
    narrative,
    statements,
    title,
)

TALK = (
    "Ann: I adopted a puppy called Rex yesterday!",
    "Bob: Lovely! How much was he?",
    "Ann: He cost 120 crowns. My sister Eva found him in Graz.",
)
Inputs = Mapping[str, Any]
Answering = Callable[[Inputs], object]


def narrate(given: Inputs) -> object:
    """A line on each message, everybody named and every number kept."""
    return {
        "title": "Ann adopts Rex, 7 May 2023",
        "narrative": " ".join(f"{one['speaker']} said: {one['text']}" for one in given["messages"]),
    }


def distil(given: Inputs) -> object:
    """One fact, of two messages."""
    one, _, three = (message["seq"] for message in given["messages"])
    return {"statements": [{"text": "Ann adopted the puppy Rex on 7 May 2023.", "sources": [one, three]}]}


GOOD: Mapping[str, Answering] = {
    "narrate": narrate,
    "predict": lambda given: {"expected": [one["text"] for one in given["known"]]},
    "distil": distil,
    "episodes": lambda given: {"starts": [given["messages"][4]["seq"]]},
}


def model(**tasks: object) -> ScriptedModel:
    """Good answers but for these: an answer for the task, or what is raised."""

    def answer(request: ChatRequest) -> Any:
        task = request.task.removeprefix("hierarchy.")
        return tasks[task] if task in tasks else GOOD[task](json.loads(request.turns[1].content))

    return ScriptedModel(answer)


def reader(chat=None, *, patient=False) -> EpisodeMaker:
    asker = Asker(chat, Meter(None), shared_static_embedder())
    return EpisodeMaker(asker, EMBEDDER, "ann", patient)


class Reading(NamedTuple):
    """The outcome of one episode."""

    episode: Episode
    semantics: list[Semantic]


def read(chat=None, known=None, *, degraded="", patient=False):
    block = Block(tuple(talk(*TALK)), degraded)
    return Reading(*reader(chat, patient=patient).read(block, known or Known()))


def asked(chat: ScriptedModel) -> list[str]:
    return [request.task.removeprefix("hierarchy.") for request in chat.requests]


def knows(text: str) -> Known:
    """A memory that finds one semantic near to everything."""
    return Known(Semantic(3, 1, (Statement(1, text, text),), datetime(2023, 5, 1, tzinfo=UTC)))


def test_a_good_model_tells_and_distils():
    """Each fact has a statement per message, with that message's own words beside it."""
    reading = read(model())
    assert reading.episode.title == "Ann adopts Rex, 7 May 2023"
    assert (reading.episode.made_by, reading.episode.degraded) == ("scripted", "")
    (one,) = reading.semantics
    assert one.text == "Ann adopted the puppy Rex on 7 May 2023."
    assert [(said.seq, said.verbatim) for said in one.statements] == [
        (1, "I adopted a puppy called Rex yesterday!"),
        (3, "He cost 120 crowns."),
    ]


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"title": "T", "narrative": " "}, "must not be empty"),
        ({"title": "", "narrative": "Ann and Bob: Rex cost 120."}, "title must be one line"),
        ({"title": "T", "narrative": "Ann adopted Rex for 120 crowns."}, "speaker 'Bob'"),
        ({"title": "T", "narrative": "Ann told Bob of Rex."}, "lost numbers of the messages: ['120']"),
    ],
)
def test_a_bad_narrative_is_refused(answer, complaint):
    """The model is told what is wrong; then the messages themselves stand in, and the episode says so."""
    chat = model(narrate=answer)
    reading = read(chat)
    assert complaint in chat.requests[1].turns[-1].content
    assert reading.episode.narrative == narrative(talk(*TALK))
    assert complaint in reading.episode.degraded
    assert len(reading.semantics) == 1  # the model's own facts: that question was answered well


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        ({"text": "Ann has Rex.", "sources": [99]}, "names no message of the episode"),
        ({"text": "Ann has Rex.", "sources": []}, "names no message of the episode"),
        ({"text": " ", "sources": [1]}, "says nothing"),
        ({"text": "Zebras graze.", "sources": [2]}, "says 'zebras', 'graze'"),
        ({"text": "Ann adopted Rex for 999 crowns.", "sources": [1, 3]}, "says '999'"),
        ({"text": "Ann did not adopt Rex.", "sources": [1]}, "the opposite"),
        ({"text": "Eva found Rex in Graz.", "sources": [1]}, "which no source of it says"),
    ],
)
def test_an_invented_fact_is_refused(told, complaint):
    """The model is told so once; the facts are those of the sentences then, and the episode says why."""
    chat = model(distil={"statements": [told]})
    reading = read(chat)
    assert complaint in reading.episode.degraded
    assert asked(chat) == ["narrate", "distil", "distil"]
    assert complaint in chat.requests[-1].turns[-1].content
    assert [one.statements for one in reading.semantics] == [(one,) for one in statements(talk(*TALK))]


@pytest.mark.parametrize("word", ["Zebracorp", "4711"])
def test_a_word_of_earlier_messages_comes_into_no_later_fact(word):
    """It would stay when those are forgotten; the sentences of the message that it names stand in."""
    chat = model(distil={"statements": [{"text": f"Ann adopted Rex of {word}.", "sources": [1]}]})
    reading = read(chat, knows(f"Ann wants a puppy of {word}."))
    assert f"'{word.lower()}'" in reading.episode.degraded
    assert word not in repr(reading.semantics)


def test_a_fact_without_a_source_takes_no_other_with_it():
    """Whatever it was made of is told by the sentences of the messages that no good fact names."""
    good = {"text": "Ann adopted the puppy Rex on 7 May 2023.", "sources": [1]}
    astray = {"text": "Eva found Rex in Graz.", "sources": []}
    chat = model(distil={"statements": [good, astray]})
    reading = read(chat)
    offline = [one.text for one in statements(talk(*TALK)) if one.seq != 1]
    assert offline
    assert [one.text for one in reading.semantics] == [good["text"], *offline]
    assert asked(chat) == ["narrate", "distil"]  # what is partly good is not asked for again


GOOD_STORY = "On Monday, 8 May 2023 Ann told Bob of her puppy Rex. He cost 120 crowns in Graz."


@pytest.mark.parametrize(
    ("named", "told", "kept"),
    [
        ("Ann and Rex", f"{GOOD_STORY} Bob gave Ann 55 crowns for Rex.", ("Ann and Rex", GOOD_STORY)),
        ("Ann and Rex", f"{GOOD_STORY} Then Zebulon called Ann.", ("Ann and Rex", GOOD_STORY)),
        ("Ann and Rex", f"{GOOD_STORY} Ann did not adopt Rex.", ("Ann and Rex", GOOD_STORY)),
        ("Ann adopts Zebulon", GOOD_STORY, (None, GOOD_STORY)),
        ("Ann and Rex", "Ann paid Bob 120 crowns to Zebulon.", ("Ann and Rex", None)),
    ],
    ids=["number", "name", "denial", "title", "nothing is left"],
)
def test_a_narrative_has_no_name_number_or_denial_of_its_own(named, told, kept):
    """The sentence that has one is dropped, and the episode says so; a title, or all, is told offline."""
    episode = read(model(narrate={"title": named, "narrative": told})).episode
    assert episode.title == (kept[0] or title(talk(*TALK)))
    assert episode.narrative == (kept[1] or narrative(talk(*TALK)))
    assert episode.degraded == "narrate: less what no message says"


def test_what_is_expected_has_no_numbers_of_its_own():
    """It would make news look known; the other expectations stand."""
    chat = model(predict={"expected": ["Rex cost 120 crowns.", "Ann wants a puppy, says Bob."]})
    read(chat, knows("Ann wants a puppy."))
    expected = json.loads(chat.requests[-1].turns[1].content)["expected"]
    assert expected == ["Ann wants a puppy, says Bob."]
    assert asked(chat) == ["narrate", "predict", "distil"]


LONG = tuple(f"Ann: Apples and pears and plums number {i}." for i in range(9))


@pytest.mark.parametrize(
    ("starts", "sizes"),
    [([], [9]), ([1], [9]), ([5, 5], [4, 5]), ([6, 4], [3, 2, 4]), ([4, 99], [3, 6]), ([98, 99], None)],
)
def test_boundaries_that_can_be_used_are(starts, sizes):
    """In order and each once, less those of no message; where none is left the offline cuts are marked."""
    messages, chat = talk(*LONG), model(episodes={"starts": starts})
    cuts = reader(chat).cut(messages, vectors_of(messages), ended=True)
    offline = [cut.size for cut in closed(messages, vectors_of(messages), ended=True)]
    assert [cut.size for cut in cuts] == (sizes or offline)
    assert all(("starts" in cut.degraded) is (sizes is None) for cut in cuts)
    assert len(chat.requests) == (1 if sizes else 2)


@pytest.mark.parametrize("starts", [[], [3]])
@pytest.mark.parametrize("ended", [False, True])
def test_no_episode_is_above_the_cap(starts, ended):
    """However much a model likes to leave in one: its own borders stand, and the rest is cut by words."""
    messages = talk(*LONG, *LONG)
    cuts = reader(model(episodes={"starts": starts})).cut(messages, vectors_of(messages), ended=ended)
    assert all(cut.size <= LONGEST for cut in cuts)
    assert cuts[0].size == 2 if starts else len(cuts) > ended
    assert sum(cut.size for cut in cuts) == len(messages) or not ended


@pytest.mark.parametrize("batch", [1, 7, 40])
def test_a_model_s_boundaries_do_not_depend_on_batches(batch):
    """It is asked of the same messages whenever they come."""
    messages, episodes, cut = talk(*LONG * 5), OpenEpisodes(), reader(model()).cut
    found = []
    for start in range(0, len(messages), batch):
        some = messages[start : start + batch]
        for message, vector in zip(some, vectors_of(some), strict=True):
            found += episodes.feed(message, vector, cut)
    assert [len(block.messages) for block in found] == [4] * 7
    assert len(episodes.pending["1"]) == 17


def test_a_model_that_is_down_is_waited_for_when_asked_to():
    """With `patient` the episode is not read at all, so that it can be read later."""
    chat = ScriptedModel(lambda _: ModelUnavailable("down"))
    assert read(chat).episode.degraded
    with pytest.raises(ModelUnavailable):
        read(chat, patient=True)
