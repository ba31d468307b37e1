"""From messages to rows: open episodes are closed, read, and settled in the structure, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone.core import Message
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.search import dense
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.calibration import Thresholds
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.distil import find_cuts, read_episode
from zibaldone.views.hierarchy.episodes import Block, Cut, OpenEpisodes, cohesion_text
from zibaldone.views.hierarchy.nodes import Episode
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import EpisodeRow, State, Written


@dataclass(frozen=True, slots=True)
class Tools:
    """What an episode is read with."""

    asker: Asker
    embedder: Embedder
    thresholds: Thresholds
    config: XMemory
    user: str
    patient: bool = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) as they come back from the database, so that decisions are the same after a restart."""
        vectors = embed(self.embedder, texts)
        return dense.from_bytes([dense.to_bytes(row) for row in vectors], self.embedder.dimension)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What a batch of messages did."""

    episodes: tuple[EpisodeRow, ...]
    written: Written
    state: State


@dataclass(frozen=True, slots=True)
class Place:
    """Up to where the log was read, and how often something had been forgotten of it."""

    cursor: int
    deletions: int


class Builder:
    """A generation of one user while it grows. Not to be shared among threads."""

    def __init__(self, structure: Structure, tools: Tools) -> None:
        self.structure = structure
        self.place: Place | None = None  # where the log stood when its rows were written
        self.not_named = 0  # the theme that got no name from a model the last time
        self._last: EpisodeRow | None = None
        self._tools = tools
        self._open = OpenEpisodes(tools.embedder.dimension, self._cuts)
        self._episodes: list[EpisodeRow] = []
        self._interrupted: list[
            list[Message]
        ] = []  # without an episode, but followed by one in their session
        self._waiting: list[Message] = []  # read before, and in no episode yet

    @staticmethod
    def load(connection: Connection, generation: Generation, state: State, tools: Tools) -> Builder:
        """As its rows and the log up to the cursor say."""
        structure = Structure.load(
            connection, generation, tools.embedder.dimension, tools.thresholds, tools.config, state
        )
        builder = Builder(structure, tools)
        waiting = table.open_messages(connection, generation)
        if waiting:
            sessions = table.sessions(connection, generation)
            builder._interrupted, builder._waiting = _runs(waiting, sessions)
        return builder

    def use(self, tools: Tools) -> None:
        """Ask as this call is to ask."""
        self._tools = tools

    def goes_on_from(self, connection: Connection, generation: Generation, place: Place) -> bool:
        """Whether its rows are those of the database: another process, or a model asked twice, may differ."""
        if self.place != place or table.state(connection, generation) != self.structure.state:
            return False
        if self._last is None:
            return True
        number = self._last.episode.id
        held = table.episodes(connection, generation, 0, [number]).get(number)
        return held is not None and held.episode == self._last.episode

    def read(self, messages: Sequence[Message]) -> Iterator[int]:
        """Take in what follows in the log; gives the number of messages done so far."""
        for run in self._interrupted:
            start = 0
            for cut in self._cuts(run, self._embed(run), ended=True):
                self._settle(Block(tuple(run[start : start + cut.size]), cut.reason, cut.degraded))
                start += cut.size
        waiting = [*self._waiting, *messages]
        before = len(self._waiting)
        self._interrupted, self._waiting = [], []
        for done, (message, row) in enumerate(zip(waiting, self._embed(waiting), strict=True), 1):
            for block in self._open.feed([message], row[None]):
                self._settle(block)
            if done > before:
                yield done - before

    def take(self) -> Prepared:
        """What has changed since the last call."""
        made, self._episodes = tuple(self._episodes), []
        self._last = made[-1] if made else self._last
        written = self.structure.take()
        return Prepared(made, written, self.structure.state)

    def _embed(self, messages: Sequence[Message]) -> Vectors:
        return self._tools.embed([cohesion_text(message) for message in messages])

    def _cuts(self, pending: Sequence[Message], vectors: Vectors, *, ended: bool) -> list[Cut]:
        return find_cuts(
            self._tools.asker,
            pending,
            vectors,
            ended=ended,
            user=self._tools.user,
            patient=self._tools.patient,
        )

    def _settle(self, block: Block) -> None:
        structure, tools = self.structure, self._tools
        reading = read_episode(
            tools.asker,
            block.messages,
            episode=structure.state.next_episode,
            first_id=structure.state.next_semantic,
            user=tools.user,
            known=structure.known,
            embed=tools.embed,
            threshold=tools.thresholds.fetch,
            df=structure.df,
            n=structure.statements,
            degraded=block.degraded,
            patient=tools.patient,
        )
        found = reading.distilled
        (vector,) = tools.embed([about(reading.episode)])
        further = [one.text for semantic in found.new for one in semantic.statements[1:]]
        rows = tools.embed([*further, *(one.statement.text for one in found.additions)])
        ends = np.cumsum([len(one.statements) - 1 for one in found.new], dtype=np.int64)
        *rest, additions = np.split(rows, ends)
        vectors = [np.vstack([first, more]) for first, more in zip(found.vectors, rest, strict=True)]
        structure.settle(found, vectors, additions)
        structure.state = replace(structure.state, next_episode=structure.state.next_episode + 1)
        self._episodes.append(EpisodeRow(reading.episode, vector))


def about(episode: Episode) -> str:
    """What an episode's vector is of."""
    return f"{episode.title}. {episode.narrative}"


def _runs(
    waiting: Sequence[Message], sessions: Sequence[tuple[int, str]]
) -> tuple[list[list[Message]], list[Message]]:
    """Messages without an episode: stretches that one follows in their session, and the rest.

    `sessions`: (seq, session) of all messages up to the cursor, in their order.
    """
    unread = {message.seq: message for message in waiting}
    runs: dict[str, list[list[Message]]] = {}
    at_its_end: dict[str, bool] = {}  # whether the session's last message seen has no episode
    for seq, session in sessions:
        of_session = runs.setdefault(session, [])
        if seq not in unread:
            at_its_end[session] = False
            continue
        if not at_its_end.get(session):
            of_session.append([])
        of_session[-1].append(unread[seq])
        at_its_end[session] = True
    last = [message for session, some in runs.items() if at_its_end[session] for message in some.pop()]
    interrupted = sorted((run for some in runs.values() for run in some), key=lambda run: run[0].seq)
    return interrupted, sorted(last, key=lambda message: message.seq)
