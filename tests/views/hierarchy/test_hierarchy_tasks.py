"""What models answer of episodes, and what becomes of it in a Memory."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hierarchy_talk import BYE, HASHED, START, talk

from zibaldone import Episode, ModelUnavailable, Semantic
from zibaldone.testing import HashEmbedder, ScriptedModel

TALK = (
    "Ann: I adopted a puppy called Rex yesterday!",
    "Bob: Lovely! How much was he?",
    "Ann: He cost 120 crowns. My sister Eva found him in Graz.",
)
LONG = tuple(f"Ann: Apples and pears and plums number {i}." for i in range(9))
FACT = "Ann adopted the puppy Rex on 7 May 2023."
Inputs = Mapping[str, Any]


def narrate(given: Inputs) -> object:
    """A line on each message, everybody named and every number kept."""
    return {
        "title": "Ann adopts Rex, 7 May 2023",
        "narrative": " ".join(f"{one['speaker']} said: {one['text']}" for one in given["messages"]),
    }


def distil(given: Inputs) -> object:
    """One fact, of two messages."""
    seqs = [message["seq"] for message in given["messages"]]
    return {"statements": [{"text": FACT, "sources": [seqs[0], seqs[-1]]}]}


GOOD = {
    "narrate": narrate,
    "predict": lambda given: {"expected": [one["text"] for one in given["known"]]},
    "distil": distil,
    "episodes": lambda given: {"starts": [given["messages"][4]["seq"]]},
}


def model(**tasks: object) -> ScriptedModel:
    """Good answers but for these."""

    def answer(request) -> Any:
        task = request.task.removeprefix("hierarchy.")
        return tasks[task] if task in tasks else GOOD[task](json.loads(request.turns[1].content))

    return ScriptedModel(answer)


def asked(chat: ScriptedModel) -> list[str]:
    return [request.task.removeprefix("hierarchy.") for request in chat.requests]


class Alike(HashEmbedder):
    """All texts are near to each other."""

    def embed(self, texts):
        return super().embed(["alike"] * len(texts))


class Reading(NamedTuple):
    """The outcome of one episode."""

    episode: Episode
    semantics: list[Semantic]


@pytest.fixture
def read(told):
    """The episode of TALK."""

    def read(chat=None) -> Reading:
        user = told(chat, talk(*TALK)).user("ann")
        (episode,) = user.episodes()
        facts = [fact for theme in user.themes() for fact in theme.semantics]
        return Reading(episode, sorted(facts, key=lambda fact: fact.id))

    return read


def test_a_good_model_tells_and_distils(read):
    """Each fact has a statement per message, with that message's own words beside it."""
    reading = read(model())
    assert reading.episode.title == "Ann adopts Rex, 7 May 2023"
    assert (reading.episode.made_by, reading.episode.degraded) == ("scripted", "")
    (one,) = reading.semantics
    assert one.text == FACT
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
def test_a_bad_narrative_is_refused(read, answer, complaint):
    """The model is told what is wrong; then the messages themselves stand in, and the episode says so."""
    chat = model(narrate=answer)
    reading = read(chat)
    assert complaint in chat.requests[1].turns[-1].content
    assert reading.episode.narrative == read().episode.narrative
    assert complaint in reading.episode.degraded
    assert len(reading.semantics) == 1  # the model's own facts: that question was answered well


