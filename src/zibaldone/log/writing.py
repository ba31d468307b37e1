"""Appending to the message log, and deleting from it: seqs are never given twice, ids are recognised.

Functions on a connection; their caller owns the transaction.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2b
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    delete,
    select,
    update,
)

from zibaldone.core import AGENT, CORRECTS, Message
from zibaldone.core.validation import to_json
from zibaldone.errors import IdConflict
from zibaldone.log import audit
from zibaldone.log.reading import ITEM_SESSIONS, PER_STATEMENT, UserState, fetch_by_id, state, to_us
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.schema import (
    exports,
    forgotten_ids,
    message_files,
    messages,
    users,
)
from zibaldone.storage.upsert import insert_missing, put

_ROWS_PER_STATEMENT = 5000
# Made once: every add runs it, and making one costs several times what running it does.
_TOUCHED = update(users).where(users.c.user == bindparam("of"))
_NO_TEXT = {"session": "", "role": "", "name": None, "content": "", "metadata": None}


@dataclass(frozen=True, slots=True)
class Appended:
    """The outcome of one append."""

    stored: list[Message]  # aligned with what was given; the first copy where an id was known already
    new: int  # how many of them are new


@dataclass(frozen=True, slots=True)
class Sifted:
    """The messages that an append would store, and counts of the others."""

    fresh: list[Message]
    changed: int  # how many are known with another content
    forgotten: int  # how many were stored once, and forgotten


def touch(connection: Connection, user: str, *, new: int = 0, deleted: bool = False) -> UserState:
    """Take `new` seqs for the user and raise the version; returns the counters afterwards.

    Workers look at the user again: whoever changes what views read or keep calls this.
    """
    before = state(connection, user)
    version = before.version + 1
    after = UserState(before.last_seq + new, version, version if deleted else before.deletions)
    values = {"next_seq": after.last_seq + 1, "version": version, "deletions": after.deletions, "behind": 1}
    if before.version:
        connection.execute(_TOUCHED, {"of": user, **values})
    else:
        connection.execute(users.insert(), {"user": user, **values})
    return after


def append(
    connection: Connection, user: str, given: Sequence[Message], now: datetime, *, keep_first: bool = False
) -> Appended:
    """Store messages in the order given; an id that is known already adds nothing.

    A correction that names ids corrects the messages that have them here, whatever their seqs were elsewhere.

    Raises IdConflict when an id is taken by a message that says something else, or elsewhere, or is another
    agent's. Other metadata may differ (a chat was renamed since): what was stored first stays. With
    `keep_first` it stays whatever differs.
    """
    known = fetch_by_id(connection, user, [m.id for m in given if m.id is not None])
    stored: list[Message] = []
    fresh: list[int] = []  # positions in `given`
    for position, message in enumerate(given):
        first = known.get(message.id) if message.id is not None else None
        if first is not None:
            if not keep_first and (differs := _differences(first, message)):
                raise _conflict(first, differs)
            stored.append(first)
            continue
        complete = message
        if message.time is None or message.id is None:
            complete = replace(message, time=message.time or now, id=message.id or _new_id(now))
        if complete.id is not None:
            known[complete.id] = complete
        fresh.append(position)
        stored.append(complete)
    if fresh:
        first_seq = touch(connection, user, new=len(fresh)).last_seq - len(fresh) + 1
        for seq, position in enumerate(fresh, first_seq):
            stored[position] = replace(stored[position], seq=seq, files=())
        _settle_corrections(connection, user, stored, fresh)
        audit.note(connection, user, "write", len(fresh))
        for batch in in_chunks(fresh, _ROWS_PER_STATEMENT):
            connection.execute(messages.insert(), [_to_row(user, stored[position]) for position in batch])
        file_rows = [
            {"user": user, "seq": stored[position].seq, "place": place, "data": data}
            for position in fresh
            for place, data in enumerate(given[position].files)
            if data is not None
        ]
        if file_rows:
            connection.execute(message_files.insert(), file_rows)
        if len(fresh) < len(given):  # the same id twice in one call: both are the one that was stored
            by_id = {stored[position].id: stored[position] for position in fresh}
            stored = [by_id.get(message.id, message) for message in stored]
    return Appended(stored, len(fresh))


def sift(connection: Connection, user: str, given: Sequence[Message], *, again: bool) -> Sifted:
    """Leave out messages that are stored already, and forgotten ones unless `again`."""
    ids = [message.id for message in given if message.id is not None]
    known = fetch_by_id(connection, user, ids)
    gone = set() if again else _forgotten(connection, user, [own for own in ids if own not in known])
    changed = sum(1 for m in given if (first := known.get(m.id or "")) is not None and _differences(first, m))
    fresh = [message for message in given if message.id not in known and message.id not in gone]
    forgotten = sum(message.id in gone for message in given)
    return Sifted(fresh, changed, forgotten)


def note_export(connection: Connection, user: str, path: str, now: datetime) -> None:
    """Note that messages, or documents made of them, were written to this file or folder."""
    put(connection, exports, {"user": user, "path": path, "time_us": to_us(now)})


def empty(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Make damaged messages readable and empty. Call before deleting them: views read them once more."""
    for batch in in_chunks(seqs, PER_STATEMENT):
        these = and_(messages.c.user == user, messages.c.seq.in_(batch))
        connection.execute(update(messages).where(these).values(time_us=0, utc_offset_s=0, **_NO_TEXT))


