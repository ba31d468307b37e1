"""The hierarchy's rows: episodes and their messages, semantics and their statements, themes, both graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, and_, delete, func, select

from zibaldone import log
from zibaldone.core import Message
from zibaldone.log import from_us, to_us
from zibaldone.models.base import Vectors
from zibaldone.search import dense
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import (
    hierarchy_episodes,
    hierarchy_messages,
    hierarchy_semantics,
    hierarchy_statements,
    hierarchy_states,
    hierarchy_themes,
    hierarchy_thresholds,
    messages,
)
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy.graph import Neighbours
from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement

_PER_STATEMENT = 500
_ALL = (
    hierarchy_states,
    hierarchy_episodes,
    hierarchy_messages,
    hierarchy_semantics,
    hierarchy_statements,
    hierarchy_themes,
)


@dataclass(frozen=True, slots=True)
class State:
    """Where a generation stands: the ids that are given next, and whose thresholds hold."""

    embedder: str
    next_episode: int = 1
    next_semantic: int = 1
    next_theme: int = 1


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode, and the vector (d,) of its title and narrative; None: to be embedded."""

    episode: Episode
    vector: Vectors | None


@dataclass(frozen=True, slots=True)
class SemanticRow:
    """A semantic, the vectors (statements, d) of its statements, and its place among the others."""

    semantic: Semantic
    vectors: Vectors
    theme: int
    reassigned: bool
    neighbours: Neighbours

    @property
    def vector(self) -> Vectors:
        """(d,) of what it is known by."""
        row: Vectors = self.vectors[0]
        return row


@dataclass(frozen=True, slots=True)
class ThemeRow:
    """A theme; its members are the semantics that name it."""

    id: int
    name: str
    made_by: str
    neighbours: Neighbours


@dataclass(frozen=True, slots=True)
class Written:
    """Rows that are not what they were, and ids of those that are no more."""

    semantics: tuple[SemanticRow, ...] = ()
    themes: tuple[ThemeRow, ...] = ()
    gone_semantics: tuple[int, ...] = ()
    gone_themes: tuple[int, ...] = ()


def state(connection: Connection, generation: Generation) -> State | None:
    """As it was after the last change; None for a generation that has no rows yet."""
    row = connection.execute(select(hierarchy_states).where(of(hierarchy_states, generation))).first()
    if row is None:
        return None
    return State(row.embedder, row.next_episode, row.next_semantic, row.next_theme)


def set_state(connection: Connection, generation: Generation, given: State) -> None:
    """To be called with every change."""
    connection.execute(delete(hierarchy_states).where(of(hierarchy_states, generation)))
    connection.execute(hierarchy_states.insert().values(**_key(generation), **asdict(given)))


def episodes(
    connection: Connection, generation: Generation, dimension: int, numbers: Sequence[int] | None = None
) -> dict[int, EpisodeRow]:
    """By id, rising; all, or these. With dimension 0 without vectors."""
    seqs: dict[int, list[int]] = defaultdict(list)
    m = hierarchy_messages.c
    for row in _rows(connection, hierarchy_messages, generation, m.episode, numbers, [m.seq]):
        seqs[row.episode].append(row.seq)
    e = hierarchy_episodes.c
    return {
        row.episode: EpisodeRow(
            Episode(
                id=row.episode,
                session=row.session,
                seqs=tuple(seqs[row.episode]),
                title=row.title,
                narrative=row.narrative,
                start=from_us(row.start_us),
                end=from_us(row.end_us),
                made_by=row.made_by,
                degraded=row.degraded,
            ),
            dense.from_bytes([row.vector], dimension)[0] if dimension and row.vector else None,
        )
        for row in _rows(connection, hierarchy_episodes, generation, e.episode, numbers, [e.episode])
    }


