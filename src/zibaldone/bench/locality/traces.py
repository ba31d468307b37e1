"""What happens to a user's chunks as they talk and ask, written down once, to be replayed against layouts.

The chunks view itself makes the trace: its own gates, compactions, choices and records. Housekeeping is left
to the replay. A user talks in sittings; what is asked in one is recalled from what was said before it.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby, zip_longest
from pathlib import Path

from sqlalchemy import Connection

from zibaldone import maintenance
from zibaldone.bench.base import Equipment
from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Progress
from zibaldone.core import Message, Scope
from zibaldone.memory import Memory
from zibaldone.models.base import Vectors
from zibaldone.storage.block_store import MemoryBlocks
from zibaldone.views.base import Query
from zibaldone.views.chunks import MemAttention
from zibaldone.views.chunks.chunk import Chunk
from zibaldone.views.chunks.retrieval import build_query, select_for
from zibaldone.views.chunks.storage.records import Owner, Record, RecordStore

ONCE, AGAIN = "once", "again"  # each question at its time; questions of topics that come again, by Zipf's law
MERGED = "everything"  # the one user of merged conversations
_SITTING = 20  # messages of a chat that has no sessions of a day


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    text: str
    now: datetime | None  # when it is asked; None: today


@dataclass(frozen=True, slots=True)
class Sitting:
    """Some messages of a user, and what is asked before and after them."""

    user: str
    messages: tuple[Message, ...]
    before: tuple[PosedQuestion, ...] = ()
    after: tuple[PosedQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class TraceEvent:
    """One thing that happens to records."""

    kind: str  # "write", "remove", "together", "request" or "housekeep"
    user: str
    ids: tuple[int, ...]
    records: tuple[Record, ...] = ()
    vectors: Mapping[int, Vectors] = field(default_factory=dict)  # by id, (d,) of what was written since
    stream: str = ""  # of a request


def of_locomo(benchmark: LoCoMoQuestions) -> list[Sitting]:
    """All as one user's, session by session in turn; a question comes after the session that answers it."""
    sessions = {
        user: [list(session) for _, session in groupby(benchmark.messages(user), key=lambda m: m.session)]
        for user in benchmark.users()
    }
    posed = _posed(benchmark, sessions)
    sittings = []
    for number, arriving in enumerate(zip_longest(*sessions.values())):
        for user, session in zip(sessions, arriving, strict=True):
            if session is not None:
                after = tuple(posed[user].get(number, ()))
                sittings.append(_merged(Sitting(user, tuple(session), after=after)))
    return sittings


def of_beam(benchmark: BEAMQuestions, most: int) -> list[Sitting]:
    """The shortest chats as one user's, who goes from one to the next; the user's turns are the questions."""

    def length(user: str) -> int:
        return sum(len(message.content) for message in benchmark.messages(user))

    users = sorted(dict.fromkeys(example.user for example in benchmark.examples), key=length)[:most]
    chats = []
    for user in users:
        messages = benchmark.messages(user)
        chats.append([messages[at : at + _SITTING] for at in range(0, len(messages), _SITTING)])
    sittings = []
    for arriving in zip_longest(*chats):
        for user, part in zip(users, arriving, strict=True):
            if part is not None:
                turns = tuple(PosedQuestion(m.content, m.time) for m in part if m.role == "user")
                sittings.append(_merged(Sitting(user, tuple(part), before=turns)))
    return sittings


def _merged(sitting: Sitting) -> Sitting:
    messages = tuple(
        replace(message, session=f"{sitting.user}/{message.session}", id=None) for message in sitting.messages
    )
    return replace(sitting, user=MERGED, messages=messages)


def record(sittings: Sequence[Sitting], tools: Equipment, progress: Progress) -> list[TraceEvent]:
    """What happens to the chunks of all users, in the order of time."""
    events: list[TraceEvent] = []
    folder = Path(tempfile.mkdtemp(dir=tools.folder))
    memory = Memory(folder, embedder=tools.embedder, chat=None, chunks=MemAttention())
    recorder = _Recorder(events)
    memory._chunks.store = recorder  # noqa: SLF001 - the trace is of the engine's own calls
    topics = _Topics(sittings)

    live: dict[str, list[Chunk]] = {}

    def ask(stream: str, user: str, questions: Sequence[PosedQuestion]) -> None:
        for question in questions:
            ids = _chosen(memory, user, question, live.get(user, []))
            if ids:
                events.append(TraceEvent("request", user, ids, stream=stream))

    with memory:
        for number, sitting in enumerate(sittings):
            ask(ONCE, sitting.user, sitting.before)
            memory.add(sitting.messages, user=sitting.user)
            maintenance.catch_up(memory._database, sitting.user, memory._chunks)  # noqa: SLF001
            with memory._database.read() as connection:  # noqa: SLF001
                live[sitting.user] = memory._chunks.live(connection, sitting.user)  # noqa: SLF001
            events.append(_tended(sitting.user, live[sitting.user], recorder.written))
            ask(ONCE, sitting.user, sitting.after)
            ask(AGAIN, sitting.user, topics.draw(sitting))
            progress("tracing", number + 1, len(sittings))
    return events


