"""Every view and setting on a user's own log: the benchmarks' runner and table, and nobody else's data.

Each system takes the log in anew, in a folder inside the memory's own, which is gone afterwards: what the
memory itself made is neither used nor changed, and a copy that a crash leaves is where `verify` looks.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from zibaldone.bench.base import Equipment
from zibaldone.bench.outcome import Progress, silent
from zibaldone.bench.own.questions import MOST_OF_A_KIND, OwnQuestions, made_questions, read_questions
from zibaldone.bench.report import LONGEST_FULL_TOKENS, RecallRow, make_rows, tables, that_fit
from zibaldone.bench.runner import run
from zibaldone.bench.systems import check_systems
from zibaldone.errors import InvalidInput
from zibaldone.memory import Memory
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage.encryption import KEY_BYTES

SYSTEMS = ("bm25", "dense", "rag", "messages", "zibaldone", "chunks", "topics-h", "hierarchy")
BUDGETS_TOKENS = (250, 500, 1000)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How much of the evidence each system recalls, in how many tokens, on one user's log."""

    user: str
    messages: int
    questions: tuple[tuple[str, str], ...]  # (kind, question), in the order in which they were put
    are_made: bool  # from the log; False: they are the user's
    rows: tuple[RecallRow, ...]
    notes: tuple[str, ...]

    def tables(self) -> list[Table]:
        """As the benchmarks print them."""
        return tables(f"log of {self.user}", self.rows)


def compare(
    memory: Memory,
    user: str,
    *,
    questions: Path | None = None,
    systems: Sequence[str] = SYSTEMS,
    budgets_tokens: Sequence[int] = BUDGETS_TOKENS,
    most_of_a_kind: int = MOST_OF_A_KIND,
    progress: Progress = silent,
) -> Comparison:
    """Ask each system at each budget; `questions` is a file of the user's, else they are made from the log.

    With the memory's own embedder, and no chat model. Raises InvalidInput, and UnknownName for a system.
    """
    check_systems(systems)
    stored = memory.messages(user=user)
    if not stored:
        raise InvalidInput(f"user {user!r} has no messages: nothing to compare on")
    if questions is not None:
        examples = read_questions(questions, user, stored)
    else:
        examples = made_questions(user, stored, most_of_a_kind)
    data = OwnQuestions([replace(message, seq=0) for message in stored], examples)
    with tempfile.TemporaryDirectory(dir=memory.path, prefix="comparing-") as folder:
        tokenizer = shared_static_embedder()
        own = memory._embedder  # noqa: SLF001 - what it recalls with
        key = secrets.token_bytes(KEY_BYTES) if memory.encrypted else None  # gone with the copies
        tools = Equipment(own, tokenizer, Path(folder), key=key)
        fitting, notes = that_fit(data, [user], systems, tools, LONGEST_FULL_TOKENS)
        records = run(data, fitting, budgets_tokens, tools, progress=progress)
    put = tuple((example.category, example.question) for example in examples)
    rows = make_rows(data, records)
    return Comparison(user, len(stored), put, questions is None, rows, notes)