@pytest.mark.parametrize(
    ("fact", "complaint"),
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
def test_an_invented_fact_is_refused(read, fact, complaint):
    """The model is told so once; the facts are those of the sentences then, and the episode says why."""
    chat = model(distil={"statements": [fact]})
    reading = read(chat)
    assert complaint in reading.episode.degraded
    assert asked(chat) == ["narrate", "distil", "distil"]
    assert complaint in chat.requests[-1].turns[-1].content
    assert reading.semantics == read().semantics


def test_a_fact_without_a_source_takes_no_other_with_it(read):
    """Whatever it was made of is told by the sentences of the messages that no good fact names."""
    good = {"text": FACT, "sources": [1]}
    chat = model(distil={"statements": [good, {"text": "Eva found Rex in Graz.", "sources": []}]})
    reading = read(chat)
    offline = [one.text for one in read().semantics if one.seqs != (1,)]
    assert offline
    assert [one.text for one in reading.semantics] == [FACT, *offline]
    assert asked(chat) == ["narrate", "distil"]  # what is partly good is not asked for again


GOOD_STORY = "On Monday, 8 May 2023 Ann told Bob of her puppy Rex. He cost 120 crowns in Graz."


@pytest.mark.parametrize(
    ("named", "story", "kept"),
    [
        ("Ann and Rex", f"{GOOD_STORY} Bob gave Ann 55 crowns for Rex.", ("Ann and Rex", GOOD_STORY)),
        ("Ann and Rex", f"{GOOD_STORY} Then Zebulon called Ann.", ("Ann and Rex", GOOD_STORY)),
        ("Ann and Rex", f"{GOOD_STORY} Ann did not adopt Rex.", ("Ann and Rex", GOOD_STORY)),
        ("Ann adopts Zebulon", GOOD_STORY, (None, GOOD_STORY)),
        ("Ann and Rex", "Ann paid Bob 120 crowns to Zebulon.", ("Ann and Rex", None)),
    ],
    ids=["number", "name", "denial", "title", "nothing is left"],
)
def test_a_narrative_has_no_name_number_or_denial_of_its_own(read, named, story, kept):
    """The sentence that has one is dropped, and the episode says so; a title, or all, is told offline."""
    offline = read().episode
    episode = read(model(narrate={"title": named, "narrative": story})).episode
    assert episode.title == (kept[0] or offline.title)
    assert episode.narrative == (kept[1] or offline.narrative)
    assert episode.degraded == "narrate: less what no message says"


@pytest.mark.parametrize("word", ["Zebracorp", "4711"])
def test_of_what_an_earlier_episode_says_nothing_comes_into_a_later_fact(told, word):
    """It would stay when that is forgotten; what is expected has no numbers of its own either."""
    chat = model(
        predict={"expected": ["Rex cost 120 crowns.", "Ann adopted a puppy, says Bob."]},
        distil={"statements": [{"text": f"Ann adopted Rex of {word}.", "sources": [2]}]},
    )
    earlier = talk(f"Ann: I want a puppy of {word}.", start=START - timedelta(days=9))
    user = told(chat, [*earlier, *talk(*TALK)], embedder=Alike(64)).user("ann")
    assert asked(chat)[-4:] == ["narrate", "predict", "distil", "distil"]
    assert json.loads(chat.requests[-1].turns[1].content)["expected"] == ["Ann adopted a puppy, says Bob."]
    assert f"'{word.lower()}'" in user.episodes()[-1].degraded
    later = [fact for theme in user.themes() for fact in theme.semantics if fact.episode == 2]
    assert later
    assert word not in repr(later)


@pytest.mark.parametrize(
    ("starts", "sizes"),
    [([], [9]), ([1], [9]), ([5, 5], [4, 5]), ([6, 4], [3, 2, 4]), ([4, 99], [3, 6]), ([98, 99], None)],
)
def test_boundaries_that_can_be_used_are(told, starts, sizes):
    """In order and each once, less those of no message; where none is left the offline cuts are marked."""
    chat = model(episodes={"starts": starts})
    episodes = told(chat, talk(*LONG)).user("ann").episodes()
    offline = [len(one.seqs) for one in told(None, talk(*LONG)).user("ann").episodes()]
    assert [len(one.seqs) for one in episodes] == (sizes or offline)
    assert all(("starts" in one.degraded) is (sizes is None) for one in episodes)
    assert asked(chat).count("episodes") == (1 if sizes else 2)


@pytest.mark.parametrize("starts", [[], [3]])
@pytest.mark.parametrize("ended", [False, True])
def test_no_episode_is_above_the_cap(told, starts, ended):
    """However much a model likes to leave in one: its own borders stand, and the rest is cut by words."""
    memory = told(model(episodes={"starts": starts}), talk(*LONG * 2), ended=ended)
    sizes = [len(one.seqs) for one in memory.user("ann").episodes()]
    assert max(sizes) <= 15
    assert sizes[0] == 2 if starts else len(sizes) > ended
    assert sum(sizes) == 18 or not ended


@pytest.mark.parametrize("batch", [7, 40])
def test_a_model_s_boundaries_do_not_depend_on_batches(told, batch):
    """It is asked of the same messages whenever they come."""
    memory = told(model(), talk(*LONG * 5), batch=batch, ended=False)
    assert [len(one.seqs) for one in memory.user("ann").episodes()] == [4] * 7


def test_a_model_that_is_down_is_waited_for_in_the_background(opened, caplog):
    """The episode is not read at all, so that it can be read later; who asks for it now has it offline."""
    down = ScriptedModel(lambda _: ModelUnavailable("down"))
    options = {"chat": down, "embedder": HASHED, "maintained": ["hierarchy"]}
    memory = opened(background=True, **options)
    memory.add([*(replace(one, seq=0) for one in talk(*TALK)), BYE], user="ann")
    until = time.monotonic() + 20
    while "waits: " not in caplog.text and time.monotonic() < until:
        time.sleep(0.01)
    assert memory.user("ann").episodes() == []
    memory.close()
    memory = opened(**options)
    memory.maintain()
    (episode,) = memory.user("ann").episodes()
    assert "down" in episode.degraded
