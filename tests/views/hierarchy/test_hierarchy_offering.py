"""Evidence of the hierarchy view, and its caches of a generation."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hierarchy_talk import EMBEDDER, START, talk

from zibaldone import log
from zibaldone.core import Message, Scope
from zibaldone.engine import generations
from zibaldone.errors import ModelFailed
from zibaldone.log.filters import Narrowing
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatRequest, Vectors
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.recall import read_question
from zibaldone.search.question import Question
from zibaldone.storage.database import Database
from zibaldone.storage.opening import open_database
from zibaldone.views import units
from zibaldone.views.base import Generation, Retrieved
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.node_scores import Levels, levels_of
from zibaldone.views.hierarchy.nodes import Episode, Statement
from zibaldone.views.hierarchy.stage_two import StageTwo
from zibaldone.views.hierarchy.table import SemanticRow, Written
from zibaldone.views.hierarchy.view import HierarchyView
from zibaldone.views.messages import MessagesView
from zibaldone.views.user_cache import UserCache

DEFAULT = XMemory()
NOW = START + timedelta(days=30)
TOKENIZER = shared_static_embedder()
MUSIC = talk(
    "Bea: I play the bassoon in the town orchestra since yesterday.",
    "Ann: That is wonderful news.",
    "Bea: The orchestra rehearses in an old brewery.",
)
GARDEN = talk(
    "Ann: My tomatoes drowned in the rain.",
    "Ann: The slugs ate every lettuce leaf.",
    "Bea: Copper rings keep slugs away.",
    session="2",
    start=START + timedelta(days=3),
)
GARDEN = [replace(one, seq=one.seq + 3) for one in GARDEN]
TALK = [*MUSIC, *GARDEN]


def episode_of(
    number: int, messages: Sequence[Message], narrative: str = "", made_by: str = ""
) -> tuple[Episode, Vectors]:
    """Its messages in one block; without a narrative, told by themselves."""
    told = narrative or "\n".join(f"{one.speaker}: {one.content}" for one in messages)
    times = [one.time for one in messages if one.time]
    seqs = tuple(one.seq for one in messages)
    node = Episode(number, messages[0].session, seqs, "a talk", told, min(times), max(times), made_by)
    return node, EMBEDDER.embed([told])[0]


@dataclass(frozen=True)
class Fact:
    """A semantic to be stored, with its statements."""

    row: SemanticRow
    statements: tuple[Statement, ...]
    vectors: Vectors


@dataclass(frozen=True)
class Held:
    """A hierarchy's contents, and the messages that it was made of."""

    episodes: tuple[tuple[Episode, Vectors], ...] = ()
    facts: tuple[Fact, ...] = ()
    talked: tuple[Message, ...] = ()

    def only(self, *episodes: int) -> Held:
        """These episodes, with what they state."""
        return Held(
            tuple(one for one in self.episodes if one[0].id in episodes),
            tuple(one for one in self.facts if one.row.episode in episodes),
            self.talked,
        )


def semantic_of(number: int, episode: int, *messages: Message, text: str = "", start: int = 0) -> Fact:
    """A fact that these messages state."""
    said = tuple(
        Statement(one.seq, text or f"{one.speaker}: {one.content}", one.content[start:], start)
        for one in messages
    )
    assert messages[0].time is not None
    keys = tuple((one.seq, table.FIRST_STATEMENT + 10 * number + i) for i, one in enumerate(said))
    row = SemanticRow(number, episode, messages[0].time, keys)
    return Fact(row, said, EMBEDDER.embed([one.text for one in said]))


def held_of(
    episodes: Sequence[tuple[Episode, Vectors]], facts: Sequence[Fact], talked: Sequence[Message] = ()
) -> Held:
    """Episodes, and facts of them."""
    return Held(tuple(episodes), tuple(facts), tuple(talked or TALK))


HELD = held_of(
    [episode_of(1, MUSIC), episode_of(2, GARDEN)],
    [
        semantic_of(1, 1, MUSIC[0]),
        semantic_of(2, 1, MUSIC[2]),
        semantic_of(3, 2, GARDEN[0]),
        semantic_of(4, 2, GARDEN[1]),
        semantic_of(5, 2, GARDEN[2]),
    ],
)


