"""Ten questions to seven months of one person's conversations, with nothing but what was installed.

A demo and no measurement: the questions are chosen to show what recall does and what it misses.
`conversation.jsonl` is the sample, written for this purpose, in the format that `export` writes.
`questions.jsonl` has the questions; each names the messages that hold its answer and the phrase in each.
Some are among the hard ones that `benchmarks.pin` asks.
"""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from importlib.resources import as_file
from pathlib import Path
from statistics import mean, median

from rich.console import Console

from zibaldone.api.memory import Memory
from zibaldone.cli.demo import show
from zibaldone.cli.demo.sample import CONVERSATION, NOW, USER, ask, questions
from zibaldone.core import Message
from zibaldone.recall.result import Recall

BUDGET_TOKENS = 300
# Said in the demo and forgotten again: something that was so is so no longer.
CHANGE = Message(
    "My boss is Saskia now, Ruud moved to Groningen.",
    name="Leonie",
    time=datetime(2025, 4, 8, 9, tzinfo=UTC),
    session="33",
    id="change",
)
AFTER_CHANGE = "Who is my boss?"
CHANGE_TOKENS = 180
FORGET_SESSION = "27"  # a sick cat: something that somebody may not want to be kept


def run(console: Console, folder: Path | None = None) -> show.Figures:
    """Import the sample, ask, show. Without a folder, in a temporary one that is gone afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="zibaldone-demo-") as temporary:
            return run(console, Path(temporary))
    with Memory.from_env(folder) as memory:
        memory.admin.count_tokens("")  # loads the tokenizer, so that what is timed below is the work alone
        started = time.perf_counter()
        with as_file(CONVERSATION) as sample:
            memory.user(USER).import_(sample)
        import_ms = (time.perf_counter() - started) * 1000
        started = time.perf_counter()
        memory.maintain(user=USER)
        maintain_ms = (time.perf_counter() - started) * 1000
        messages = memory.messages(user=USER)
        seqs = {str(message.id): message.seq for message in messages}
        full_tokens = memory.admin.count_tokens(show.full_context(messages))
        show.opening(console, messages, full_tokens, import_ms, maintain_ms)
        outcomes = []
        for number, question in enumerate(questions(), 1):
            outcomes.append(ask(memory, question, seqs, BUDGET_TOKENS))
            show.recalled(console, number, outcomes[-1], full_tokens)
        figures = show.Figures(
            messages=len(messages),
            questions=len(outcomes),
            right=sum(outcome.right for outcome in outcomes),
            missed=tuple(outcome.question.question for outcome in outcomes if not outcome.right),
            mean_tokens=mean(outcome.recall.tokens for outcome in outcomes if outcome.recall),
            full_tokens=full_tokens,
            p50_ms=median(outcome.ms for outcome in outcomes),
            folder_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        )
        show.changed(console, CHANGE, _change(memory))
        receipt = memory.forget(user=USER, session=FORGET_SESSION, dry_run=True)
        show.closing(console, [outcome.recall for outcome in outcomes], receipt, FORGET_SESSION, figures)
    return figures


def _change(memory: Memory) -> Recall:
    """Recall after the change, and forget that again, so that the demo can be run again."""
    (stored,) = memory.add(CHANGE, user=USER)
    memory.maintain(user=USER)
    recall = memory.recall(AFTER_CHANGE, user=USER, budget_tokens=CHANGE_TOKENS, now=NOW)
    memory.forget(user=USER, seqs=[stored.seq])
    return recall