class _Topics:
    """A sitting's questions are a topic; topics come again with the frequencies of Zipf's law."""

    def __init__(self, sittings: Sequence[Sitting], seed: int = 1) -> None:
        self._chance = random.Random(seed)
        ranks = list(range(1, len(sittings) + 1))
        self._chance.shuffle(ranks)
        self._ranks = iter(ranks)
        self._met: dict[str, list[tuple[float, tuple[PosedQuestion, ...]]]] = {}

    def draw(self, sitting: Sitting) -> list[PosedQuestion]:
        """As many as the sitting has, from the user's topics by now."""
        questions = sitting.before + sitting.after
        met = self._met.setdefault(sitting.user, [])
        if questions:
            met.append((1 / next(self._ranks), questions))
        if not questions:
            return []
        drawn = self._chance.choices([topic for _, topic in met], [w for w, _ in met], k=len(questions))
        return [self._chance.choice(topic) for topic in drawn]


class _Recorder(RecordStore):
    """A record store that writes down what happens to it; nothing leaves its staging."""

    def __init__(self, events: list[TraceEvent]) -> None:
        super().__init__(MemoryBlocks())
        self.events = events
        self.written: set[int] = set()

    def stage(self, connection: Connection, owner: Owner, staged: Sequence[Record]) -> None:
        super().stage(connection, owner, staged)
        if staged:
            ids = tuple(record.id for record in staged)
            self.written.update(ids)
            self.events.append(TraceEvent("write", owner.user, ids, tuple(staged)))

    def remove(self, connection: Connection, owner: Owner, ids: Sequence[int]) -> None:
        super().remove(connection, owner, ids)
        if ids:
            self.events.append(TraceEvent("remove", owner.user, tuple(ids)))

    def note_together(self, connection: Connection, owner: Owner, ids: Sequence[int], times: int = 1) -> None:
        super().note_together(connection, owner, ids, times)
        self.events.append(TraceEvent("together", owner.user, tuple(ids)))


def _chosen(memory: Memory, user: str, question: PosedQuestion, live: Sequence[Chunk]) -> tuple[int, ...]:
    """The chunks that a recall reads, as the view selects them."""
    view = memory._chunks  # noqa: SLF001
    now = question.now or datetime.now(UTC)
    query = Query(question.text, Scope(user), view.config.memory_budget_tokens, now)
    terms = build_query(query, live, ())
    selected, _ = select_for(terms, query, live, None, view._embedder, view.config)  # noqa: SLF001
    return tuple(sorted(chunk.id for chunk in selected.chunks))


def _tended(user: str, live: Sequence[Chunk], written: set[int]) -> TraceEvent:
    """With the mean vector of each chunk that was written since the last time."""
    vectors = {chunk.id: chunk.metadata.mean_vector for chunk in live if chunk.id in written}
    written.clear()
    return TraceEvent("housekeep", user, tuple(vectors), vectors=vectors)


def with_updates(events: Sequence[TraceEvent], share: float, seed: int = 1) -> list[TraceEvent]:
    """The trace with that share of the related chunks rewritten at every gate, as a model's updates would.

    Offline answers update little; this is the update stream under which collection can be judged.
    """
    chance = random.Random(seed)
    latest: dict[tuple[str, int], Record] = {}
    updated: list[TraceEvent] = []
    for event in events:
        for record in event.records:
            latest[event.user, record.id] = record
        updated.append(event)
        if event.kind == "together":
            again = [n for n in event.ids[:-1] if chance.random() < share and (event.user, n) in latest]
            if again:
                rewritten = tuple(latest[event.user, number] for number in again)
                updated.append(TraceEvent("write", event.user, tuple(again), rewritten))
    return updated


def only(events: Sequence[TraceEvent], stream: str) -> list[TraceEvent]:
    """With the requests of this stream alone."""
    return [event for event in events if event.stream in ("", stream)]


def _posed(
    benchmark: LoCoMoQuestions, sessions: Mapping[str, list[list[Message]]]
) -> dict[str, dict[int, list[PosedQuestion]]]:
    """By user and number of session, the questions that it is the last to answer."""
    place = {
        user: {message.content: number for number, session in enumerate(of_user) for message in session}
        for user, of_user in sessions.items()
    }
    posed: dict[str, dict[int, list[PosedQuestion]]] = {user: {} for user in sessions}
    for example in benchmark.examples:
        last = len(sessions[example.user]) - 1
        at = [
            number
            for turn in example.evidence
            for content, number in place[example.user].items()
            if turn in content
        ]
        number = max(at, default=last) if example.answerable else last
        posed[example.user].setdefault(number, []).append(PosedQuestion(example.question, example.now))
    return posed
