"""Search for what a receipt says was forgotten, in every table and file, and for rows that refer to it.

Words that the user's remaining messages say prove nothing, and are not searched for among the user's data;
words that anybody says are not searched for among shared data. Database pages are shared: the owner of a
piece of a free page is unknown.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, select
from sqlalchemy.schema import CreateIndex, CreateTable

from zibaldone import core, log
from zibaldone.core import Message
from zibaldone.engine.forgetting import Receipt, texts_of
from zibaldone.engine.inspection import faults_of
from zibaldone.engine.verification.needles import SHORTEST_BYTES, TextNeedles, normalized
from zibaldone.engine.verification.places import (
    Hit,
    Wanted,
    look_through_bucket,
    look_through_exports,
    look_through_folder,
    look_through_tables,
    references,
)
from zibaldone.engine.verification.receipts import Leftover, LookedAt, Verification
from zibaldone.errors import InvalidInput, StorageUnusable
from zibaldone.log.audit import operations
from zibaldone.storage.bucket_blocks import objects_of_nobody
from zibaldone.storage.columns import PLAIN_BEGINNING
from zibaldone.storage.database import Database
from zibaldone.storage.migrations import FIRST_NAME, MIGRATIONS
from zibaldone.storage.schema import exports, metadata, view_states
from zibaldone.text.purgeable_cache import sweeping
from zibaldone.views.base import ViewStore
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.notes import KINDS

_NAMED = (
    *calendar.day_name,
    *calendar.month_name,
    *core.MACHINES,
    *core.OWN_METADATA,
    *core.NOISES,
    core.EDITOR,
    *KINDS,
    *("statement", "superseded", "semantic"),  # kinds of units
    *("stated", "hand", "edited", "retired"),  # who made a note, or ended it
    *("beside", "kept"),  # where a generation stands
    "SQLite format 3",
)


def own_words(connection: Connection, views: Sequence[ViewStore]) -> Iterator[str]:
    """Yield texts that are in an empty memory: names of views, roles, operations, days and months."""
    yield from _NAMED
    yield from operations()
    yield from (FIRST_NAME, *(migration.__name__ for migration in MIGRATIONS))
    for view in views:
        yield view.name
        yield str(getattr(view, "fingerprint", ""))
    c = view_states.c
    for row in connection.execute(select(c.fingerprint, c.chosen_over, c.chat).distinct()):
        yield from filter(None, row)
    for table in metadata.sorted_tables:
        yield from (table.name, *table.c.keys(), str(CreateTable(table)))
        yield from (str(CreateIndex(index)) for index in table.indexes)


_MOST = 1000  # leftovers that are listed
_PAGE = 1000  # messages that are in memory at once


@sweeping()
def verify(
    database: Database,
    views: Sequence[ViewStore],
    kv: KVStore,
    receipt: Receipt,
    texts: Iterable[str],
    *,
    tokens_of: Callable[[Sequence[str]], list[int]],
    now: datetime,
    elsewhere: Iterable[Path] = (),
) -> Verification:
    """Search for the receipt's texts, for `texts`, and for references to the receipt's messages.

    `elsewhere` are files and folders besides the exports that the memory has noted. Raises InvalidInput for
    the receipt of a dry run or of another memory, and StorageUnusable for a file that cannot be read.
    """
    if receipt.dry_run:
        raise InvalidInput("a dry run removed nothing: verify the receipt of the forgetting itself")
    _must_be_known(database, receipt)
    forgotten = list(dict.fromkeys((*receipt.texts, *texts)))
    of_user = TextNeedles(forgotten, tokens_of)
    looked_for = len(of_user)
    wanted = Wanted(receipt.user, of_user, _excused(database, views, receipt.user, of_user))
    looked_at: list[LookedAt] = []
    left: list[Leftover] = []
    try:
        for looked, hits in _everywhere(database, wanted, elsewhere):
            looked_at.append(looked)
            left += [Leftover("word" if hit.whole_word else "text", where, hit.words) for where, hit in hits]
    except OSError as error:
        raise StorageUnusable(
            f"not everything can be read ({error}): verify as who owns the files"
        ) from error
    left += _structure(database, views, kv, receipt, wanted.folders)
    keyring = database.keyring
    if receipt.key and keyring is not None and not keyring.is_gone(receipt.key):
        left.append(Leftover("key", f"keys in {keyring.place.name}", receipt.key))
    return Verification(
        user=receipt.user,
        time=now,
        messages=receipt.messages,
        texts=len(forgotten),
        looked_for=looked_for,
        excused=looked_for - len(of_user),
        too_short=sum(len(normalized(text)) < SHORTEST_BYTES for text in forgotten),
        purge_is_due=database.purge_waits(),
        looked_at=tuple(looked_at),
        leftovers=tuple(left[:_MOST]),
    )


def _must_be_known(database: Database, receipt: Receipt) -> None:
    """Raise InvalidInput for a receipt of another memory; counters of users survive any forgetting."""
    with database.read(receipt.user) as connection:
        last_seq = log.state(connection, receipt.user).last_seq
    if not last_seq or max(receipt.seqs, default=0) > last_seq:
        which = f"never had message {max(receipt.seqs)} of user" if last_seq else "never had the user"
        raise InvalidInput(
            f"this memory {which} {receipt.user!r}: verify in the folder in which it was forgotten"
        )


def _everywhere(
    database: Database, wanted: Wanted, elsewhere: Iterable[Path]
) -> Iterator[tuple[LookedAt, list[Hit]]]:
    yield from look_through_tables(database, wanted)
    yield from look_through_folder(database, wanted)
    yield from look_through_bucket(database, wanted)
    yield from look_through_exports((*_exported(database), *elsewhere), wanted.of_all)


def _excused(database: Database, views: Sequence[ViewStore], user: str, of_user: TextNeedles) -> TextNeedles:
    """Remove from `of_user` what the user's messages say; return a copy without what anybody says."""
    with database.read() as connection:
        names = log.all_users(connection)
        of_user.excuse([*names, PLAIN_BEGINNING, *own_words(connection, views)])
    _excuse_messages(database, user, of_user)
    of_all = of_user.copy()
    for name in names:
        if name != user:
            _excuse_messages(database, name, of_all)
    return of_all