def store(database: Database, generation: Generation, held: Held) -> None:
    """Put a hierarchy in the tables, its messages being in the log."""
    with database.write() as connection:
        rows = [
            units.Row((said.seq,), part, "statement", 9, vector, (), said.start, said.start + 9, said.text)
            for fact in held.facts
            for said, (_, part), vector in zip(fact.statements, fact.row.units, fact.vectors, strict=True)
        ]
        units.insert(connection, table.NAME, generation, rows)
        table.write_episodes(connection, generation, held.episodes)
        table.write(connection, generation, Written(tuple(fact.row for fact in held.facts)))
        ids = [fact.row.id for fact in held.facts]
        state = table.State(
            f"e/{EMBEDDER.dimension}",
            max((one.id for one, _ in held.episodes), default=0) + 1,
            max(ids, default=0) + 1,
            table.FIRST_STATEMENT + 10 * (max(ids, default=0) + 1),
        )
        table.set_state(connection, generation, state)
        log.touch(connection, generation.user)


def offered(
    text: str,
    held: Held = HELD,
    tail: Sequence[Message] = (),
    *,
    session: str | None = None,
    budget: int = 500,
    config: XMemory = DEFAULT,
    drafter: Drafting | None = None,
) -> Retrieved:
    """Evidence of the view; the tail is unread messages."""
    asker = Asker(None, Meter(None), TOKENIZER)
    view = HierarchyView(EMBEDDER, TOKENIZER, TOKENIZER, asker, config, drafter)
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(Path(folder), busy_timeout_s=5)
        with database.write() as connection:
            log.append(
                connection, "u", [replace(one, seq=0) for one in (*held.talked, *tail)], datetime.now(UTC)
            )
            generation = generations.start(connection, "u", view, serving=True)
            generations.move_cursor(connection, view, generation, len(held.talked))
        store(database, generation, held)
        messages = MessagesView(EMBEDDER, TOKENIZER, TOKENIZER)
        unread = Question(text, Scope("u", session), budget, NOW)
        question = read_question(database, messages, unread, Narrowing())
        found = view.retrieve(generations.snapshots(database, "u", view), question)
        database.close()
        return found


class Drafting:
    """A reader whose doubt falls with every word that it sees, or that cannot be had."""

    name = "reader"

    def __init__(self, *, fails: bool = False) -> None:
        self.asked = 0
        self.shown = ""
        self._fails = fails

    def doubt(self, request: ChatRequest, user: str) -> float:
        """Log-probabilities of one draft."""
        if self._fails:
            raise ModelFailed("the reader is out")
        self.asked += 1
        self.shown += request.turns[-1].content
        return 1000 / len(request.turns[-1].content)


def test_nothing_known_has_no_confidence() -> None:
    """An empty memory has none, and words that nobody said hardly any."""
    assert offered("Who plays the bassoon?", Held()).confidence == 0.0
    assert offered("Who plays the bassoon?", Held()).evidence == ()
    known, unknown = offered("Who plays the bassoon?"), offered("quantum chromodynamics lecture")
    assert unknown.confidence < 0.2 < 0.5 < known.confidence


def test_the_message_that_says_it_comes_first_with_all_its_fields() -> None:
    """Its speaker, time, session and seq; the tokens of its line; its dates resolved."""
    first = offered("Who plays the bassoon in the town orchestra?").evidence[0]
    assert (first.sources, first.speaker, first.session, first.time) == ((1,), "Bea", "1", MUSIC[0].time)
    assert first.text == "I play the bassoon in the town orchestra since yesterday (7 May 2023)."
    assert (first.view, first.kind, first.place) == ("hierarchy", "message", 0)
    both = TOKENIZER.count(["x", f"x\nBea: {first.text}"])
    assert first.tokens == both[1] - both[0]
    assert [one.channel for one in first.channels] == ["score", "lexical", "dense", "context", "clues"]
    assert first.channels[1].rank == 1


