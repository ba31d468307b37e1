"""Topic documents in the database: Markdown bodies with their front matter in columns."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, select

from zibaldone.errors import StorageCorrupt
from zibaldone.log import from_us, to_us
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import topic_documents, topic_parts, topic_states, view_states
from zibaldone.views.base import Generation
from zibaldone.views.topics.library import CURRENT, Key, Library
from zibaldone.views.topics.markdown.document import Document, Event
from zibaldone.views.topics.markdown.entry import Entry, When, read_entry
from zibaldone.views.topics.markdown.parsing import parse_body
from zibaldone.views.topics.markdown.printing import render_body

_HEXADECIMAL = re.compile(r"[0-9a-f]{16}")
_PER_STATEMENT = 500
_ALL = (topic_states, topic_documents, topic_parts)


def load(connection: Connection, generation: Generation, known: Library | None = None) -> Library | None:
    """The library; None for a generation that has no rows yet.

    Documents of `known` whose rows say the same are taken over as they are: a body that was parsed before is
    not parsed again, and what is indexed by the document itself stays so.
    """
    state = connection.execute(select(topic_states).where(of(topic_states, generation))).first()
    if state is None:
        return None
    held = {one.id: one for one in known.everything()} if known else {}
    query = select(topic_documents).where(of(topic_documents, generation))
    rows = connection.execute(query.order_by(topic_documents.c.document))
    documents = [_document(row, held.get(row.document)) for row in rows]
    current = next((one for one in documents if one.id == CURRENT), Document(CURRENT))
    parts = connection.execute(select(topic_parts).where(of(topic_parts, generation)))
    return Library(
        current=current,
        next_id=state.next_id,
        opened=None if state.opened_us is None else from_us(state.opened_us),
        parts={
            (tuple(json.loads(row.sources)), row.text): tuple(
                read_entry(line) for line in json.loads(row.parts)
            )
            for row in parts
        },
    ).with_documents(one for one in documents if one.id != CURRENT)


def opened_by(connection: Connection, time: datetime, user: str | None = None) -> set[str]:
    """Users, or the one given, whose serving CURRENT has been open since this time, or for longer."""
    c, v = topic_states.c, view_states.c
    serves = and_(v.user == c.user, v.generation == c.generation, v.view == "topics", v.serving == 1)
    query = select(c.user).join(view_states, serves).where(c.opened_us <= to_us(time))
    return set(connection.execute(query if user is None else query.where(c.user == user)).scalars())


def digest(connection: Connection, generation: Generation) -> str:
    """Of all documents as they are stored; empty for a generation without rows. Raises StorageCorrupt."""
    c = topic_states.c
    stored: str | None = connection.execute(select(c.digest).where(of(topic_states, generation))).scalar()
    if stored and not _HEXADECIMAL.fullmatch(stored):
        raise StorageCorrupt(
            f"the topics' digest is {stored!r}, no number:"
            " memory.rebuild(user=..., view='topics') makes it anew"
        )
    return stored or ""


def save(
    connection: Connection, generation: Generation, before: Library | None, after: Library, held: str
) -> str:
    """Write what differs between two libraries; the digest of all documents afterwards.

    `held` is the digest of those of `before`. It is the sum of the documents' own, so that it is kept up from
    the changed ones, and the same documents have the same whatever way they came about.
    """
    old = {one.id: one for one in before.everything()} if before else {}
    new = {one.id: one for one in after.everything()}
    changed = [one for one in new.values() if old.get(one.id) is not one and old.get(one.id) != one]
    gone = [one for one in old if one not in new]
    d = topic_documents.c
    replaced = _stored(connection, generation, [*gone, *(one.id for one in changed if one.id in old)])
    _delete(connection, topic_documents, generation, d.document, [*gone, *(one.id for one in changed)])
    rows = [_to_row(generation, one) for one in changed]
    _insert(connection, topic_documents, rows)
    total = int(held or "0", 16) + sum(map(_number, rows)) - sum(map(_number, replaced))
    had: Mapping[Key, tuple[Entry, ...]] = before.parts if before else {}
    differ = [key for key, parts in after.parts.items() if had.get(key) != parts]
    lost = [key for key in had if key not in after.parts]
    entries = [_digest(key) for key in (*lost, *differ)]
    _delete(connection, topic_parts, generation, topic_parts.c.entry, entries)
    _insert(connection, topic_parts, [_parts_row(generation, key, after.parts[key]) for key in differ])
    connection.execute(delete(topic_states).where(of(topic_states, generation)))
    made = f"{total % 2**64:016x}"
    connection.execute(
        topic_states.insert().values(
            **_key(generation),
            next_id=after.next_id,
            opened_us=None if after.opened is None else to_us(after.opened),
            digest=made,
        )
    )
    return made


def _number(row: Mapping[str, Any]) -> int:
    """A document's part in the digest: its row, but for whose it is."""
    values = [value for name, value in sorted(row.items()) if name not in ("user", "generation")]
    return int.from_bytes(blake2b(repr(values).encode(), digest_size=8).digest())


