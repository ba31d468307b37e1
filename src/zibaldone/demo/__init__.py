"""Ten questions to seven months of one person's conversations, with nothing but what was installed.

A demo and no measurement: the questions are chosen to show what recall does. `bench` measures.
`conversation.jsonl` is the sample, written for this purpose, in the format that `export` writes.
`questions.jsonl` has the questions; each names the messages that hold its answer and the phrase in each.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict
from importlib.resources import as_file
from pathlib import Path
from statistics import mean, median

from rich.console import Console

from zibaldone.core import Message
from zibaldone.demo import show
from zibaldone.demo.sample import CONVERSATION, USER, Asked, ask, questions
from zibaldone.memory import Memory

BUDGET_TOKENS = 300
WHY_NOT = "01-09"  # the id of a message about the coffee of earlier, which the recall on coffee leaves out
FORGET_SESSION = "27"  # a sick cat: something that somebody may not want to be kept


def run(console: Console, folder: Path | None = None, *, as_json: bool = False) -> show.Figures:
    """Import the sample, ask, show. Without a folder, in a temporary one that is gone afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="zibaldone-demo-") as temporary:
            return run(console, Path(temporary), as_json=as_json)
    with Memory(folder) as memory:
        memory.count_tokens("")  # loads the tokenizer, so that what is timed below is the work alone
        started = time.perf_counter()
        with as_file(CONVERSATION) as sample:
            memory.import_(sample, user=USER)
        import_ms = (time.perf_counter() - started) * 1000
        messages = memory.messages(user=USER)
        seqs = {str(message.id): message.seq for message in messages}
        full_tokens = memory.count_tokens(show.full_context(messages))
        if not as_json:
            show.opening(console, messages, full_tokens, import_ms)
        outcomes = []
        for number, question in enumerate(questions(), 1):
            outcomes.append(ask(memory, question, seqs, BUDGET_TOKENS))
            if not as_json:
                show.recalled(console, number, outcomes[-1], full_tokens)
        figures = _figures(messages, outcomes, full_tokens, import_ms, folder)
        if as_json:
            answers = [_plain(one) for one in outcomes]
            console.print_json(data={**asdict(figures), "budget_tokens": BUDGET_TOKENS, "asked": answers})
            return figures
        (left_out,) = (message for message in messages if message.id == WHY_NOT)
        coffee = next(one.recall for one in outcomes if "coffee" in one.question.question)
        why_not = coffee.why_not(left_out.seq)
        receipt = memory.forget(user=USER, session=FORGET_SESSION, dry_run=True)
        show.closing(console, left_out, why_not, receipt, FORGET_SESSION, figures)
    return figures


def _figures(
    messages: list[Message], outcomes: list[Asked], full_tokens: int, import_ms: float, folder: Path
) -> show.Figures:
    return show.Figures(
        messages=len(messages),
        sessions=len({message.session for message in messages}),
        import_ms=import_ms,
        questions=len(outcomes),
        right=sum(one.right for one in outcomes),
        mean_tokens=mean(one.recall.tokens for one in outcomes if one.question.evidence),
        full_tokens=full_tokens,
        p50_ms=median(one.ms for one in outcomes),
        folder_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
    )


def _plain(outcome: Asked) -> dict[str, object]:
    recalled = [{"seqs": e.sources, "session": e.session, "text": e.text} for e in outcome.recall.evidence]
    return {
        **asdict(outcome.question),
        "right": outcome.right,
        "tokens": outcome.recall.tokens,
        "ms": outcome.ms,
        "recalled": recalled,
    }
