"""The demo on a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from textwrap import shorten

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zibaldone.core import Evidence, Message
from zibaldone.demo.sample import Asked
from zibaldone.forgetting import Receipt
from zibaldone.rendering import header, line

_CHARS = 72  # shown of a passage that holds no part of the answer: one line
_AROUND = 60  # characters shown on either side of a part of the answer
NEXT = """\
zibaldone import ~/Downloads/conversations.json
zibaldone recall "When is my appointment at the dentist?\""""


@dataclass(frozen=True, slots=True)
class Figures:
    """The demo in numbers."""

    messages: int
    sessions: int
    import_ms: float  # until all of it was on disk
    questions: int
    right: int
    mean_tokens: float  # over the questions that have an answer
    full_tokens: int  # of the whole conversation, rendered the same way
    p50_ms: float
    folder_bytes: int


def full_context(messages: Sequence[Message]) -> str:
    """The whole conversation as recall would render it: a header per day, a line per message."""
    rendered = []
    before = None
    for day, day_messages in groupby(messages, lambda message: _time(message).date()):
        rendered.append(header(day, before))
        rendered.extend(line(message.speaker, message.content) for message in day_messages)
        before = day
    return "\n".join(rendered)


def opening(console: Console, messages: Sequence[Message], full_tokens: int, import_ms: float) -> None:
    """What was imported."""
    sessions = len({message.session for message in messages})
    first, last = _day(_time(messages[0])), _day(_time(messages[-1]))
    console.print(
        f"\n[bold]zibaldone[/] reads what {messages[0].speaker} and an assistant said, {first} to {last}.\n"
        f"{len(messages)} messages of {sessions} sessions, {full_tokens:,} tokens:"
        f" on disk and searchable after {import_ms:.0f} ms.\n"
        "Every word is kept as it was said. No key, no model to call, no network.",
        highlight=False,
    )


def recalled(console: Console, number: int, outcome: Asked, full_tokens: int) -> None:
    """One question: every recalled passage with its date and citation, the parts of the answer marked."""
    console.print()
    console.rule(
        f"[bold]{number}. {outcome.question.question}[/]  [dim]{outcome.question.kind}[/]", align="left"
    )
    table = Table.grid(padding=(0, 1))
    for width in (1, 11, 4, 3):
        table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    for i, evidence in enumerate(outcome.recall.evidence):
        phrase = outcome.holds.get(i)
        cited = f"#{evidence.sources[0]}", f"s{evidence.session}"
        mark, style = ("[green]✓[/]", "") if phrase else ("", "dim")
        table.add_row(mark, _day(evidence.time), *cited, _passage(evidence, phrase), style=style)
    console.print(table)
    colour = "green" if outcome.right else "red"
    answer = outcome.question.answer or "nothing, it was never mentioned."
    console.print(f"  [bold]Looked for:[/] {answer}", highlight=False)
    if parts := len(outcome.question.evidence):
        verdict = f"[{colour}]{outcome.parts_held} of {parts} found[/]"
    else:
        trace = outcome.recall.trace
        verdict = f"[{colour}]{'nothing' if outcome.right else 'something'} recalled[/]"
        verdict += f" (confidence {trace.confidence:.2f}, floor {trace.floor:.2f})"
    cost = f"{outcome.recall.tokens} tokens instead of {full_tokens:,}, {outcome.ms:.1f} ms"
    console.print(f"  {verdict}[dim], {cost}[/]", highlight=False)


def closing(
    console: Console, left_out: Message, why_not: str, receipt: Receipt, session: str, figures: Figures
) -> None:
    """What else is special, the figures, and what to do next."""
    console.print()
    console.rule("[bold]Ask why, and delete[/]", align="left")
    excerpt = shorten(left_out.content, _CHARS, placeholder=" …")
    console.print(f"[bold]Why not?[/] [dim]“{excerpt}”[/]\n{why_not}", highlight=False)
    console.print(
        f"[bold]Forget session {session}?[/] [dim]A dry run:[/]\n{_receipt(receipt)}\n", highlight=False
    )
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    ratio = figures.full_tokens / max(figures.mean_tokens, 1)
    table.add_row("questions with all that they need", f"{figures.right} of {figures.questions}")
    table.add_row("tokens of a recall, mean", f"{figures.mean_tokens:,.0f}")
    table.add_row("tokens of the full context", f"{figures.full_tokens:,}, {ratio:.0f} times as many")
    table.add_row("time of a recall, median", f"{figures.p50_ms:.1f} ms")
    table.add_row("folder on disk", f"{figures.folder_bytes / 1e6:.1f} MB")
    console.print(table)
    console.print("[dim]A demo and no measurement: 'zibaldone bench' is one.[/]", highlight=False)
    console.print("\nNow your own: ask ChatGPT or Claude for an export of your data, unpack it, and")
    console.print(Text(NEXT, style="bold"), soft_wrap=True)


def _passage(evidence: Evidence, phrase: str | None) -> Text:
    words = " ".join(evidence.text.split())
    if phrase is None:
        return Text(shorten(line(evidence.speaker, words), _CHARS, placeholder=" …"))
    at = words.index(phrase)
    start, end = max(at - _AROUND, 0), min(at + len(phrase) + _AROUND, len(words))
    if start:
        start = words.index(" ", start) + 1
    if end < len(words):
        end = words.rindex(" ", 0, end)
    part = f"{'… ' if start else ''}{words[start:end]}{' …' if end < len(words) else ''}"
    text = Text(line(evidence.speaker, part))
    text.highlight_words([phrase], style="bold green")
    return text


def _receipt(receipt: Receipt) -> str:
    removed = [counted for one in receipt.views for counted in one.counts if counted.rows]
    counts = ", ".join(f"{counted.rows} {counted.kind}" for counted in removed)
    seqs = f"#{receipt.seqs[0]} to #{receipt.seqs[-1]}"
    return f"{receipt.messages} messages ({seqs}) would go, and what was made of them: {counts}."


def _day(time: datetime) -> str:
    return header(time.date(), None).partition(" ")[2]  # less the day of the week


def _time(message: Message) -> datetime:
    assert message.time is not None
    return message.time
