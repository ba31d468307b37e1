"""The hierarchy's structure in rows: what an episode and a semantic is made of.

The texts are units (views/units.py): a statement, and a message that no episode has yet, of the view NAME; an
episode's title and narrative of the view EPISODES, under its id. Two names, since a ranker compares like with
like: an episode is as long as twenty statements.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, delete, func, select

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import StorageCorrupt
from zibaldone.log import from_us, to_us
from zibaldone.models.base import Vectors
from zibaldone.storage.schema import (
    hierarchy_episodes,
    hierarchy_semantics,
    hierarchy_statements,
    hierarchy_states,
    hierarchy_themes,
    messages,
    unit_sources,
)
from zibaldone.storage.schema import units as units_table
from zibaldone.text.bounds import as_read
from zibaldone.views import own_rows, units
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement
from zibaldone.views.own_rows import insert, key_of, matching, of
from zibaldone.views.units import Key

NAME = "hierarchy"
EPISODES = "hierarchy episodes"
FIRST_STATEMENT = 1_000_000  # parts below it are passages of messages
NO_THEME = 0  # of a semantic: themes are made when they are looked at
_ALL = (hierarchy_states, hierarchy_episodes, hierarchy_semantics, hierarchy_statements, hierarchy_themes)


@dataclass(frozen=True, slots=True)
class State:
    """Ids that a generation gives next."""

    embedder: str  # its name and dimension
    next_episode: int = 1
    next_semantic: int = 1
    next_unit: int = FIRST_STATEMENT  # the part of the next statement: none is given twice

    @property
    def dimension(self) -> int:
        return int(self.embedder.rsplit("/", 1)[1])


@dataclass(frozen=True, slots=True)
class SemanticRow:
    """A semantic without its texts; its statements are units."""

    id: int
    episode: int
    time: datetime
    units: tuple[Key, ...]  # in the order of its statements
    theme: int = NO_THEME


@dataclass(frozen=True, slots=True)
class ThemeRow:
    """A guided theme; its semantics name it."""

    id: int
    name: str = ""  # "" while no model has named it
    made_by: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """New and changed rows, and ids of themes that are gone."""

    semantics: tuple[SemanticRow, ...] = ()
    themes: tuple[ThemeRow, ...] = ()
    themes_gone: tuple[int, ...] = ()


def state(connection: Connection, generation: Generation) -> State | None:
    """State after the last change; None for a generation without rows. Raises StorageCorrupt."""
    row = connection.execute(select(hierarchy_states).where(of(hierarchy_states, generation))).first()
    if row is None:
        s = hierarchy_semantics.c
        if connection.execute(select(s.semantic).where(of(hierarchy_semantics, generation)).limit(1)).first():
            raise StorageCorrupt(
                "the hierarchy has lost the row that says which ids come next:"
                " memory.builds.rebuild(user=..., view='hierarchy') makes it anew"
            )
        return None
    return State(row.embedder, row.next_episode, row.next_semantic, row.next_unit)


def set_state(connection: Connection, generation: Generation, given: State) -> None:
    """Store the state; call with every change."""
    connection.execute(delete(hierarchy_states).where(of(hierarchy_states, generation)))
    connection.execute(hierarchy_states.insert().values(**key_of(generation), **asdict(given)))


def episodes(connection: Connection, generation: Generation, dimension: int) -> list[Episode]:
    """All episodes in the order of creation. Raises StorageCorrupt."""
    e = hierarchy_episodes.c
    query = select(hierarchy_episodes).where(of(hierarchy_episodes, generation)).order_by(e.episode)
    by_id = {unit.part: unit for unit in units.load(connection, EPISODES, generation, dimension)[0]}
    made = []
    for row in connection.execute(query):
        if row.episode not in by_id:
            raise StorageCorrupt(
                f"episode {row.episode} of {generation.user!r} has lost its text: rebuild it"
            )
        unit = by_id[row.episode]
        title, _, narrative = unit.text.partition("\n")
        times = from_us(row.start_us), from_us(row.end_us)
        own = unit.session, unit.sources, title, narrative, *times
        made.append(Episode(row.episode, *own, row.made_by, row.degraded))
    return made


def told_by_model(connection: Connection, generation: Generation) -> frozenset[int]:
    """Ids of the episodes that a model narrated."""
    e = hierarchy_episodes.c
    query = select(e.episode).where(of(hierarchy_episodes, generation), e.made_by != "")
    return frozenset(connection.execute(query).scalars())


def semantics(
    connection: Connection, generation: Generation, numbers: Sequence[int] | None = None
) -> dict[int, SemanticRow]:
    """Semantics by id, rising; all, or those of `numbers`."""
    keys: dict[int, list[Key]] = defaultdict(list)
    t = hierarchy_statements.c
    query = select(hierarchy_statements).where(of(hierarchy_statements, generation))
    for row in matching(connection, query.order_by(t.semantic, t.place), t.semantic, numbers):
        keys[row.semantic].append((row.seq, row.part))
    s = hierarchy_semantics.c
    query = select(hierarchy_semantics).where(of(hierarchy_semantics, generation)).order_by(s.semantic)
    return {
        row.semantic: SemanticRow(
            row.semantic, row.episode, from_us(row.time_us), tuple(keys[row.semantic]), row.theme
        )
        for row in matching(connection, query, s.semantic, numbers)
    }


def themes(connection: Connection, generation: Generation) -> dict[int, ThemeRow]:
    """Guided themes by id, rising."""
    query = select(hierarchy_themes).where(of(hierarchy_themes, generation))
    rows = connection.execute(query.order_by(hierarchy_themes.c.theme))
    return {row.theme: ThemeRow(row.theme, row.name, row.made_by) for row in rows}


def statements(connection: Connection, generation: Generation) -> dict[Key, tuple[Statement, bytes]]:
    """Statements by key, each with its vector as stored."""
    u = units_table.c
    query = select(u.seq, u.part, u.text, u.start, u.end, u.vector)
    rows = list(connection.execute(query.where(units.of(NAME, generation), u.part >= FIRST_STATEMENT)))
    on = log.fetch(connection, generation.user, sorted({row.seq for row in rows}))
    stated = {}
    for row in rows:
        if (message := on.get(row.seq)) is not None:
            words = message.content[row.start : row.end]
            statement = Statement(row.seq, row.text, words, row.start, message.speaker)
            stated[row.seq, row.part] = statement, row.vector
    return stated


def whole(row: SemanticRow, stated: Mapping[Key, tuple[Statement, bytes]]) -> Semantic:
    """A semantic with its statements. Raises StorageCorrupt."""
    try:
        return Semantic(row.id, row.episode, tuple(stated[key][0] for key in row.units), row.time)
    except KeyError as error:
        raise StorageCorrupt(
            f"semantic {row.id} has lost a statement:"
            " memory.builds.rebuild(user=..., view='hierarchy') makes it anew"
        ) from error


def write_episodes(
    connection: Connection, generation: Generation, rows: Sequence[tuple[Episode, Vectors]]
) -> None:
    """Store episodes, each with the vector (d,) of its title and narrative."""
    narrated, texts = [], []
    for episode, vector in rows:
        times = {"start_us": to_us(episode.start), "end_us": to_us(episode.end)}
        own = {"episode": episode.id, "seq": episode.seqs[0], "made_by": episode.made_by}
        narrated.append(key_of(generation) | own | times | {"degraded": episode.degraded})
        text = f"{episode.title}\n{episode.narrative}"
        # Tokens are counted where it is offered.
        texts.append(units.Row(episode.seqs, episode.id, "episode", tokens=0, vector=vector, text=text))
    insert(connection, hierarchy_episodes, narrated)
    units.insert(connection, EPISODES, generation, texts)


def remove_episodes(connection: Connection, generation: Generation, keys: Sequence[Key]) -> None:
    """Delete episodes by the keys of their units."""
    units.remove(connection, EPISODES, generation, keys)
    numbers = [number for _, number in keys]
    own_rows.remove(connection, hierarchy_episodes, generation, hierarchy_episodes.c.episode, numbers)


def write(connection: Connection, generation: Generation, changes: Written) -> None:
    """Store changes of semantics and themes."""
    key = key_of(generation)
    s, t = hierarchy_semantics.c, hierarchy_statements.c
    numbers = [row.id for row in changes.semantics]
    own_rows.remove(connection, hierarchy_semantics, generation, s.semantic, numbers)
    own_rows.remove(connection, hierarchy_statements, generation, t.semantic, numbers)
    rows = [
        {"semantic": row.id, "episode": row.episode, "theme": row.theme, "time_us": to_us(row.time)}
        for row in changes.semantics
    ]
    stated = [
        {"semantic": row.id, "place": place, "seq": seq, "part": part}
        for row in changes.semantics
        for place, (seq, part) in enumerate(row.units)
    ]
    insert(connection, hierarchy_semantics, [key | row for row in rows])
    insert(connection, hierarchy_statements, [key | row for row in stated])
    h, touched = hierarchy_themes.c, [*changes.themes_gone, *(row.id for row in changes.themes)]
    own_rows.remove(connection, hierarchy_themes, generation, h.theme, touched)
    named = [{"theme": row.id, "name": row.name, "made_by": row.made_by} for row in changes.themes]
    insert(connection, hierarchy_themes, [key | row for row in named])


def semantics_of(connection: Connection, generation: Generation, episodes: Sequence[int]) -> list[int]:
    """Ids of the semantics of these episodes, rising."""
    s = hierarchy_semantics.c
    query = select(s.semantic).where(of(hierarchy_semantics, generation))
    return sorted(row.semantic for row in matching(connection, query, s.episode, episodes))


def remove_semantics(connection: Connection, generation: Generation, numbers: Sequence[int]) -> None:
    """Delete semantics; a guided theme of theirs loses its name, and goes where it is empty."""
    touched = {row.theme for row in semantics(connection, generation, numbers).values()} - {NO_THEME}
    s, t = hierarchy_semantics.c, hierarchy_statements.c
    own_rows.remove(connection, hierarchy_semantics, generation, s.semantic, numbers)
    own_rows.remove(connection, hierarchy_statements, generation, t.semantic, numbers)
    if touched:
        left = {row.theme for row in semantics(connection, generation).values()} & touched
        rows = tuple(ThemeRow(theme) for theme in sorted(left))
        write(connection, generation, Written(themes=rows, themes_gone=tuple(sorted(touched - left))))


def counts(connection: Connection, generation: Generation) -> tuple[int, int]:
    """(episodes, semantics)."""
    episodes, semantics = (
        connection.execute(select(func.count()).select_from(table).where(of(table, generation))).scalar() or 0
        for table in (hierarchy_episodes, hierarchy_semantics)
    )
    return episodes, semantics


def messages_of(connection: Connection, generation: Generation, keys: Sequence[Key]) -> set[int]:
    """Seqs of the messages of these episodes."""
    s = unit_sources.c
    query = select(s.source).where(units.of(EPISODES, generation, unit_sources))
    further = matching(connection, query, s.part, [number for _, number in keys])
    return {seq for seq, _ in keys} | {row.source for row in further}


def open_messages(connection: Connection, generation: Generation) -> list[Message]:
    """Messages up to the cursor without an episode, in their order."""
    m = messages.c
    query = select(m.seq).where(
        m.user == generation.user,
        m.seq <= generation.cursor,
        m.seq.not_in(select(units_table.c.seq).where(units.of(EPISODES, generation))),
        m.seq.not_in(select(unit_sources.c.source).where(units.of(EPISODES, generation, unit_sources))),
    )
    by_seq = log.fetch(connection, generation.user, sorted(connection.execute(query).scalars()))
    return [as_read(by_seq[seq]) for seq in sorted(by_seq)]


def last_begun(connection: Connection, generation: Generation) -> dict[str, int]:
    """Seq of the first message of the last episode, by session."""
    e, m = hierarchy_episodes.c, messages.c
    same = and_(m.user == e.user, m.seq == e.seq)
    query = select(m.session, func.max(e.seq).label("seq")).join_from(hierarchy_episodes, messages, same)
    rows = connection.execute(query.where(of(hierarchy_episodes, generation)).group_by(m.session))
    return {row.session: row.seq for row in rows}


def drop(connection: Connection, generation: Generation) -> None:
    own_rows.drop(connection, generation, *_ALL)
    for view in (NAME, EPISODES):
        units.drop(connection, view, generation)


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Disagreements of the rows with the log up to the cursor, or with each other."""
    given = state(connection, generation)
    dimension = given.dimension if given else 0
    disagreements = [
        fault for view in (NAME, EPISODES) for fault in units.faults(connection, view, generation, dimension)
    ]
    e = hierarchy_episodes.c
    numbers = set(connection.execute(select(e.episode).where(of(hierarchy_episodes, generation))).scalars())
    texts = {number for _, number in units.keys(connection, EPISODES, generation)}
    disagreements += [f"episode {number} has no text" for number in sorted(numbers - texts)]
    disagreements += [f"a text of episode {number}, which has no row" for number in sorted(texts - numbers)]
    rows = semantics(connection, generation)
    stated = {key for key in units.keys(connection, NAME, generation) if key[1] >= FIRST_STATEMENT}
    for number, row in rows.items():
        if not row.units:
            disagreements.append(f"semantic {number} has no statement")
        if lost_units := set(row.units) - stated:
            disagreements.append(f"semantic {number} has lost the statement {min(lost_units)}")
        if row.episode not in numbers:
            disagreements.append(f"semantic {number} is of episode {row.episode}, which has no row")
    strays = stated - {key for row in rows.values() for key in row.units}
    disagreements += [f"statement {key} is of no semantic" for key in sorted(strays)]
    of_theme = {row.id: row.theme for row in rows.values() if row.theme != NO_THEME}
    named = themes(connection, generation).keys()
    disagreements += [
        f"semantic {number} is in theme {theme}, which has no row"
        for number, theme in of_theme.items()
        if theme not in named
    ]
    return disagreements + [f"theme {number} is empty" for number in named - set(of_theme.values())]