def semantics(
    connection: Connection, generation: Generation, dimension: int, numbers: Sequence[int] | None = None
) -> dict[int, SemanticRow]:
    """By id, rising; all, or these. With dimension 0 without vectors."""
    said: dict[int, list[Statement]] = defaultdict(list)
    vectors: dict[int, list[bytes]] = defaultdict(list)
    t = hierarchy_statements.c
    order = [t.semantic, t.place]
    for row in _rows(connection, hierarchy_statements, generation, t.semantic, numbers, order):
        said[row.semantic].append(Statement(row.seq, row.text, row.verbatim))
        vectors[row.semantic].append(row.vector)
    s = hierarchy_semantics.c
    found = {}
    for row in _rows(connection, hierarchy_semantics, generation, s.semantic, numbers, [s.semantic]):
        stored = vectors[row.semantic]
        found[row.semantic] = SemanticRow(
            Semantic(row.semantic, row.episode, tuple(said[row.semantic]), from_us(row.time_us)),
            dense.from_bytes(stored, dimension) if dimension else np.zeros((len(stored), 0), np.float32),
            row.theme,
            bool(row.reassigned),
            _neighbours(row.neighbours),
        )
    return found


def themes(connection: Connection, generation: Generation) -> dict[int, ThemeRow]:
    """By id, rising."""
    query = (
        select(hierarchy_themes).where(of(hierarchy_themes, generation)).order_by(hierarchy_themes.c.theme)
    )
    return {
        row.theme: ThemeRow(row.theme, row.name, row.made_by, _neighbours(row.neighbours))
        for row in connection.execute(query)
    }


def write_episodes(connection: Connection, generation: Generation, rows: Sequence[EpisodeRow]) -> None:
    """Insert, or put in place of what has the same id."""
    remove_episodes(connection, generation, [row.episode.id for row in rows])
    key = _key(generation)
    _insert(
        connection,
        hierarchy_episodes,
        [
            key
            | {
                "episode": row.episode.id,
                "session": row.episode.session,
                "title": row.episode.title,
                "narrative": row.episode.narrative,
                "start_us": to_us(row.episode.start),
                "end_us": to_us(row.episode.end),
                "vector": b"" if row.vector is None else dense.to_bytes(row.vector),
                "made_by": row.episode.made_by,
                "degraded": row.episode.degraded,
            }
            for row in rows
        ],
    )
    _insert(
        connection,
        hierarchy_messages,
        [key | {"seq": seq, "episode": row.episode.id} for row in rows for seq in row.episode.seqs],
    )


