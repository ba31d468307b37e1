"""Forgetting: remove messages and everything made from them, with a receipt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import CORRECTS, OWN_METADATA, Message
from zibaldone.core.validation import Key, TimeLike, count, key, members, shown, to_time
from zibaldone.engine import forgetting_steps
from zibaldone.engine.generations import serving
from zibaldone.engine.inspection import damage_is_named
from zibaldone.errors import InvalidInput, StorageError
from zibaldone.log.audit import note_read
from zibaldone.log.retention import drop_named_sessions
from zibaldone.storage.database import Database
from zibaldone.text.purgeable_cache import forget_texts, sweeping
from zibaldone.views.base import Counted, ViewStore
from zibaldone.views.user_cache import drop_forgotten, users_held

T = TypeVar("T")
_logger = logging.getLogger(__name__)
_NOT_DELETED = "blocks or saved indexes could not be deleted yet: the next maintenance does it"


@dataclass(frozen=True, slots=True)
class Removed:
    """Counts of what one view lost."""

    view: str
    counts: tuple[Counted, ...]


_Gone = tuple[list[int], tuple[str, ...], tuple[Removed, ...]]  # seqs, texts, losses of the views


@dataclass(frozen=True, slots=True)
class Receipt:
    """Receipt of a forgetting: what it removed, or would remove in a dry run."""

    user: str
    dry_run: bool
    seqs: tuple[int, ...]  # of messages that existed
    views: tuple[Removed, ...]
    # True if no file of the folder has the text any more. False in a dry run, if there is no room to rewrite
    # the database, and while another process reads an older snapshot: then the next forget or the next
    # opening of the folder purges it.
    purged: bool
    time: datetime | None = field(default=None, compare=False)
    remains: str = ""  # where the text may still be, if it was forgotten and not purged
    texts: tuple[str, ...] = field(default=(), repr=False, compare=False)  # for `verify`, on request
    # Number of the user's destroyed key: whatever any file or backup still has is unreadable, and
    # `purged` is True.
    key: str = ""

    @property
    def messages(self) -> int:
        """Number of messages."""
        return len(self.seqs)


@dataclass(frozen=True, slots=True)
class Selector:
    """A choice of a user's messages; exactly one of the four is set."""

    seqs: tuple[int, ...] | None = None
    session: str | None = None
    before: datetime | None = None
    everything: bool = False


def selector(
    seqs: Iterable[int] | None, session: Key | None, before: TimeLike | None, everything: object
) -> Selector:
    """Return the checked selector. Raises InvalidInput unless exactly one is given."""
    if not isinstance(everything, bool):
        raise InvalidInput(f"everything must be True or False, not {shown(everything)}")
    given = sum((seqs is not None, session is not None, before is not None, everything))
    if given != 1:
        raise InvalidInput(
            f"forget needs exactly one of seqs=, session=, before= and everything=True; {given} were given"
        )
    if seqs is not None:
        if isinstance(seqs, str | bytes) or not isinstance(seqs, Iterable):
            raise InvalidInput(f"seqs must be whole numbers, not {shown(seqs)}")
        return Selector(seqs=tuple(sorted({count("a seq", seq, least=1) for seq in members("seqs", seqs)})))
    if session is not None:
        return Selector(session=key("session", session))
    if before is not None:
        return Selector(before=to_time(before, "before"))
    return Selector(everything=True)


@sweeping()
def forget_each(
    database: Database,
    views: Sequence[ViewStore],
    selected: Mapping[str, Selector],
    *,
    dry_run: bool,
    keep_texts: bool = False,
    now: datetime | None = None,
    also: Sequence[ViewStore] = (),
) -> list[Receipt]:
    """Remove messages of users and everything made from them, user by user, then purge the files once.

    Many messages of a user go in steps. A dry run counts in a read transaction and changes nothing; an audit
    notes it as a read. With `keep_texts` the receipts have the messages' texts. `also` are further instances
    of the views whose caches are cleared.
    """
    if dry_run:
        return [
            preview(database, views, user, its, keep_texts=keep_texts, now=now)
            for user, its in selected.items()
        ]
    receipts: list[Receipt] = []
    try:
        for user, its in selected.items():
            receipts.append(_remove(database, views, user, its, keep_texts=keep_texts, now=now, also=also))
    finally:
        purged = purge(database)
    return [ended(database, receipt, purged=purged) for receipt in receipts]


def clear_caches_if_stale(database: Database) -> None:
    """Let go of keys of users, and of cached data and texts if another process has forgotten something.

    The user's next recall here drops the data, too, but may never come. Keys are fetched again when they are
    needed: of a user of whom nothing is cached, nothing else tells that theirs was destroyed.
    """
    if database.keyring is not None:
        database.keyring.let_go()
    with database.read() as connection:
        is_stale = drop_forgotten({user: log.state(connection, user) for user in users_held()})
    if is_stale:
        forget_texts()


def ended(database: Database, receipt: Receipt, *, purged: bool) -> Receipt:
    """Complete a receipt with the outcome of the purge."""
    nothing_to_purge = not receipt.seqs and not database.purge_waits()
    purged = (receipt.purged and (purged or nothing_to_purge)) or bool(receipt.key)
    remains = database.remains if receipt.purged else _NOT_DELETED
    return replace(receipt, purged=purged, remains="" if purged else remains)


