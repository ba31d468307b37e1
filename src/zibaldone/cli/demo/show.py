"""The demo on a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from textwrap import shorten

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from zibaldone.cli.demo.sample import DemoAnswer
from zibaldone.cli.showing import receipt_summary
from zibaldone.core import Evidence, Message
from zibaldone.engine.forgetting import Receipt
from zibaldone.recall.result import Recall
from zibaldone.text.rendering import STANDING_TITLE, header, line, mark

_CHARS = 72  # shown of a passage that holds no part of the answer: one line
_AROUND = 60  # characters shown on either side of a part of the answer
NEXT = """\
zibaldone import ~/Downloads/chatgpt-export.zip
zibaldone recall "When is my appointment at the dentist?\""""


@dataclass(frozen=True, slots=True)
class Figures:
    """The demo in numbers."""

    messages: int
    questions: int
    right: int
    missed: tuple[str, ...]  # the questions that are not right
    mean_tokens: float  # over the recalls that are not empty
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


def opening(
    console: Console, messages: Sequence[Message], full_tokens: int, import_ms: float, maintain_ms: float
) -> None:
    """Print what was imported."""
    sessions = len({message.session for message in messages})
    first, last = _day(_time(messages[0])), _day(_time(messages[-1]))
    console.print(
        f"\n[bold]zibaldone[/] reads what {messages[0].speaker} and an assistant said, {first} to {last}.\n"
        f"{len(messages)} messages of {sessions} sessions, {full_tokens:,} tokens:"
        f" on disk and searchable after {import_ms:.0f} ms;\n"
        f"its notes, and what no longer holds, after another {maintain_ms:.0f} ms.\n"
        "Every word is kept as it was said. No key, no model to call, no network.",
        highlight=False,
    )


def recalled(console: Console, number: int, outcome: DemoAnswer, full_tokens: int) -> None:
    """Print one question: each recalled passage with date and citation, the parts of the answer marked."""
    recall = outcome.recall
    console.print()
    console.rule(
        f"[bold]{number}. {outcome.question.question}[/]  [dim]{outcome.question.kind}[/]", align="left"
    )
    _passages(console, recall, outcome.holds)
    looked_for = outcome.question.answer or "nothing, it was never mentioned."
    console.print(f"  [bold]Looked for:[/] {looked_for}", highlight=False)
    if parts := len(outcome.question.evidence):
        verdict = f"{parts - len(outcome.missing)} of {parts} found"
    else:
        verdict = f"{'something' if recall else 'nothing'} recalled"
    confidence = f"confidence {recall.confidence:.3f}" + (
        "" if recall else f", floor {recall.trace.floor:.3f}"
    )
    cost = f"{recall.tokens} tokens instead of {full_tokens:,}, {outcome.ms:.1f} ms"
    colour = "green" if outcome.right else "red"
    console.print(f"  [{colour}]{verdict}[/], {confidence}[dim], {cost}[/]", highlight=False)
    for seq, phrase in outcome.missing.items():
        _miss(console, f"“{phrase}”. {recall.why_not(seq)}")
    if not outcome.question.evidence and recall:
        _miss(console, "that memory knows nothing of it.")


def changed(console: Console, change: Message, recall: Recall) -> None:
    """Print what a new message does to what was said before: the recalled text, as a prompt gets it."""
    console.print()
    console.rule("[bold]Something changes[/]", align="left")
    console.print(Text(f"New: {line(change.speaker, change.content)}\n{recall.query}"))
    text = Text(recall.text, style="dim")
    text.highlight_regex(r"\[no longer holds[^\]]*\]", style="bold red not dim")
    console.print(Padding(text, (0, 0, 0, 2)))


