"""What recall needs of a user's hierarchy, in memory, kept in step with the database by counters.

Every episode that is closed raises the ids that are given next, and every forgetting the user's counter of
deletions; messages that join an open episode change neither, and cost a recall nothing here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from zibaldone import log
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.models.base import Vectors
from zibaldone.search.lexical import Ints
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import hierarchy_semantics, hierarchy_themes, messages
from zibaldone.text.words import words
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.lexicon import Lexicon
from zibaldone.views.hierarchy.table import EpisodeRow, SemanticRow, State, ThemeRow

_MOST_USERS = 200
_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class Mark:
    """Rows that have the same mark are the same."""

    deletions: int
    state: State | None
    named: int  # themes that a model has named

    def may_grow_into(self, later: Mark) -> bool:
        """Whether nothing but episodes came in between."""
        if self.state is None or later.state is None or self.deletions != later.deletions:
            return False
        return _given(self.state) <= _given(later.state)

    def is_older(self, other: Mark) -> bool:
        """Whether it is of an earlier snapshot of the same generation."""
        mine, theirs = (_given(one.state) if one.state else (0, 0) for one in (self, other))
        return (self.deletions, mine, self.named) < (other.deletions, theirs, other.named)


@dataclass(frozen=True, slots=True)
class Shown:
    """What recall needs of a generation; never changed once made. Rows of arrays are as those of `semantics`.

    Two generations, and two users, have nothing in common.
    """

    mark: Mark
    generation: int
    episodes: tuple[EpisodeRow, ...]  # ids rising
    semantics: tuple[SemanticRow, ...]  # ids rising
    themes: Mapping[int, ThemeRow]
    said_by: Mapping[int, str]  # by seq of the episodes' messages: who said it, a name or else a role
    speakers: tuple[str, ...]  # all who spoke in them: names, or else roles
    ids: Ints  # (n,)
    theme_of: Ints  # (n,)
    episode_of: Ints  # (n,) ids
    episode_at: Ints  # (n,) places in `episodes`
    days: Ints  # (n,) ordinals of the days on which they were first said
    speaker_of: Ints  # (n,) places in `speakers`, of who first said it
    vectors: Vectors  # (n, d) of what each semantic is known by
    episode_ids: Ints  # (m,)
    episode_vectors: Vectors  # (m, d) zero where one is to be embedded
    lexicon: Lexicon  # of the semantics' texts
    episode_lexicon: Lexicon  # of the titles and narratives
    semantic_row: Mapping[int, int]  # by id
    episode_row: Mapping[int, int]  # by id
    episode_with: Mapping[int, int]  # by seq, the row of its episode
    semantics_with: Mapping[int, tuple[int, ...]]  # by seq, rows of the semantics that it states

    @staticmethod
    def of(
        mark: Mark,
        generation: int,
        episodes: Mapping[int, EpisodeRow],
        semantics: Mapping[int, SemanticRow],
        themes: Mapping[int, ThemeRow],
        speakers: Mapping[int, str],
        dimension: int,
        before: Shown | None = None,
    ) -> Shown:
        """Put together from rows; what `before` has indexed already is not indexed again.

        `speakers` has, by seq of the episodes' messages, who said it: a name, or else a role.
        """
        told = tuple(episodes.values())
        known = tuple(semantics.values())
        who = tuple(sorted(set(speakers.values())))
        names = frozenset(word for name in who for word in words(name))
        code = {name: place for place, name in enumerate(who)}
        n, m = len(known), len(told)
        at = {one.episode.id: row for row, one in enumerate(told)}
        nothing = np.zeros(dimension, dtype=np.float32)
        with_: dict[int, list[int]] = {}
        for row, one in enumerate(known):
            for seq in one.semantic.seqs:
                with_.setdefault(seq, []).append(row)
        return Shown(
            mark,
            generation,
            told,
            known,
            themes,
            speakers,
            who,
            ids=np.fromiter((one.semantic.id for one in known), np.int64, n),
            theme_of=np.fromiter((one.theme for one in known), np.int64, n),
            episode_of=np.fromiter((one.semantic.episode for one in known), np.int64, n),
            episode_at=np.fromiter((at[one.semantic.episode] for one in known), np.int64, n),
            days=np.fromiter((one.semantic.time.toordinal() for one in known), np.int64, n),
            speaker_of=np.fromiter(
                (code.get(speakers.get(one.semantic.statements[0].seq, ""), -1) for one in known), np.int64, n
            ),
            vectors=_matrix([one.vector for one in known], dimension),
            episode_ids=np.fromiter((one.episode.id for one in told), np.int64, m),
            episode_vectors=_matrix(
                [nothing if one.vector is None else one.vector for one in told], dimension
            ),
            lexicon=Lexicon.of(
                [one.semantic.text for one in known], names, before.lexicon if before else None
            ),
            episode_lexicon=Lexicon.of(
                [f"{one.episode.title}\n{one.episode.narrative}" for one in told],
                names,
                before.episode_lexicon if before else None,
            ),
            semantic_row={one.semantic.id: row for row, one in enumerate(known)},
            episode_row=at,
            episode_with={seq: row for row, one in enumerate(told) for seq in one.episode.seqs},
            semantics_with={seq: tuple(rows) for seq, rows in with_.items()},
        )

    @staticmethod
    def nothing(dimension: int) -> Shown:
        """Of a user whose messages are in no episode yet."""
        return Shown.of(Mark(0, None, 0), 0, {}, {}, {}, {}, dimension)


class ShownCache:
    """The least recently used user goes first."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._users: OrderedDict[str, Shown] = OrderedDict()
        self._lock = threading.Lock()
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child: the parent's threads may have held the lock."""
        self._users = OrderedDict()
        self._lock = threading.Lock()

    def get(self, connection: Connection, generation: Generation) -> Shown | None:
        """As of the connection's snapshot; None for a generation that has no rows yet."""
        state = table.state(connection, generation)
        if state is None:
            return None
        mark = Mark(log.state(connection, generation.user).deletions, state, _named(connection, generation))
        with self._lock:
            found = self._users.get(generation.user)
        before = found if found and found.generation == generation.number else None
        if before is None or before.mark != mark:
            found = self._load(connection, generation, mark, before)
        assert found is not None
        with self._lock:
            held = self._users.get(generation.user)
            if held is not None and (
                held.generation > found.generation
                or (held.generation == found.generation and mark.is_older(held.mark))
            ):
                return found  # this snapshot is an old one, and others have seen more meanwhile
            self._users[generation.user] = found
            self._users.move_to_end(generation.user)
            while len(self._users) > _MOST_USERS:
                self._users.popitem(last=False)
        return found

    def drop(self, user: str) -> None:
        """Nothing of the user stays in memory."""
        with self._lock:
            self._users.pop(user, None)

    def _load(
        self, connection: Connection, generation: Generation, mark: Mark, before: Shown | None
    ) -> Shown:
        if before is not None and before.mark.may_grow_into(mark):
            return self._grown(connection, generation, mark, before)
        episodes = table.episodes(connection, generation, self._dimension)
        said = {seq for one in episodes.values() for seq in one.episode.seqs}
        speakers = _speakers(connection, generation.user)
        return Shown.of(
            mark,
            generation.number,
            episodes,
            table.semantics(connection, generation, self._dimension),
            table.themes(connection, generation),
            {seq: who for seq, who in speakers.items() if seq in said},
            self._dimension,
        )

    def _grown(self, connection: Connection, generation: Generation, mark: Mark, before: Shown) -> Shown:
        """With the episodes that came, and the semantics that they made, told again, moved or relinked."""
        old, new = before.mark.state, mark.state
        assert old is not None
        assert new is not None
        came = table.episodes(
            connection, generation, self._dimension, range(old.next_episode, new.next_episode)
        )
        seqs = [seq for one in came.values() for seq in one.episode.seqs]
        numbers = table.touching(connection, generation, seqs)[1]
        numbers |= _moved(connection, generation, before, old.next_semantic)
        read = table.semantics(connection, generation, self._dimension, sorted(numbers))
        known = {one.semantic.id: one for one in before.semantics} | read
        return Shown.of(
            mark,
            generation.number,
            {one.episode.id: one for one in before.episodes} | came,
            dict(sorted(known.items())),
            table.themes(connection, generation),
            dict(before.said_by) | _speakers(connection, generation.user, seqs),
            self._dimension,
            before,
        )