def preview(
    database: Database,
    views: Sequence[ViewStore],
    user: str,
    selected: Selector,
    *,
    keep_texts: bool,
    now: datetime | None,
) -> Receipt:
    """Return the receipt of a dry run."""
    with damage_is_named(database, user, views), database.read(user) as connection:
        seqs, texts, lost = _planned(connection, views, user, selected, keep_texts=keep_texts)
    note_read(database, user, len(seqs))
    return Receipt(user, True, tuple(seqs), lost, purged=False, time=now, texts=texts)


def _planned(
    connection: Connection, views: Sequence[ViewStore], user: str, selected: Selector, *, keep_texts: bool
) -> _Gone:
    seqs = _select(connection, user, selected)
    texts = texts_at(connection, user, seqs) if keep_texts else ()
    return (
        seqs,
        texts,
        tuple(Removed(view.name, view.preview_forget(connection, user, seqs)) for view in views),
    )


def _remove(
    database: Database,
    views: Sequence[ViewStore],
    user: str,
    selected: Selector,
    *,
    keep_texts: bool,
    now: datetime | None,
    also: Sequence[ViewStore],
) -> Receipt:
    """Remove messages and clear the views' caches; `purged` is True if only the purge is left to do."""
    planned = partial(_planned, views=views, user=user, selected=selected, keep_texts=keep_texts)

    def remove(connection: Connection) -> tuple[_Gone, bool]:
        is_same = log.state(connection, user).version == version
        gone = plan if is_same else planned(connection)
        seqs = gone[0]
        at_once = forgetting_steps.fits_in_one(connection, database, user, seqs)
        if at_once:
            for view in views:
                view.forget(connection, user, seqs)
            log.remove(connection, user, seqs)
        else:
            forgetting_steps.note(connection, user, seqs)
        if (selected.everything and drop_named_sessions(connection, user)) or seqs:
            database.purge_is_due(connection)
        return gone, at_once

    with damage_is_named(database, user, views):
        with database.read(user) as connection:
            damaged = log.damaged(connection, user, _select(connection, user, selected))
        if damaged:
            _write(database, user, lambda connection: log.empty(connection, user, damaged))
        with database.read(user) as connection:  # outside of the write lock: it may take long
            version, plan = log.state(connection, user).version, planned(connection)
        (seqs, texts, removed), at_once = _write(database, user, remove)
        if not at_once:
            forgetting_steps.finish(database, views, user)
    if not seqs:  # one that was interrupted may have left what was saved
        return Receipt(user, False, (), removed, refreshed(database, (), user), time=now)
    forget_texts()
    purged = refreshed(database, (*views, *also), user)
    return Receipt(user, False, tuple(seqs), removed, purged, time=now, texts=texts)


def refreshed(database: Database, views: Sequence[ViewStore], user: str) -> bool:
    """Clear what views hold of the user, and delete released saved indexes; False if that has to wait."""
    try:
        for view in views:
            with database.read(user) as connection:
                generation = serving(connection, user, view)
            with damage_is_named(database, user, [view]):
                view.refresh(database, user, generation)
        database.saved.sweep(user)
    except StorageError as error:  # the messages are gone: the caller gets the receipt anyway
        _logger.warning("the caches of the views could not be cleared yet: %s", error)
        return False
    return True


def _write(database: Database, user: str, work: Callable[[Connection], T]) -> T:
    return forgetting_steps.in_room(database, lambda: database.transact(work, user))


def finish(database: Database, views: Callable[[], Sequence[ViewStore]], user: str) -> None:
    """Finish an interrupted forgetting of the user, before anybody reads."""
    forgetting_steps.finish(database, views(), user)


def finish_all(database: Database, views: Callable[[], Sequence[ViewStore]]) -> None:
    """Finish interrupted forgettings of all users, and purge the files."""
    if forgetting_steps.finish_all(database, views):
        purge(database)


def purge(database: Database) -> bool:
    """Purge deleted text from the files; True if none is left. Does nothing if there was none."""
    try:
        return database.wipe()
    except StorageError as error:  # as above
        _logger.warning("the files could not be purged yet: %s", error)
        return False
    finally:
        database.keep_reserve()


def texts_of(message: Message) -> Iterator[str]:
    """Yield the texts of a message and its metadata, except what memory itself wrote there."""
    yield message.content
    yield from (text for text in (message.name, message.id, message.session) if text)
    for name, value in message.metadata.items():
        if name not in OWN_METADATA:
            yield name
        if name != CORRECTS:  # seqs, ids and a role
            yield from _strings(value)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield str(name)
            yield from _strings(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _strings(inner)


def texts_at(connection: Connection, user: str, seqs: Sequence[int]) -> tuple[str, ...]:
    """Return the texts of messages, each once, in the order of the messages."""
    messages = log.fetch(connection, user, seqs)
    texts = (text for seq in seqs if seq in messages for text in texts_of(messages[seq]))
    return tuple(dict.fromkeys(texts))


def _select(connection: Connection, user: str, selected: Selector) -> list[int]:
    """Return the selected seqs and those of edits that quote them."""
    if selected.seqs is not None:
        seqs = sorted(log.present(connection, user, selected.seqs))
    else:
        seqs = log.seqs_where(connection, user, session=selected.session, before=selected.before)
    return sorted({*seqs, *log.quoting(connection, user, seqs)})
