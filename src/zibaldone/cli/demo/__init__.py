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

from rich.console import Console

from zibaldone.api.memory import Memory
from zibaldone.cli.demo import show
from zibaldone.cli.demo.sample import CONVERSATION, NOW, USER, DemoAnswer, questions
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


def run(console: Console, folder: Path | None = None) -> list[DemoAnswer]:
    """Import the sample, ask, show. Without a folder, in a temporary one that is gone afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="zibaldone-demo-") as temporary:
            return run(console, Path(temporary))
    with Memory.from_env(folder) as memory:
        memory.admin.count_tokens("")  # loads the tokenizer, so that what is timed below is the work alone
        started = time.perf_counter()
        with as_file(CONVERSATION) as sample:
            memory.user(USER).import_(sample)
        memory.maintain(user=USER)
        import_ms = (time.perf_counter() - started) * 1000
        messages = memory.messages(user=USER)
        full_tokens = memory.admin.count_tokens(show.full_context(messages))
        show.opening(console, messages, full_tokens, import_ms)
        seqs = {str(message.id): message.seq for message in messages}
        answers = []
        for number, question in enumerate(questions(), 1):
            started = time.perf_counter()
            recall = memory.recall(question.question, user=USER, budget_tokens=BUDGET_TOKENS, now=NOW)
            ms = (time.perf_counter() - started) * 1000
            phrases = {seqs[given]: phrase for given, phrase in question.evidence.items()}
            answers.append(DemoAnswer(question, recall, phrases, ms))
            show.recalled(console, number, answers[-1], full_tokens)
        show.changed(console, CHANGE, _change(memory))
        show.closing(console, answers, memory.forget(user=USER, session=FORGET_SESSION, dry_run=True))
    return answers


def _change(memory: Memory) -> Recall:
    """Recall after the change, and forget that again, so that the demo can be run again."""
    (stored,) = memory.add(CHANGE, user=USER)
    memory.maintain(user=USER)
    recall = memory.recall(AFTER_CHANGE, user=USER, budget_tokens=CHANGE_TOKENS, now=NOW)
    memory.forget(user=USER, seqs=[stored.seq])
    return recall