def remove_episodes(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    """These, and that their messages are in them."""
    _delete(connection, hierarchy_episodes, generation, hierarchy_episodes.c.episode, numbers)
    _delete(connection, hierarchy_messages, generation, hierarchy_messages.c.episode, numbers)


def write_semantics(connection: Connection, generation: Generation, rows: Sequence[SemanticRow]) -> None:
    """Insert, or put in place of what has the same id."""
    remove_semantics(connection, generation, [row.semantic.id for row in rows])
    key = _key(generation)
    _insert(
        connection,
        hierarchy_semantics,
        [
            key
            | {
                "semantic": row.semantic.id,
                "episode": row.semantic.episode,
                "theme": row.theme,
                "time_us": to_us(row.semantic.time),
                "reassigned": int(row.reassigned),
                "neighbours": _packed(row.neighbours),
            }
            for row in rows
        ],
    )
    _insert(
        connection,
        hierarchy_statements,
        [
            key
            | {
                "semantic": row.semantic.id,
                "place": place,
                "seq": one.seq,
                "text": one.text,
                "verbatim": one.verbatim,
                "vector": dense.to_bytes(row.vectors[place]),
            }
            for row in rows
            for place, one in enumerate(row.semantic.statements)
        ],
    )


def remove_semantics(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    """These and their statements."""
    _delete(connection, hierarchy_semantics, generation, hierarchy_semantics.c.semantic, numbers)
    _delete(connection, hierarchy_statements, generation, hierarchy_statements.c.semantic, numbers)


def write_themes(connection: Connection, generation: Generation, rows: Sequence[ThemeRow]) -> None:
    """Insert, or put in place of what has the same id."""
    remove_themes(connection, generation, [row.id for row in rows])
    _insert(
        connection,
        hierarchy_themes,
        [
            _key(generation)
            | {
                "theme": row.id,
                "name": row.name,
                "made_by": row.made_by,
                "neighbours": _packed(row.neighbours),
            }
            for row in rows
        ],
    )


def remove_themes(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    """These."""
    _delete(connection, hierarchy_themes, generation, hierarchy_themes.c.theme, numbers)


def write(connection: Connection, generation: Generation, changes: Written) -> None:
    """What a batch, or a forgetting, did to semantics and themes."""
    remove_semantics(connection, generation, changes.gone_semantics)
    remove_themes(connection, generation, changes.gone_themes)
    write_semantics(connection, generation, changes.semantics)
    write_themes(connection, generation, changes.themes)


def counts(connection: Connection, generation: Generation) -> tuple[int, int, int]:
    """Episodes, semantics, themes."""
    episodes, semantics, themes = (
        connection.execute(select(func.count()).select_from(one).where(of(one, generation))).scalar() or 0
        for one in (hierarchy_episodes, hierarchy_semantics, hierarchy_themes)
    )
    return episodes, semantics, themes


def touching(
    connection: Connection, generation: Generation, seqs: Sequence[int]
) -> tuple[set[int], set[int]]:
    """(episodes, semantics) that were made from any of these messages."""
    m, t = hierarchy_messages.c, hierarchy_statements.c
    inside = _rows(connection, hierarchy_messages, generation, m.seq, seqs, [m.seq])
    said = _rows(connection, hierarchy_statements, generation, t.seq, seqs, [t.seq])
    return {row.episode for row in inside}, {row.semantic for row in said}


def open_seqs(
    connection: Connection, generation: Generation | None, user: str, session: str | None, limit: int | None
) -> list[int]:
    """Seqs of the newest messages that no episode has, rising: in open episodes, or behind the cursor."""
    m, h = messages.c, hierarchy_messages.c
    query = select(m.seq).where(m.user == user)
    if session is not None:
        query = query.where(m.session == session)
    if generation is not None:
        query = query.where(m.seq.not_in(select(h.seq).where(of(hierarchy_messages, generation))))
    return sorted(connection.execute(query.order_by(m.seq.desc()).limit(limit)).scalars())


def open_messages(connection: Connection, generation: Generation) -> list[Message]:
    """Messages up to the cursor that no episode has, in their order."""
    seqs = open_seqs(connection, generation, generation.user, None, None)
    found = log.fetch(connection, generation.user, [seq for seq in seqs if seq <= generation.cursor])
    return [found[seq] for seq in sorted(found)]


def sessions(connection: Connection, generation: Generation) -> list[tuple[int, str]]:
    """(seq, session) of the messages up to the cursor, in their order."""
    m = messages.c
    query = select(m.seq, m.session).where(m.user == generation.user, m.seq <= generation.cursor)
    return [(row.seq, row.session) for row in connection.execute(query.order_by(m.seq))]


def episodes_of(connection: Connection, generation: Generation, seqs: Sequence[int]) -> dict[int, int]:
    """By seq, the episode that the message is in."""
    m = hierarchy_messages.c
    rows = _rows(connection, hierarchy_messages, generation, m.seq, seqs, [m.seq])
    return {row.seq: row.episode for row in rows}


def messages_of(connection: Connection, generation: Generation, numbers: Sequence[int]) -> set[int]:
    """Seqs of the messages of these episodes."""
    m = hierarchy_messages.c
    return {row.seq for row in _rows(connection, hierarchy_messages, generation, m.episode, numbers, [m.seq])}


def thresholds(connection: Connection, embedder: str) -> str | None:
    """What was measured of an embedder, as JSON."""
    t = hierarchy_thresholds.c
    found: str | None = connection.execute(select(t.thresholds).where(t.embedder == embedder)).scalar()
    return found


def set_thresholds(connection: Connection, embedder: str, measured: str) -> None:
    """Measured once per embedder."""
    connection.execute(delete(hierarchy_thresholds).where(hierarchy_thresholds.c.embedder == embedder))
    connection.execute(hierarchy_thresholds.insert().values(embedder=embedder, thresholds=measured))


def drop(connection: Connection, generation: Generation) -> None:
    """All rows of a generation."""
    for table in _ALL:
        connection.execute(delete(table).where(of(table, generation)))


def generations(connection: Connection, user: str) -> list[Generation]:
    """Those that have rows for the user."""
    c = hierarchy_states.c
    query = select(c.generation).where(c.user == user).order_by(c.generation)
    return [Generation(user, number, "", 0) for number in connection.execute(query).scalars()]


def of(table: Any, generation: Generation) -> ColumnElement[bool]:
    """The generation's rows of one of the view's tables."""
    return and_(table.c.user == generation.user, table.c.generation == generation.number)


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Where the rows disagree with the log up to the cursor, or with each other."""
    found = []
    user = generation.user
    known = set(connection.execute(select(messages.c.seq).where(messages.c.user == user)).scalars())
    for table, what in ((hierarchy_messages, "an episode"), (hierarchy_statements, "a statement")):
        seqs = set(connection.execute(select(table.c.seq).where(of(table, generation))).scalars())
        found += [f"{what} of message {seq}, which is not in the log" for seq in sorted(seqs - known)]
        found += [
            f"{what} of message {seq}, behind the cursor" for seq in sorted(seqs) if seq > generation.cursor
        ]
    held = episodes(connection, generation, 0)
    said = semantics(connection, generation, 0)
    named = themes(connection, generation)
    found += [f"episode {number} has no message" for number, row in held.items() if not row.episode.seqs]
    for number, row in said.items():
        if not row.semantic.statements:
            found.append(f"semantic {number} has no statement")
        if row.semantic.episode not in held:
            found.append(f"semantic {number} is of episode {row.semantic.episode}, which has no row")
        if row.theme not in named:
            found.append(f"semantic {number} is in theme {row.theme}, which has no row")
        if lost := [near for near in row.neighbours.ids if near not in said]:
            found.append(f"semantic {number} has a neighbour {lost[0]}, which has no row")
    members = {row.theme for row in said.values()}
    found += [f"theme {number} has no semantic" for number in named if number not in members]
    for theme in named.values():
        if lost := [near for near in theme.neighbours.ids if near not in named]:
            found.append(f"theme {theme.id} has a neighbour {lost[0]}, which has no row")
    return found


def _key(generation: Generation) -> dict[str, Any]:
    return {"user": generation.user, "generation": generation.number}


def _rows(
    connection: Connection,
    table: Any,
    generation: Generation,
    column: Any,
    values: Sequence[int] | None,
    order: Sequence[Any],
) -> Iterable[Any]:
    query = select(table).where(of(table, generation)).order_by(*order)
    if values is None:
        yield from connection.execute(query)
        return
    for some in in_chunks(sorted(set(values)), _PER_STATEMENT):
        yield from connection.execute(query.where(column.in_(some)))


def _insert(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))


def _delete(
    connection: Connection, table: Any, generation: Generation, column: Any, values: Sequence[int]
) -> None:
    for some in in_chunks(sorted(set(values)), _PER_STATEMENT):
        connection.execute(delete(table).where(of(table, generation), column.in_(some)))


def _packed(near: Neighbours) -> bytes:
    return np.array([near.ids, near.similarities], dtype="<f8").tobytes()


def _neighbours(stored: bytes) -> Neighbours:
    ids, similarities = np.frombuffer(stored, dtype="<f8").reshape(2, -1)
    return Neighbours(tuple(int(one) for one in ids), tuple(float(one) for one in similarities))
