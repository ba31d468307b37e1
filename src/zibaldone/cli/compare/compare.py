"""Every view and setting on a user's own log.

Each system takes the log in anew, in a folder inside the memory's own, which is gone afterwards: what the
memory itself made is neither used nor changed, and a copy that a crash leaves is where `verify` looks.
"""

from __future__ import annotations

import secrets
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean, median

from zibaldone.api.memory import Memory
from zibaldone.cli.compare.evidence import Mean, share_found
from zibaldone.cli.compare.questions import OwnQuestion, made_questions, read_questions
from zibaldone.cli.compare.systems import Equipment, check_systems, make_system
from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.storage.encryption import KEY_BYTES

SYSTEMS = ("bm25", "hybrid", "messages", "zibaldone", "chunks", "topics", "hierarchy")
BUDGETS_TOKENS = (250, 500, 1000)


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One system at one budget."""

    system: str
    budget_tokens: int
    evidence_recall: Mean | None  # share of a question's evidence; None where no question has any
    by_kind: dict[str, Mean | None]
    tokens_mean: float  # of the recalled texts
    recall_ms: float  # median


@dataclass(frozen=True, slots=True)
class Comparison:
    """Share of the evidence that each system recalls, in how many tokens, on one user's log."""

    user: str
    messages: int
    questions: tuple[tuple[str, str], ...]  # (kind, question), in the order in which they were put
    are_made: bool  # from the log; False: they are the user's
    rows: tuple[ComparedRow, ...]


def compare(
    memory: Memory,
    user: str,
    *,
    questions: Path | None = None,
    systems: Sequence[str] = SYSTEMS,
    budgets_tokens: Sequence[int] = BUDGETS_TOKENS,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
) -> Comparison:
    """Ask each system at each budget; `questions` is a file of the user's, else they are made from the log.

    With the memory's own embedder, and no chat model. Raises InvalidInput, and UnknownName for a system.
    """
    check_systems(systems)
    stored = memory.messages(user=user)
    if not stored:
        raise InvalidInput(f"user {user!r} has no messages: nothing to compare on")
    own = read_questions(questions, stored) if questions else made_questions(stored)
    rows: list[ComparedRow] = []
    memory.path.mkdir(parents=True, exist_ok=True)  # beside a database on a server there may be none yet
    with tempfile.TemporaryDirectory(dir=memory.path, prefix="comparing-") as folder:
        key = secrets.token_bytes(KEY_BYTES) if memory.admin.encrypted else None  # gone with the copies
        embedder = memory._wiring.embedder  # noqa: SLF001 - what it recalls with
        tools = Equipment(embedder, Path(folder), key=key)
        for done, name in enumerate(systems):
            progress(done, len(systems))
            rows += _rows(name, tools, stored, own, budgets_tokens)
    put = tuple((question.kind, question.text) for question in own)
    return Comparison(user, len(stored), put, questions is None, tuple(rows))


def _rows(
    name: str,
    tools: Equipment,
    stored: Sequence[Message],
    questions: Sequence[OwnQuestion],
    budgets: Sequence[int],
) -> Iterator[ComparedRow]:
    system = make_system(name, tools)
    try:
        system.take(stored)
        system.recall(questions[0].text, budgets[0], questions[0].now)  # untimed: the first pays for all
        for budget in budgets:
            shares: dict[str, list[float | None]] = defaultdict(list)  # by kind
            tokens, times = [], []
            for question in questions:
                began = time.perf_counter()
                recalled = system.recall(question.text, budget, question.now)
                times.append((time.perf_counter() - began) * 1000)
                tokens.append(recalled.tokens)
                known = share_found(question.evidence, recalled.units) if question.evidence else None
                shares[question.kind].append(known)
            by_kind = {kind: Mean.of(values) for kind, values in shares.items()}
            everything = Mean.of(chain.from_iterable(shares.values()))
            yield ComparedRow(name, budget, everything, by_kind, fmean(tokens), median(times))
    finally:
        system.close()
