"""Evidence in the recalled text with a reranker and without, question by question.

    python -m benchmarks.rerank locomo PATH [--reranker chat] [--questions 60] [--record DIR]

The reranker is one of `Memory`'s by its name, the embedder the ZIBALDONE_EMBED_MODEL. "chat" is the
ZIBALDONE_CHAT_MODEL, whose answers are kept in the folder of `--record`; where none is named the questions
are left open there, for anybody to answer: below `# Reply` on the page, or as `benchmarks.hand_model` says.
Then the same command counts them.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from benchmarks.chat import chat_model
from benchmarks.data import Conversation, load
from benchmarks.read import sample
from zibaldone import Memory, Recall
from zibaldone.api import settings
from zibaldone.cli.compare.evidence import Mean, share_found
from zibaldone.cli.compare.systems import units_of

_USER = "u"


def measure(
    conversations: list[Conversation], reranker: str, budgets: list[int], record: Path | None
) -> list[tuple[int, float, float, Recall]]:
    """Per question and budget: it, evidence without the reranker and with it, and the recall with it."""
    chat, embedder = chat_model(record, "leave_open"), settings.embedder()
    measured = []
    for conversation in conversations:
        asked = [question for question in conversation.questions if conversation.evidence(question)]
        asked.sort(key=lambda question: question.visible)
        with (
            TemporaryDirectory(prefix="zibaldone-bench-") as folder,
            Memory(folder, embedder=embedder) as plain,
            Memory(folder, embedder=embedder, chat=chat, reranker=reranker) as ordered,
        ):
            for before, question in pairwise((None, *asked)):
                assert question is not None
                new = conversation.messages[before.visible if before else 0 : question.visible]
                plain.add(new, user=_USER)
                wanted = conversation.evidence(question)
                for budget in budgets:
                    recalls = [
                        memory.recall(
                            question.text,
                            user=_USER,
                            budget_tokens=budget,
                            now=question.asked_at,
                            min_confidence=0,
                        )
                        for memory in (plain, ordered)
                    ]
                    shares = [share_found(wanted, units_of(recall)) for recall in recalls]
                    measured.append((budget, shares[0], shares[1], recalls[1]))
    return measured


def main(
    data: Annotated[str, typer.Argument(help="locomo, beam, realmem or longmemeval")],
    path: Path,
    reranker: str = "chat",
    questions: Annotated[int | None, typer.Option(help="A sample, always the same; else all.")] = None,
    budgets: Annotated[str, typer.Option(help="Tokens, with commas.")] = "500,1000,2000",
    record: Path | None = None,
) -> None:
    """Print a line for each budget."""
    tokens = [int(budget) for budget in budgets.split(",")]
    measured = measure(sample(load(data, path), questions), reranker, tokens, record)
    for budget in tokens:
        rows = [row for row in measured if row[0] == budget]
        lines = [next(v for v in row[3].trace.views if v.view.startswith("reranker")) for row in rows]
        good = [row for row, line in zip(rows, lines, strict=True) if not line.note]
        means = [Mean.of(value) for value in zip(*((a, b, b - a) for _, a, b, _ in good), strict=True)]
        shown = " ".join(f"{mean.value:.3f} +- {mean.error:.3f}" for mean in means if mean)
        ms = median(line.ms for line in lines)
        print(f"{budget} tokens, {len(good)} questions: without, with, difference {shown}; {ms:.0f} ms")
        if len(good) < len(rows):
            print(f"  {len(rows) - len(good)} stayed as they were: {lines[-1].note or 'see the trace'}")


if __name__ == "__main__":
    typer.run(main)