def closing(
    console: Console, recalls: Sequence[Recall], receipt: Receipt, session: str, figures: Figures
) -> None:
    """Print a passage that was left out, a dry run of forgetting, the figures, and what to do next."""
    console.print()
    console.rule("[bold]Ask why, and delete[/]", align="left")
    recall, left_out = _best_left_out(recalls)
    text = shorten(left_out.text, _CHARS, placeholder=" …")
    console.print(Text.assemble(("Why not? ", "bold"), (f"“{text}”", "dim"), f"\n{recall.query}"))
    console.print(recall.why_not(left_out.sources[0]), highlight=False)
    console.print(
        f"[bold]Forget session {session}?[/] [dim]A dry run:[/]\n{receipt_summary(receipt)}.\n",
        highlight=False,
    )
    table = Table(show_header=False)
    table.add_column()
    table.add_column(justify="right")
    ratio = figures.full_tokens / max(figures.mean_tokens, 1)
    table.add_row("questions with all that they need", f"{figures.right} of {figures.questions}")
    for question in figures.missed:
        table.add_row("misses", question)
    table.add_row("tokens of a recall, mean", f"{figures.mean_tokens:,.0f}")
    table.add_row("tokens of the full context", f"{figures.full_tokens:,}, {ratio:.0f} times as many")
    table.add_row("time of a recall, median", f"{figures.p50_ms:.1f} ms")
    table.add_row("folder on disk", f"{figures.folder_bytes / 1e6:.1f} MB")
    console.print(table)
    console.print(
        "[dim]A demo and no measurement: 'zibaldone build compare' measures on a log of your own.[/]",
        highlight=False,
    )
    console.print("\nNow your own: ask ChatGPT or Claude for an export of your data, and")
    console.print(Text(NEXT, style="bold"), soft_wrap=True)


def _miss(console: Console, what: str) -> None:
    console.print(Padding(Text(f"misses: {what}", style="red"), (0, 0, 0, 2)))


def _passages(console: Console, recall: Recall, holds: Mapping[int, str]) -> None:
    """A row for each: whether it holds a part of the answer, its day, its citation, its words."""
    table = Table.grid(padding=(0, 1))
    for width in (1, 11, 4, 3):
        table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    for i, evidence in enumerate(recall.evidence):
        phrase = holds.get(i)
        cited = f"#{evidence.sources[0]}", f"s{evidence.session}"
        tick, style = ("[green]✓[/]", "") if phrase else ("", "dim")
        table.add_row(tick, _day(evidence.time), *cited, _passage(evidence, phrase), style=style)
    console.print(table)


def _passage(evidence: Evidence, phrase: str | None) -> Text:
    """Return one line of a passage, or the words around a part of the answer, with recall's mark."""
    words = " ".join(evidence.text.split())
    if phrase is None:
        part = shorten(words, _CHARS, placeholder=" …")
    else:
        at = words.index(phrase)
        start, end = max(at - _AROUND, 0), min(at + len(phrase) + _AROUND, len(words))
        if start:
            start = words.index(" ", start) + 1
        if end < len(words):
            end = words.rindex(" ", 0, end)
        part = f"{'… ' if start else ''}{words[start:end]}{' …' if end < len(words) else ''}"
    title = f"{STANDING_TITLE} " if evidence.standing else ""
    text = Text(title + line(evidence.speaker, part))
    if evidence.outdated is not None:
        text.append(mark(evidence), style="bold red")
    if phrase:
        text.highlight_words([phrase], style="bold green")
    return text


def _best_left_out(recalls: Sequence[Recall]) -> tuple[Recall, Evidence]:
    """Return the best passage that was left out, and the recall, the first that left any out."""
    for recall in recalls:
        kept = {seq for passage in recall.evidence for seq in passage.sources}
        for decision in recall.trace.decisions:
            if recall and not kept.intersection(decision.evidence.sources):
                return recall, decision.evidence
    raise AssertionError("every recall kept all that it was offered")


def _day(time: datetime) -> str:
    return header(time.date(), None).partition(" ")[2]  # less the day of the week


def _time(message: Message) -> datetime:
    assert message.time is not None
    return message.time
