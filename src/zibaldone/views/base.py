"""The contract of a view, in the order of a view's life. docs/extending.md has a complete one: read it first.

A view reads the log in the order of seqs and keeps, per user, units made from it. It owns its tables and
nothing else. Its output is a function of the log and of its `fingerprint`: built in one go or message by
message, once or again after a crash, the same units come out. Every unit names the seqs it was made from.

    prepare      a batch of messages past the cursor; slow, outside any transaction, models may be asked
    commit       what was prepared, in one transaction that also moves the cursor: a crash in between repeats
                 work and never doubles it (maintenance.py drives both)
    retrieve     candidates for a question, which recall has read and embedded (search/question.py), in short
                 snapshots of its own: no model is waited for inside one
    housekeep    when all is read: merges, moves, whatever puts in order what is kept
    forget       in the transaction that deletes messages: all that was made from them, in every generation
    refresh      after it: what was forgotten leaves memory and files
    drop         a generation, when a rebuild's takes its place

`stats`, `faults` and `preview_forget` look and change nothing, and so does `contents`, which a view has whose
generations can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from sqlalchemy import Connection

from zibaldone.core import Evidence, Explains, Message
from zibaldone.log import UserState
from zibaldone.search.question import Question
from zibaldone.storage.database import Database


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of a view for one user. A rebuild makes the next one while the serving one serves."""

    user: str
    number: int
    fingerprint: str
    cursor: int  # every message up to this seq has been read
    chosen_over: str | None = (
        None  # the fingerprint over which a person chose it: nobody makes that one again
    )
    chat: str = ""  # the name of the chat model that a rebuild was given


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One unchanging look at a user's rows, as short as what is read in it: nobody is asked meanwhile."""

    connection: Connection
    generation: Generation | None  # the one that serves; None: the view has made nothing for this user yet
    state: UserState


TakeSnapshot = Callable[[], AbstractContextManager[Snapshot]]


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A view's answer to a question."""

    evidence: tuple[Evidence, ...]  # best first; about as many as twice the budget can hold
    considered: int  # units scored
    confidence: float  # a score, 0 to 1, of whether the view can answer
    explain: Explains
    note: str = ""  # in words, when something was degraded or cut
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class PrepareContext:
    """Reads that are open to a view that builds on what it made before, while it prepares."""

    user: str
    generation: Generation | None  # None: the view has made nothing for this user yet
    read: Callable[[], AbstractContextManager[Connection]]
    patient: bool = False  # True: a model that is down is waited for; else offline answers stand in
    at_once: bool = False  # True: somebody waits for all of it, so that nothing is left for a better moment


class Stale(Exception):
    """Raised by `commit`: what was prepared goes on from what is not there any more. Prepare again."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A number of rows of one kind, held or removed."""

    kind: str
    rows: int


@dataclass(frozen=True, slots=True, order=True)
class Content:
    """One statement of a generation, to be compared with another generation's."""

    sources: tuple[int, ...]  # seqs of the messages that it was made from, rising
    kind: str
    text: str


class ViewStore(Protocol):
    """The stored part of a view: what forgetting, counting and checking need, without its model.

    Only `refresh` opens transactions; nothing here commits or rolls one back.
    """

    @property
    def name(self) -> str:
        """The word by which recall(views=[...]) asks for it."""

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove all that was made from these messages, in every generation; says what went."""

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Take what was forgotten out of memory and out of files; called when a forgetting was committed."""

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Count what `forget` would remove; change nothing."""

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation whole."""

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Rows the view holds for the user, by kind."""

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """List where the view's rows disagree with the log up to the cursor; empty when they agree."""


class View(ViewStore, Protocol):
    """See the module's text. `retrieve`, `housekeep` and `refresh` open transactions; none ends one."""

    batch_messages: int  # prepared and committed together at most: what a crash makes it do again

    @property
    def fingerprint(self) -> str:
        """A name for all that the output depends on besides the log; another one means another generation."""

    @property
    def tended_from(self) -> int:
        """The seq that the view must have read before `housekeep` finds anything to do."""

    @property
    def reads_whole(self) -> bool:
        """True for an index, which gets all of a message; others get as much as `text.bounds.as_read`."""

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> Any:
        """The slow part of reading these messages: models may be asked. Writes no table.

        The result is handed to `commit`, with the seqs that the messages have by then; what was read through
        `basis` has not changed by then. None without a basis from a view that needs one. Raises ModelFailed
        when the view cannot go on without a model that does not answer.
        """

    def commit(
        self, connection: Connection, generation: Generation, seqs: Sequence[int], prepared: Any
    ) -> None:
        """Write what was prepared of messages, which follow the generation's cursor. Raises Stale."""

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """Candidates for a question, from the serving generation and from the log's tail past its cursor.

        The question comes read: its words, speakers, days and aim are the same for all views, and nobody
        reads its text for them again. It has a vector by the memory's embedder; a view whose build uses
        another one takes `question.embedded(its embedder)` first. What else is needed is read in snapshots;
        models, embedders included, are asked with no snapshot open and no lock held. What is forgotten
        meanwhile is left out by the caller, by its sources.
        """

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Put in order what the view keeps; says what it did. Outside any transaction, when all is read."""

    def due(self, connection: Connection, user: str | None = None) -> set[str]:
        """Users, or the one given, of whom `housekeep` may find work though their versions are as they were.

        One look at everybody, since workers take it every few seconds.
        """


class WarmedView(View, Protocol):
    """A view that keeps something of a user in memory, which a recall brings up to date first."""

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Do that now."""


@runtime_checkable
class SavingView(View, Protocol):
    """A view that saves what other processes may begin with, also for those who never maintain."""

    def is_due(self, user: str, last_seq: int) -> bool:
        """True if so much was added since it was saved that `save` may find that worth saving."""

    def save(self, database: Database, generation: Generation, added: int | None) -> None:
        """Save what is new, while somebody who added so many messages waits; None: nobody does."""


@runtime_checkable
class SheddingView(ViewStore, Protocol):
    """A view that forgets a part of some messages as well as all of it, and one message after another."""

    def shed(self, connection: Connection, user: str, seqs: Sequence[int], most: int) -> int:
        """Remove `most` of the rows that stand on these messages; fewer where `forget` finds few left."""


@runtime_checkable
class ComparedView(View, Protocol):
    """A view of which two generations can be held against each other."""

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """List all that the snapshot's generation says; nothing where it has none."""


class RestingView:
    """Defaults of a view that keeps nothing in memory and has nothing to put in order."""

    batch_messages = 512
    reads_whole = False

    @property
    def tended_from(self) -> int:
        """The first message."""
        return 0

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:
        """Nothing is in memory or in files."""

    def housekeep(
        self,
        database: Database,  # noqa: ARG002
        generation: Generation,  # noqa: ARG002
        *,
        patient: bool = False,  # noqa: ARG002
    ) -> tuple[Counted, ...]:
        """Nothing is kept but rows."""
        return ()

    def due(self, connection: Connection, user: str | None = None) -> set[str]:  # noqa: ARG002
        """Nobody."""
        return set()