def _given(state: State) -> tuple[int, int]:
    """The ids that rise with every episode."""
    return state.next_episode, state.next_semantic


def _matrix(rows: Sequence[Vectors], dimension: int) -> Vectors:
    return np.stack(rows) if rows else np.zeros((0, dimension), dtype=np.float32)


def _speakers(connection: Connection, user: str, seqs: Sequence[int] | None = None) -> dict[int, str]:
    """By seq, as Message.speaker; of all, or these."""
    m = messages.c
    query = select(m.seq, m.name, m.role).where(m.user == user)
    if seqs is None:
        return {row.seq: row.name or row.role for row in connection.execute(query)}
    return {
        row.seq: row.name or row.role
        for some in in_chunks(seqs, _PER_STATEMENT)
        for row in connection.execute(query.where(m.seq.in_(some)))
    }


def _moved(connection: Connection, generation: Generation, before: Shown, first_new: int) -> set[int]:
    """Known semantics of another theme, and those of whose neighbours some are new.

    Without a forgetting nothing else changes a list: vectors stay, and a nearer one comes in.
    """
    h = hierarchy_semantics.c
    query = select(h.semantic, h.theme, h.neighbours).where(table.of(hierarchy_semantics, generation))
    themes = dict(zip(before.ids.tolist(), before.theme_of.tolist(), strict=True))
    found = set()
    for row in connection.execute(query):
        ids = np.frombuffer(row.neighbours, dtype="<f8").reshape(2, -1)[0]
        if themes.get(row.semantic) != row.theme or (ids >= first_new).any():
            found.add(row.semantic)
    return found


def _named(connection: Connection, generation: Generation) -> int:
    t = hierarchy_themes
    query = select(func.count()).where(table.of(t, generation), t.c.made_by != "")
    return int(connection.execute(query).scalar_one())