def _excuse_messages(database: Database, user: str, needles: TextNeedles) -> None:
    after = 0
    while len(needles) and (page := _messages(database, user, after)):
        # As a row has them: its columns stand next to each other.
        rows = ((m.session, m.role, m.name or "", *texts_of(m)) for m in page)
        needles.excuse(map(" ".join, rows))
        after = page[-1].seq


def _messages(database: Database, user: str, after: int) -> list[Message]:
    with database.read(user) as connection:
        return log.read(connection, user, after=after, limit=_PAGE)


def _structure(
    database: Database, views: Sequence[ViewStore], kv: KVStore, receipt: Receipt, folders: Collection[str]
) -> Iterator[Leftover]:
    """Yield remainders without text: rows that refer to the messages, objects that no row names."""
    yield from references(database, receipt.user, receipt.seqs)
    for key in objects_of_nobody(database, folders):
        yield Leftover("reference", f"object {key}", "no row names it")
    with database.read(receipt.user) as connection:
        for fault in log.faults(connection, receipt.user):
            yield Leftover("reference", "the log", fault)
        for view in views:
            for fault in faults_of(connection, receipt.user, view):
                yield Leftover("reference", f"view {view.name}", fault)
        for place in kv.unnamed_bytes(connection, receipt.user):
            yield Leftover("reference", place, "bytes that no row names")


def _exported(database: Database) -> list[Path]:
    with database.read() as connection:
        return [Path(path) for path in connection.execute(select(exports.c.path).distinct()).scalars()]