def test_an_admitted_episode_stands_for_its_facts() -> None:
    """All its messages are there, the one that states nothing too, and none twice."""
    found = offered("Where does the orchestra rehearse?")
    assert {1, 2, 3} <= {seq for one in found.evidence for seq in one.sources}
    assert len({one.sources for one in found.evidence}) == len(found.evidence)


def test_a_session_is_a_wall() -> None:
    """Nothing of another session is offered, nor cited."""
    both = StageTwo(least=2)
    for config in (XMemory(), XMemory(include=False), XMemory(select=False), XMemory(stage_two=both)):
        found = offered("bassoon orchestra brewery slugs", session="2", config=config)
        assert found.evidence
        assert {one.session for one in found.evidence} == {"2"}
        assert {seq for one in found.evidence for seq in one.sources} <= {4, 5, 6}
    assert offered("bassoon orchestra slugs", session="3").confidence == 0.0


def test_a_fact_of_two_sessions_cites_what_the_session_says_of_it() -> None:
    """A model's fact that both sessions state is offered in either, with its own messages."""
    held = held_of(
        [episode_of(1, MUSIC, "They talked of music.", "m"), episode_of(2, GARDEN, "Of slugs.", "m")],
        [semantic_of(1, 1, MUSIC[0], GARDEN[2], text="Bea plays the bassoon.")],
    )
    config = XMemory(include=False)
    for session, seq in (("1", 1), ("2", 6), (None, 1)):
        facts = [
            o
            for o in offered("bassoon", held, session=session, config=config).evidence
            if o.kind == "semantic"
        ]
        assert [one.sources for one in facts] == ([(seq,)] if session else [(1, 6)])
        assert facts[0].time == (GARDEN[2] if seq == 6 else MUSIC[0]).time
        assert facts[0].speaker is None
        assert facts[0].text == "Bea plays the bassoon."


def test_a_reader_is_told_nothing_of_another_session() -> None:
    """Not even what that one says of a fact that both state."""
    both = semantic_of(1, 1, MUSIC[0], GARDEN[2])
    held = held_of([episode_of(1, MUSIC), episode_of(2, GARDEN)], [both])
    reader = Drafting()
    offered("bassoon slugs", held, session="2", drafter=reader)
    assert "Copper rings" in reader.shown
    assert "bassoon in the" not in reader.shown


def test_what_a_model_told_is_offered_as_it_told_it() -> None:
    """The narrative cites every message, as long as doubt asks for no more."""
    story = "Bea told Ann that she plays the bassoon in an orchestra."
    held = held_of(
        [episode_of(1, MUSIC, story, "m"), episode_of(2, GARDEN, "Slugs.", "m")],
        [
            semantic_of(1, 1, MUSIC[0], text="Bea plays the bassoon."),
            semantic_of(2, 2, GARDEN[1], text="Slugs eat lettuce."),
        ],
    )
    found = offered("Who plays the bassoon?", held)
    told = [one for one in found.evidence if one.kind == "episode"]
    assert [(one.text, one.sources, one.speaker) for one in told] == [(story, (1, 2, 3), None)]
    assert not [one for one in found.evidence if one.kind == "semantic" and 1 in one.sources]


def test_without_the_gate_sources_stand_behind_the_facts() -> None:
    """The facts' own messages come first, and then the rest of the episodes that they were drawn from."""
    found = offered("slugs", config=XMemory(select=False, include=False))
    order = [one.sources[0] for one in found.evidence]
    assert order[-1] == 2  # it states nothing
    assert set(order) == {1, 2, 3, 4, 5, 6}


def test_the_newest_messages_compete() -> None:
    """Messages without an episode are offered beside the rest, when they say as much."""
    new = [
        Message("The contrabassoon arrived.", name="Bea", time=NOW, session="3", seq=7),
        Message("So long, dear.", name="Ann", time=NOW, session="3", seq=8),
    ]
    found = offered("Has the contrabassoon arrived?", tail=new)
    assert found.evidence[0].sources == (7,)
    alone = offered("contrabassoon", Held(), new)
    assert [one.sources for one in alone.evidence] == [(1,), (2,)]