def remove(connection: Connection, user: str, seqs: Sequence[int]) -> int:
    """Delete messages; returns how many there were. Their seqs are never given again."""
    removed = delete_rows(connection, user, seqs)
    if removed:
        touch(connection, user, deleted=True)
        audit.note(connection, user, "forget", removed)
    return removed


def delete_rows(connection: Connection, user: str, seqs: Sequence[int]) -> int:
    """Delete messages as a step of a forgetting that was noted already; returns how many there were."""
    removed = 0
    for batch in in_chunks(seqs, PER_STATEMENT):
        of_files = and_(message_files.c.user == user, message_files.c.seq.in_(batch))
        connection.execute(delete(message_files).where(of_files))
        note_forgotten(connection, user, batch)
        condition = and_(messages.c.user == user, messages.c.seq.in_(batch))
        removed += connection.execute(delete(messages).where(condition)).rowcount
    return removed


def _settle_corrections(
    connection: Connection, user: str, stored: list[Message], fresh: Sequence[int]
) -> None:
    """Write the seqs of the corrected messages into the corrections at the positions `fresh` of `stored`."""
    correcting = [position for position in fresh if stored[position].corrected_ids]
    if not correcting:
        return
    new = {stored[position].id: stored[position].seq for position in fresh}
    elsewhere = {name for position in correcting for name in stored[position].corrected_ids} - new.keys()
    seq_of = {name: known.seq for name, known in fetch_by_id(connection, user, sorted(elsewhere)).items()}
    for position in correcting:
        edit = stored[position]
        seqs = [seq for name in edit.corrected_ids if (seq := new.get(name) or seq_of.get(name))]
        correction = {**edit.metadata[CORRECTS], "seqs": seqs}
        stored[position] = replace(edit, metadata={**edit.metadata, CORRECTS: correction})


def note_forgotten(connection: Connection, user: str, seqs: Sequence[int]) -> None:
    """Note digests of the ids, so that an import leaves them out. Call before deleting the messages."""
    for batch in in_chunks(seqs, PER_STATEMENT):
        these = and_(messages.c.user == user, messages.c.seq.in_(batch))
        ids = sorted(connection.execute(select(messages.c.id).where(these)).scalars())
        rows = [{"user": user, "digest": _id_digest(user, own)} for own in ids]
        insert_missing(connection, forgotten_ids, rows)


def _forgotten(connection: Connection, user: str, ids: Sequence[str]) -> set[str]:
    """Those of the ids whose messages were forgotten."""
    gone: set[str] = set()
    for batch in in_chunks(ids, PER_STATEMENT):
        of_digest = {_id_digest(user, own): own for own in batch}
        query = select(forgotten_ids.c.digest).where(
            forgotten_ids.c.user == user, forgotten_ids.c.digest.in_(of_digest)
        )
        gone.update(of_digest[digest] for digest in connection.execute(query).scalars())
    return gone


def _id_digest(user: str, message_id: str) -> str:
    return blake2b(f"{user}\0{message_id}".encode(), digest_size=16).hexdigest()


def _differences(first: Message, updated: Message) -> list[str]:
    """List the fields in which a message differs from the one that is stored under its id.

    Of another agent's message nothing else is told: it may be behind a wall.
    """
    if updated.metadata.get(AGENT) not in (None, first.metadata.get(AGENT)):
        return [AGENT]
    fields = ("content", "role", "name", "session")
    differs = [field for field in fields if getattr(first, field) != getattr(updated, field)]
    if first.session.startswith(ITEM_SESSIONS) and to_json(first.metadata) != to_json(updated.metadata):
        differs.append("value")  # of which the content may say nothing
    return [*differs, "time"] if updated.time not in (None, first.time) else differs


def _conflict(first: Message, differs: Sequence[str]) -> IdConflict:
    return IdConflict(
        f"id {first.id!r} is taken by message {first.seq or 'earlier in this call'}, which has another"
        f" {' and '.join(differs)}: nothing was stored; give the changed message an id of its own"
    )


def _new_id(now: datetime) -> str:
    """Make a random id that rises with time, so that the index of ids grows at its end."""
    return f"{to_us(now) // 1000:012x}{secrets.token_hex(10)}"


def _to_row(user: str, message: Message) -> dict[str, Any]:
    assert message.time is not None
    offset = message.time.utcoffset()
    return {
        "user": user,
        "seq": message.seq,
        "id": message.id,
        "session": message.session,
        "role": message.role,
        "name": message.name,
        "content": message.content,
        "time_us": to_us(message.time),
        "utc_offset_s": int(offset.total_seconds()) if offset else 0,
        "metadata": to_json(message.metadata),
    }
