"""Admin: the work of whoever runs a memory: imports, retention, figures, checks, the worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, TypeVar

from zibaldone.api.config import LONGEST_S
from zibaldone.api.wiring import Wiring
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import (
    Key,
    TimeLike,
    count,
    file_path,
    flag,
    function,
    key,
    members,
    number,
    option,
    to_time,
    type_of,
    whole_text,
    words,
)
from zibaldone.engine import forgetting, inspection
from zibaldone.engine.forgetting import Receipt
from zibaldone.engine.imports import Imported, import_source
from zibaldone.engine.ingest import Progress
from zibaldone.engine.inspection import Integrity, Stats
from zibaldone.engine.leases import LEASE_S, Leases
from zibaldone.engine.verification.receipts import Verification, read_receipt, write_receipt
from zibaldone.engine.verification.verifying import verify
from zibaldone.engine.worker import TURN_S, BackgroundWorker
from zibaldone.errors import InvalidInput, StorageError
from zibaldone.importers.base import Branches, DateOrder
from zibaldone.importers.importing import reading
from zibaldone.importers.source import opened_source
from zibaldone.log import grants
from zibaldone.log import retention as retaining
from zibaldone.log.audit import AuditEntry, audited, entries, note, note_read
from zibaldone.log.grants import Grant
from zibaldone.log.retention import Retention
from zibaldone.models.base import Tokenizer
from zibaldone.models.meter import Usage
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage.database import Database
from zibaldone.views.base import View

# How long a user is quiet before the background reads what they said, or has talked: until then a recall
# reads it, and a step that takes in ten turns costs as much as a step for one.
GATHER_S = 2.0
_logger = logging.getLogger(__name__)
V = TypeVar("V", bound=View)


class Admin:
    """The work of whoever runs a memory."""

    def __init__(self, wiring: Wiring) -> None:
        """Use `memory.admin`."""
        self._wiring, self._database = wiring, wiring.database

    @property
    def encrypted(self) -> bool:
        """True if all that the memory keeps in its folder is encrypted."""
        return self._database.encrypted

    @property
    def place(self) -> str:
        """The folder, or the URL without its password, for people."""
        return self._database.name if self._database.shared else str(self._database.folder)

    @property
    def is_embedded(self) -> bool:
        """True if a recall waits for nothing outside of the process: neither a server's rows nor a model."""
        wiring = self._wiring
        own = wiring.embedder is shared_static_embedder() and wiring.reranker is None
        return own and not self._database.shared

    @property
    def can_ask(self) -> bool:
        """True if the memory has a chat model, which `ask` needs unless it is given one."""
        return self._wiring.asker.has_model

    def start_worker(
        self,
        *,
        threads: int = 2,
        poll_s: float = 60.0,
        lease_s: float = LEASE_S,
        turn_s: float = TURN_S,
    ) -> None:
        """Maintain in threads from now on, as with `Config(background=True)`; `close` ends it.

        Beside workers of other processes and machines, each user by one of them; who was killed is taken over
        `lease_s` later. Every `poll_s` it is looked whose messages others have added. A user with
        much to be read has it read in turns of `turn_s`, and lets others go first after each. Raises
        InvalidInput where a worker runs already.
        """
        wiring = self._wiring
        count("threads", threads, least=1)
        number("poll_s", poll_s, least=0.05, most=LONGEST_S)
        number("lease_s", lease_s, least=0.2, most=LONGEST_S)
        number("turn_s", turn_s, least=0, most=LONGEST_S)
        if wiring.worker is not None:
            raise InvalidInput("this memory is maintained in the background already")
        try:
            self._database.saved.sweep()
        except StorageError as error:  # whoever starts next tries again
            _logger.warning("what a crash left of saved indexes was not deleted yet: %s", error)
        wiring.leases = Leases(self._database, lease_s=lease_s)
        wiring.worker = BackgroundWorker(
            wiring.maintain_in_background,
            wiring.backlog.look,
            threads=threads,
            poll_s=poll_s,
            gather_s=GATHER_S,
            turn_s=turn_s,
        )
        wiring.worker.start()

    def attach(self, make: Callable[[Database, Tokenizer], V]) -> V:
        """Let the memory drive one more view, such as a KVMemory's; returns what `make` makes.

        It is maintained, recalled by its name, forgotten and checked like the others. `make` gets the
        database, and the tokenizer that units are counted with. Raises InvalidInput for a name that is
        taken.
        """
        wiring = self._wiring
        view = make(self._database, wiring.tokenizer)
        if view.name in wiring.views:
            raise InvalidInput(f"a view {view.name!r} is attached already: detach it first")
        wiring.views[view.name] = view
        wiring.maintained.add(view.name)
        return view

    def detach(self, view: View) -> None:
        """Drive it no longer; what it made stays, and is still forgotten with its messages."""
        if self._wiring.views.get(view.name) is view:
            del self._wiring.views[view.name]
            self._wiring.maintained.discard(view.name)

    @audited("write")
    def import_(
        self,
        path: str | Path | BinaryIO,
        *,
        user: Key | None = None,
        format: str | None = None,  # noqa: A002 - the word a caller expects
        branches: Branches = "current",
        again: bool = False,
        attachments: bool = False,
        me: Collection[str] | None = None,
        dates: DateOrder | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Add the conversations of an export: a file, a folder, the archive as downloaded, or a stream.

        All of it to a `user`, who is needed where the file names none. The format is recognised by content.
        What cannot be read is in the report, with where and why, and holds nothing else up. Importing twice
        adds nothing, a message that has changed since stays as it was stored first, and one that was
        forgotten stays forgotten, unless `again`. Of conversations that were edited or retried the branch is
        taken that their program shows; `branches="all"` takes the others too. With `attachments` the bytes of
        images and files are kept where the export holds them, of what is added now. `me` are the owner's
        names in a chat of several people: what the others say is marked, and counts as nobody's own words; so
        does all of it where neither you nor the export says who the owner is, and the report asks. `dates` is
        the order of days, months and years in a chat of WhatsApp that does not show it. `progress` is called
        with bytes read and bytes in all.

        Raises InvalidImport when nothing of it can be read, InvalidInput without a user, and
        ImportInterrupted on Ctrl-C: what is complete by then is stored.
        """
        wiring, whose = self._wiring, None if user is None else key("user", user)
        flag("again", again)
        flag("attachments", attachments)
        function("progress", progress, optional=True)
        given = path if hasattr(path, "read") else file_path("path", path)
        with opened_source(given) as source:
            report = import_source(
                wiring.ingest,
                reading(source, format, branches, me, dates),
                whose,
                again=again,
                attachments=attachments,
                progress=progress,
            )
        wiring.notify(*report.users)
        return report

    def apply_retention(
        self, *, user: Key | None = None, policy: Retention | None = None, dry_run: bool = False
    ) -> list[Receipt]:
        """Forget what is to go now, of one user or of all; every maintenance does it first.

        A dry run says what would go; with a `policy`, what would go by that one.
        """
        whose = None if user is None else key("user", user)
        flag("dry_run", dry_run)
        if option("policy", policy, Retention) is not None and not dry_run:
            raise InvalidInput(
                "a policy can be tried with dry_run=True; memory.user(...).retain(policy) sets it"
            )
        return self._wiring.apply_retention(whose, policy, dry_run=dry_run)

    @audited("write")
    def verify(
        self,
        receipt: Receipt | str | Path,
        *,
        texts: Iterable[str] = (),
        also: Iterable[str | Path] = (),
    ) -> Verification:
        """Verify that nothing is left of what a receipt, or its file, says was forgotten; changes nothing.

        Every table, every byte of every file of the folder, and the exports that this memory knows of are
        searched for the receipt's texts and for these `texts`, whatever their case, spaces, Unicode form or
        escapes; and the tables for rows that refer to the messages. Without any text only the latter. `also`
        are files and folders of yours to look through, such as backups. What anybody's messages still say is
        not looked for where it may stand.

        Raises InvalidInput for the receipt of a dry run or of another memory, and StorageUnusable for a file
        that cannot be read.
        """
        wiring = self._wiring
        if not isinstance(receipt, Receipt):
            receipt = read_receipt(file_path("receipt", receipt))
        note_read(self._database, receipt.user, len(receipt.seqs))
        recordings = getattr(wiring.chat, "folder", None)  # of a recorded model: it has what was asked
        elsewhere = [recordings.absolute()] if isinstance(recordings, Path) else []
        elsewhere += (file_path("also", path).absolute() for path in members("also", also))
        return verify(
            self._database,
            wiring.stores(),
            wiring.kv,
            receipt,
            [whole_text("a text", some) for some in members("texts", texts)],
            tokens_of=shared_static_embedder().count,
            now=wiring.now(),
            elsewhere=elsewhere,
        )

    def save_receipt(self, receipt: Receipt, path: str | Path, verified: Verification | None = None) -> None:
        """Write a receipt to a file, which only its owner may read, and not inside the memory's folder.

        With what verifying it gave: then the figures are beside it, as evidence.
        """
        if not isinstance(receipt, Receipt):
            raise InvalidInput(f"receipt must be a Receipt, not {type_of(receipt)}")
        option("verified", verified, Verification)
        target = file_path("path", path)
        self._database.keep_out(target)
        write_receipt(target, receipt, verified)

    def audit(
        self, *, user: Key | None = None, since: TimeLike | None = None, newest: int | None = None
    ) -> list[AuditEntry]:
        """Who read, wrote and forgot, in the order of time: of one user or of all, the `newest` so many.

        Only what was done while audit was on.
        """
        whose = None if user is None else key("user", user)
        began = None if since is None else to_time(since, "since")
        most = None if newest is None else count("newest", newest, least=1)
        with self._database.read(whose) as connection:
            return entries(connection, whose, began, most)

    @audited("write")
    def grant(self, scope: Key, *, user: Key, write: bool = False) -> Grant:
        """Let a user read a shared memory beside their own, and with `write` write into it.

        A shared memory is a user like any other, such as "team:design": made by its first message, with a log
        and views of its own. Granting again changes what was granted. Raises InvalidInput for a name with
        characters that nobody sees, and TooMany above sixteen of one user.
        """
        grant = Grant(key("scope", scope), key("user", user), flag("write", write), self._wiring.now())
        with self._database.unlocked() as connection:
            grants.give(connection, grant)
            note(connection, grant.scope, "write", 1)
        return grant

    @audited("write")
    def revoke(self, scope: Key, *, user: Key) -> Grant:
        """Take a grant back, at once: the user's next recall has nothing of it. Raises NotGranted."""
        name, whose = key("scope", scope), key("user", user)
        with self._database.unlocked() as connection:
            grant = grants.take(connection, name, whose)
            note(connection, name, "write", 1)
        return grant

    def grants(self, *, user: Key | None = None, scope: Key | None = None) -> list[Grant]:
        """Who may read which shared memories: of one user, of one shared memory, or all."""
        whose = None if user is None else key("user", user)
        named = None if scope is None else key("scope", scope)
        with self._database.read(whose) as connection:
            if whose is None:
                return grants.all_grants(connection, named)
            own = grants.granted(connection, whose).values()
        return [grant for grant in own if named in (None, grant.scope)]

    def usage(self, *, user: Key | None = None) -> list[Usage]:
        """Calls, tokens and time of models, per user, day, view and task; of one user or of all."""
        return self._wiring.meter.usage(None if user is None else key("user", user))

    def stats(self, *, user: Key | None = None) -> Stats:
        """Count what is stored, of one user or of all."""
        whose, wiring = None if user is None else key("user", user), self._wiring
        return inspection.stats(self._database, list(wiring.views.values()), wiring.meter, whose)

    def check(self) -> Integrity:
        """Compare the database file, the log, every view and policies with each other; repairs nothing."""
        stores = self._wiring.stores()
        forgetting.finish_all(self._database, lambda: stores)
        integrity = inspection.check_integrity(self._database, stores)
        with self._database.read() as connection:
            return replace(integrity, faults=(*integrity.faults, *retaining.faults(connection)))

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, by the tokenizer that budgets are counted with."""
        return self._wiring.count_tokens(words("text", text))


class AsyncAdmin(Awaited[Admin]):
    """See Admin; every method is awaited, properties are not."""

    @property
    def encrypted(self) -> bool:
        return self._inner.encrypted

    @property
    def place(self) -> str:
        return self._inner.place

    @property
    def is_embedded(self) -> bool:
        return self._inner.is_embedded

    @property
    def can_ask(self) -> bool:
        return self._inner.can_ask

    start_worker = awaited(Admin.start_worker)
    attach = awaited(Admin.attach)
    detach = awaited(Admin.detach)
    import_ = awaited(Admin.import_)
    apply_retention = awaited(Admin.apply_retention)
    verify = awaited(Admin.verify)
    save_receipt = awaited(Admin.save_receipt)
    audit = awaited(Admin.audit)
    grant = awaited(Admin.grant)
    revoke = awaited(Admin.revoke)
    grants = awaited(Admin.grants)
    usage = awaited(Admin.usage)
    stats = awaited(Admin.stats)
    check = awaited(Admin.check)
    count_tokens = awaited(Admin.count_tokens)
