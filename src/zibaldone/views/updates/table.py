"""The links, and the words by which earlier sentences are found again: rows of two tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    bindparam,
    delete,
    func,
    or_,
    select,
)

from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import messages, update_links, update_words
from zibaldone.views.base import Counted, Generation
from zibaldone.views.links import Link
from zibaldone.views.updates.detect import MOST_PLACES, Place

_PER_STATEMENT = 400


# Made once: every recall asks them.
def _mine(table: Table) -> ColumnElement[bool]:
    return and_(table.c.user == bindparam("of"), table.c.generation == bindparam("number"))


_SEQS: BindParameter[int] = bindparam("seqs", expanding=True)
_BEGINS = update_links.c.old_seq.in_(_SEQS)
_AT_THE_BEGINNING = select(update_links).where(_mine(update_links), _BEGINS)
_AT_EITHER_END = select(update_links).where(
    _mine(update_links), or_(_BEGINS, update_links.c.new_seq.in_(_SEQS))
)
_PLACES = (
    select(update_words.c.seq, update_words.c.start, update_words.c.end)
    .where(_mine(update_words), update_words.c.word == bindparam("word"))
    .order_by(update_words.c.seq.desc(), update_words.c.start.desc())
    .limit(MOST_PLACES)
)


def links_of(connection: Connection, user: str, generation: int, seqs: Iterable[int]) -> tuple[Link, ...]:
    """The links that begin or end in these messages, and those that go on from their newer ends.

    So the last of a chain says what holds now. In the order of the newer sentences, each link once.
    """
    mine = {"of": user, "number": generation}
    linked: dict[tuple[int, int, int, int], Link] = {}
    wanted = set(seqs)
    for batch in in_chunks(sorted(wanted), _PER_STATEMENT):
        for row in connection.execute(_AT_EITHER_END, mine | {"seqs": batch}):
            _add(linked, _link(row))
    followed = wanted
    while ends := {link.new_seq for link in linked.values()} - followed:
        followed = followed | ends
        places = {(link.new_seq, link.new_start) for link in linked.values()}
        for batch in in_chunks(sorted(ends), _PER_STATEMENT):
            for row in connection.execute(_AT_THE_BEGINNING, mine | {"seqs": batch}):
                if (row.old_seq, row.old_start) in places:
                    _add(linked, _link(row))
    return tuple(linked[key] for key in sorted(linked))


def places(connection: Connection, generation: Generation, words: Iterable[int]) -> dict[int, list[Place]]:
    """By word its newest places, in the order of the log."""
    mine = {"of": generation.user, "number": generation.number}
    by_word: dict[int, list[Place]] = {}
    for word in sorted(words):
        if rows := connection.execute(_PLACES, mine | {"word": word}).all():
            by_word[word] = [(row.seq, row.start, row.end) for row in reversed(rows)]
    return by_word


def write(
    connection: Connection,
    generation: Generation,
    words: Iterable[tuple[int, Place]],
    links: Iterable[tuple[Place, Place, str]],
) -> None:
    """What a batch adds: words with their places, and links as (older place, newer place, rule)."""
    key = {"user": generation.user, "generation": generation.number}
    rows = [key | {"word": word, "seq": seq, "start": start, "end": end} for word, (seq, start, end) in words]
    for batch in in_chunks(rows, _PER_STATEMENT):
        connection.execute(update_words.insert(), list(batch))
    link_rows = [
        key
        | {"old_seq": old[0], "old_start": old[1], "old_end": old[2]}
        | {"new_seq": new[0], "new_start": new[1], "new_end": new[2], "rule": rule}
        for old, new, rule in links
    ]
    if link_rows:
        connection.execute(update_links.insert(), link_rows)


def forget(connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
    """Remove what these messages said, and every link of which either end is in one of them."""
    removed = {table.name: 0 for table in (update_links, update_words)}
    for batch in in_chunks(seqs, _PER_STATEMENT):
        for table in (update_links, update_words):
            removed[table.name] += connection.execute(
                delete(table).where(_made_from(table, user, batch))
            ).rowcount
    return _counted(removed)


def preview_forget(connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
    """What `forget` would remove."""
    gone: set[tuple[object, ...]] = set()
    words = 0
    for batch in in_chunks(seqs, _PER_STATEMENT):
        query = select(*update_links.primary_key.columns).where(_made_from(update_links, user, batch))
        gone.update(tuple(row) for row in connection.execute(query))
        words += connection.execute(
            select(func.count()).select_from(update_words).where(_made_from(update_words, user, batch))
        ).scalar_one()
    return _counted({update_links.name: len(gone), update_words.name: words})


def drop(connection: Connection, generation: Generation) -> None:
    """Remove one generation."""
    for table in (update_links, update_words):
        connection.execute(delete(table).where(of(table, generation)))


def links(connection: Connection, generation: Generation) -> list[Link]:
    """All of a generation, in the order of the newer sentences."""
    c = update_links.c
    query = select(update_links).where(of(update_links, generation))
    rows = connection.execute(query.order_by(c.new_seq, c.new_start, c.old_seq, c.old_start))
    return [_link(row) for row in rows]


def stats(connection: Connection, user: str) -> tuple[Counted, ...]:
    """Rows of all generations."""
    return _counted(
        {
            table.name: connection.execute(
                select(func.count()).select_from(table).where(table.c.user == user)
            ).scalar_one()
            for table in (update_links, update_words)
        }
    )


def faults(connection: Connection, generation: Generation) -> list[str]:
    """Rows of messages that are not in the log, or behind the cursor."""
    disagreements = []
    for what, column in (
        ("a link", update_links.c.old_seq),
        ("a link", update_links.c.new_seq),
        ("a word", update_words.c.seq),
    ):
        table = column.table
        m = messages.c
        on = and_(m.user == table.c.user, m.seq == column)
        mine = of(table, generation)
        orphans = select(column).outerjoin_from(table, messages, on).where(mine, m.seq.is_(None))
        beyond = select(column).where(mine, column > generation.cursor)
        for query, sentence in (
            (orphans, "{} of message {}, which is not in the log"),
            (beyond, "{} of message {}, behind the cursor"),
        ):
            disagreements += [
                sentence.format(what, seq) for seq in connection.execute(query.distinct()).scalars()
            ]
    return disagreements


def of(table: Table, generation: Generation) -> ColumnElement[bool]:
    """The rows of a generation."""
    return and_(table.c.user == generation.user, table.c.generation == generation.number)


def _made_from(table: Table, user: str, seqs: Sequence[int]) -> ColumnElement[bool]:
    ends = (table.c.old_seq, table.c.new_seq) if table is update_links else (table.c.seq,)
    return and_(table.c.user == user, or_(*(end.in_(seqs) for end in ends)))


def _counted(rows: dict[str, int]) -> tuple[Counted, ...]:
    return (Counted("links", rows[update_links.name]), Counted("words", rows[update_words.name]))


def _link(row: Row[Any]) -> Link:
    return Link(
        row.user,
        row.generation,
        row.old_seq,
        row.old_start,
        row.old_end,
        row.new_seq,
        row.new_start,
        row.new_end,
        row.rule,
    )


def _add(linked: dict[tuple[int, int, int, int], Link], link: Link) -> None:
    linked[link.new_seq, link.new_start, link.old_seq, link.old_start] = link
