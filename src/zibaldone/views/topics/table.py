"""Topic documents in the database: Markdown bodies with their front matter in columns."""

from __future__ import annotations

import json
import re
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, select

from zibaldone.errors import StorageCorrupt
from zibaldone.log import from_us, to_us
from zibaldone.storage.schema import topic_documents, topic_parts, topic_states, view_states
from zibaldone.views import own_rows
from zibaldone.views.base import Generation
from zibaldone.views.own_rows import insert, key_of, of
from zibaldone.views.topics.library import CURRENT, Library
from zibaldone.views.topics.markdown.document import Document, Event, parse_body, render_body
from zibaldone.views.topics.markdown.entry import When

_HEXADECIMAL = re.compile(r"[0-9a-f]{16}")
_WHOSE = ("user", "generation")
_ALL = (topic_states, topic_documents, topic_parts)


def load(connection: Connection, generation: Generation) -> Library | None:
    """The library; None for a generation that has no rows yet."""
    state = connection.execute(select(topic_states).where(of(topic_states, generation))).first()
    if state is None:
        return None
    query = select(topic_documents).where(of(topic_documents, generation))
    rows = connection.execute(query.order_by(topic_documents.c.document))
    documents = [_document(row) for row in rows]
    current = next((one for one in documents if one.id == CURRENT), Document(CURRENT))
    return Library(
        current=current,
        next_id=state.next_id,
        opened=None if state.opened_us is None else from_us(state.opened_us),
    ).with_documents(one for one in documents if one.id != CURRENT)


def opened_by(connection: Connection, time: datetime, user: str | None = None) -> set[str]:
    """Users, or the one given, whose serving CURRENT was opened at this time or earlier."""
    c, v = topic_states.c, view_states.c
    serves = and_(v.user == c.user, v.generation == c.generation, v.view == "topics", v.serving == 1)
    query = select(c.user).join(view_states, serves).where(c.opened_us <= to_us(time))
    return set(connection.execute(query if user is None else query.where(c.user == user)).scalars())


def digest(connection: Connection, generation: Generation) -> str:
    """Digest of all documents as stored; "" for a generation without rows. Raises StorageCorrupt."""
    c = topic_states.c
    stored: str | None = connection.execute(select(c.digest).where(of(topic_states, generation))).scalar()
    if stored and not _HEXADECIMAL.fullmatch(stored):
        raise StorageCorrupt(
            f"the topics' digest is {stored!r}, no number:"
            " memory.builds.rebuild(user=..., view='topics') makes it anew"
        )
    return stored or ""


def save(connection: Connection, generation: Generation, before: Library | None, after: Library) -> str:
    """Write the differences between two libraries; returns the digest of all documents afterwards."""
    digest(connection, generation)  # raises StorageCorrupt where it is damaged
    old = {one.id: one for one in before.everything()} if before else {}
    rows = {one.id: _to_row(generation, one) for one in after.everything()}
    changed = [one.id for one in after.everything() if old.get(one.id) != one]
    gone = [doc_id for doc_id in old if doc_id not in rows]
    own_rows.remove(connection, topic_documents, generation, topic_documents.c.document, [*gone, *changed])
    insert(connection, topic_documents, [rows[doc_id] for doc_id in changed])
    own_rows.drop(connection, generation, topic_parts)  # earlier versions kept words there
    connection.execute(delete(topic_states).where(of(topic_states, generation)))
    stored = [[value for name, value in row.items() if name not in _WHOSE] for row in rows.values()]
    made = blake2b(repr(stored).encode(), digest_size=8).hexdigest()
    connection.execute(
        topic_states.insert().values(
            **key_of(generation),
            next_id=after.next_id,
            opened_us=None if after.opened is None else to_us(after.opened),
            digest=made,
        )
    )
    return made


def drop(connection: Connection, generation: Generation) -> None:
    own_rows.drop(connection, generation, *_ALL)


def _document(row: Row[Any]) -> Document:
    return Document(
        row.document,
        row.summary,
        row.token_count,
        When(row.created_time) if row.created_time else None,
        tuple(_event(one) for one in json.loads(row.update_log)),
        parse_body(row.body),
    )


def _event(logged: dict[str, Any]) -> Event:
    time = logged.get("time", "")
    return Event(logged["event"], When(time) if time else None)


def _to_row(generation: Generation, document: Document) -> dict[str, Any]:
    events = [{"event": one.event, "time": str(one.time or "")} for one in document.update_log]
    return key_of(generation) | {
        "document": document.id,
        "summary": document.summary,
        "token_count": document.token_count,
        "created_time": str(document.created_time or ""),
        "update_log": json.dumps(events, ensure_ascii=False),
        "aux": "{}",
        "body": render_body(document.body),
    }