def _stored(
    connection: Connection, generation: Generation, documents: Sequence[str]
) -> list[Mapping[str, Any]]:
    query = select(topic_documents).where(of(topic_documents, generation))
    return [
        dict(row)
        for some in in_chunks(documents, _PER_STATEMENT)
        for row in connection.execute(query.where(topic_documents.c.document.in_(some))).mappings()
    ]


def drop(connection: Connection, generation: Generation) -> None:
    for table in _ALL:
        connection.execute(delete(table).where(of(table, generation)))


def generations(connection: Connection, user: str) -> list[Generation]:
    c = topic_states.c
    query = select(c.generation).where(c.user == user).order_by(c.generation)
    return [Generation(user, number, "", 0) for number in connection.execute(query).scalars()]


def of(table: Any, generation: Generation) -> ColumnElement[bool]:
    """The generation's rows of one of the view's tables."""
    return and_(table.c.user == generation.user, table.c.generation == generation.number)


def _document(row: Row[Any], known: Document | None) -> Document:
    body = known.body if known and render_body(known.body) == row.body else parse_body(row.body)
    made = Document(
        row.document,
        row.summary,
        row.token_count,
        When(row.created_time) if row.created_time else None,
        tuple(_event(one) for one in json.loads(row.update_log)),
        json.loads(row.aux),
        body,
    )
    return known if known == made else made


def _event(logged: dict[str, Any]) -> Event:
    event, time = logged.pop("event"), logged.pop("time", "")
    return Event(event, When(time) if time else None, logged)


def _to_row(generation: Generation, document: Document) -> dict[str, Any]:
    events = [
        {"event": event.event, "time": str(event.time) if event.time else "", **event.detail}
        for event in document.update_log
    ]
    return _key(generation) | {
        "document": document.id,
        "summary": document.summary,
        "token_count": document.token_count,
        "created_time": str(document.created_time) if document.created_time else "",
        "update_log": json.dumps(events, ensure_ascii=False),
        "aux": json.dumps(dict(document.aux), ensure_ascii=False),
        "body": render_body(document.body),
    }


def _parts_row(generation: Generation, key: Key, parts: Sequence[Entry]) -> dict[str, Any]:
    sources, text = key
    lines = [part.line for part in parts]
    return _key(generation) | {
        "entry": _digest(key),
        "sources": json.dumps(sources),
        "text": text,
        "parts": json.dumps(lines, ensure_ascii=False),
    }


def _digest(key: Key) -> str:
    return blake2b(repr(key).encode(), digest_size=12).hexdigest()


def _key(generation: Generation) -> dict[str, Any]:
    return {"user": generation.user, "generation": generation.number}


def _insert(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    if rows:
        connection.execute(table.insert(), list(rows))


def _delete(
    connection: Connection, table: Any, generation: Generation, column: Any, values: Sequence[str]
) -> None:
    for some in in_chunks(list(values), _PER_STATEMENT):
        connection.execute(delete(table).where(of(table, generation), column.in_(some)))
