"""What a view is.

A view reads the log in the order of seqs and keeps, per user, units made from it. It owns its tables and
nothing else. Its output is a function of the log and of its `fingerprint`: built in one go or message by
message, once or again after a crash, the same units come out. Every unit names the seqs it was made from.

The driver (maintenance.py) owns cursors and transactions: it calls `prepare` outside any transaction and
then `commit` in one that also moves the cursor, so a crash in between repeats work and never doubles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import Connection

from commonplace.core import Evidence, Explains, Message, Scope


@dataclass(frozen=True, slots=True)
class Query:
    """One question, as every view gets it."""

    text: str
    scope: Scope
    budget_tokens: int
    now: datetime  # what "last week" in the question is relative to


@dataclass(frozen=True, slots=True)
class Generation:
    """One build of a view for one user. A rebuild makes the next one while the serving one serves."""

    user: str
    number: int
    fingerprint: str
    cursor: int  # every message up to this seq has been read


@dataclass(frozen=True, slots=True)
class Offer:
    """What a view has to say on a query."""

    evidence: tuple[Evidence, ...]  # best first; about as many as twice the budget can hold
    considered: int  # units scored
    relevance: float  # how much of the query the view knows of: about 0 for nothing, 1 for all
    explain: Explains
    note: str = ""  # in words, when something was degraded or cut
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class Counted:
    """How many rows of one kind a view holds, or removed."""

    kind: str
    rows: int


class View(Protocol):
    """See the module's text. No method opens, commits or rolls back a transaction."""

    @property
    def name(self) -> str:
        """The word by which recall(views=[...]) asks for it."""

    @property
    def fingerprint(self) -> str:
        """All that the output depends on besides the log; another one means another generation."""

    def prepare(self, messages: Sequence[Message], progress: Callable[[int], None] | None = None) -> Any:
        """The slow part of reading these messages: models may be asked. Reads and writes no table.

        `progress` gets the number of messages done so far. The result is handed to `commit` with the same
        messages, by then stored. Raises ModelFailed when the view cannot go on without a model that does not
        answer.
        """

    def commit(
        self, connection: Connection, generation: Generation, messages: Sequence[Message], prepared: Any
    ) -> None:
        """Write the units of these messages, which follow the generation's cursor."""

    def offer(self, connection: Connection, generation: Generation | None, query: Query) -> Offer:
        """Candidates for a query, from the generation and from the log's tail behind its cursor."""

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove all that was made from these messages, in every generation; says what went."""

    def refresh(self, connection: Connection, user: str, generation: Generation | None) -> None:
        """Bring what is held in memory in step with the tables; called when a forgetting was committed."""

    def affected(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What `forget` would remove; changes nothing."""

    def drop(self, connection: Connection, generation: Generation) -> None:
        """Remove one generation whole."""

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Rows the view holds for the user, by kind."""

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Where the view's rows disagree with the log up to the cursor; empty when they agree."""