def test_a_long_message_is_offered_in_passages() -> None:
    """Those that state a fact come first, and each says where it starts."""
    filler = " ".join(f"Sentence number {i} is about nothing in particular." for i in range(60))
    long = Message(
        f"{filler} The vault opens with 4711. {filler}", name="Ann", time=START, session="1", seq=1
    )
    fact = semantic_of(1, 1, long, text="Ann: The vault opens with 4711.", start=len(filler) + 1)
    found = offered("What opens the vault?", held_of([episode_of(1, [long])], [fact], [long]))
    first = found.evidence[0]
    assert "4711" in first.text
    assert first.kind == "passage"
    assert long.content[first.place : first.place + len(first.text)] == first.text
    assert max(one.tokens for one in found.evidence) <= 128 + 8


def test_a_reader_that_fails_is_noted() -> None:
    """The offline signal goes on, and the note says why."""
    found = offered("Who plays the bassoon?", drafter=Drafting(fails=True))
    assert "the reader is out" in found.note
    assert found.model_calls == 0
    assert found.evidence == offered("Who plays the bassoon?").evidence


def test_probes_are_counted() -> None:
    """Every draft is a model call."""
    reader = Drafting()
    found = offered("Who plays the bassoon?", drafter=reader)
    assert found.model_calls == reader.asked > 0
    assert not found.note


def test_without_vectors_words_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that fails is noted, and the best by words is first."""

    def fail(texts: Sequence[str]) -> Vectors:
        raise ModelFailed("no embedder")

    monkeypatch.setattr(EMBEDDER, "embed", fail)
    found = offered("Who plays the bassoon?")
    assert found.note == "by words only: no embedder"
    assert found.evidence[0].sources == (1,)


def test_every_message_can_be_explained() -> None:
    """By the fact that it states, or else by its episode; one that is unknown cannot."""
    explain = offered("Who may play the bassoon in the town orchestra?").explain
    fact, idle = explain(1), explain(2)
    assert fact
    assert idle
    assert (fact[0].channel, fact[0].rank) == ("score", 1)
    assert (idle[0].channel, idle[0].rank) == ("score", 1)
    assert explain(99) is None


def test_a_fact_leans_on_its_episode() -> None:
    """The first of two that say the same is the one whose talk has the rest of the question."""
    same = [replace(one, content="It was a great day.") for one in (MUSIC[1], GARDEN[0])]
    talked = [replace(one, seq=i) for i, one in enumerate((MUSIC[0], same[0], same[1], GARDEN[1]), 1)]
    held = held_of(
        [episode_of(1, talked[:2]), episode_of(2, talked[2:])],
        [semantic_of(1, 1, talked[1]), semantic_of(2, 2, talked[2])],
        talked,
    )
    for text, there, elsewhere in (("great day bassoon", 2, 3), ("great day slugs", 3, 2)):
        explain = offered(text, held).explain
        one, other = explain(there), explain(elsewhere)
        assert one
        assert other
        assert one[0].score > other[0].score


def begun(database: Database, user: str) -> Generation:
    """A user who has talked, and nothing made of it yet."""
    with database.write() as connection:
        log.append(connection, user, [replace(one, seq=0) for one in TALK], datetime.now(UTC))
    return Generation(user, 1, "f", 6)


def test_users_are_kept_apart_and_dropped(tmp_path: Path) -> None:
    """A cache of one generation is never another's, and nothing of a dropped one is."""
    database, cache = open_database(tmp_path, busy_timeout_s=5), UserCache[Levels](9)
    a, b = begun(database, "a"), begun(database, "b")
    store(database, a, HELD.only(1))
    store(database, b, HELD)
    with database.read() as connection:
        of_a, of_b = levels_of(cache, connection, a), levels_of(cache, connection, b)
        assert (len(of_a.semantics), len(of_b.semantics)) == (2, 5)
        cache.drop("a", log.state(connection, "a"))
        assert levels_of(cache, connection, a) is not of_a
        assert levels_of(cache, connection, b) is of_b
        assert not levels_of(cache, connection, Generation("c", 1, "f", 0)).semantics
    database.close()
