"""The demo on a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
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
NEXT = """\
zibaldone import ~/Downloads/chatgpt-export.zip
zibaldone recall "When is my appointment at the dentist?\""""


def full_context(messages: Sequence[Message]) -> str:
    """The whole conversation, a line per message."""
    return "\n".join(line(message.speaker, message.content) for message in messages)


def opening(console: Console, messages: Sequence[Message], full_tokens: int, import_ms: float) -> None:
    """Print what was imported."""
    sessions = len({message.session for message in messages})
    first, last = _day(_time(messages[0])), _day(_time(messages[-1]))
    console.print(
        f"\n[bold]zibaldone[/] reads what {messages[0].speaker} and an assistant said, {first} to {last}.\n"
        f"{len(messages)} messages of {sessions} sessions, {full_tokens:,} tokens: on disk, searchable, and"
        f" read into notes after {import_ms:.0f} ms.\n"
        "Every word is kept as it was said. No key, no model to call, no network.",
        highlight=False,
    )


def recalled(console: Console, number: int, answer: DemoAnswer, full_tokens: int) -> None:
    """Print one question: each recalled passage with date and citation, the parts of the answer marked."""
    question, recall = answer.question, answer.recall
    console.print()
    console.rule(f"[bold]{number}. {question.question}[/]  [dim]{question.kind}[/]", align="left")
    _passages(console, answer)
    looked_for = question.answer or "nothing, it was never mentioned."
    console.print(f"  [bold]Looked for:[/] {looked_for}", highlight=False)
    if parts := len(answer.phrases):
        verdict = f"{parts - len(answer.missing)} of {parts} found"
    else:
        verdict = f"{'something' if recall else 'nothing'} recalled"
    cost = f"{recall.tokens} tokens instead of {full_tokens:,}, {answer.ms:.1f} ms"
    colour = "green" if answer.right else "red"
    console.print(
        f"  [{colour}]{verdict}[/], confidence {recall.confidence:.3f}[dim], {cost}[/]", highlight=False
    )
    missed = [f"“{phrase}”. {recall.why_not(seq)}" for seq, phrase in answer.missing.items()]
    if not answer.phrases and recall:
        missed = ["that memory knows nothing of it."]
    for text in missed:
        console.print(Padding(Text(f"misses: {text}", style="red"), (0, 0, 0, 2)))


def changed(console: Console, change: Message, recall: Recall) -> None:
    """Print what a new message does to what was said before: the recalled text, as a prompt gets it."""
    console.print()
    console.rule("[bold]Something changes[/]", align="left")
    console.print(Text(f"New: {line(change.speaker, change.content)}\n{recall.query}"))
    text = Text(recall.text, style="dim")
    text.highlight_regex(r"\[no longer holds[^\]]*\]", style="bold red not dim")
    console.print(Padding(text, (0, 0, 0, 2)))


def closing(console: Console, answers: Sequence[DemoAnswer], receipt: Receipt) -> None:
    """Print a dry run of forgetting, the figures, and what to do next."""
    console.print()
    console.rule("[bold]Forget[/]", align="left")
    console.print(f"A session about a sick cat, a dry run: {receipt_summary(receipt)}.\n", highlight=False)
    right = sum(answer.right for answer in answers)
    console.print(f"[bold]{right} of {len(answers)}[/] questions got all that they need.", highlight=False)
    for answer in answers:
        if not answer.right:
            console.print(Text(f"misses: {answer.question.question}", style="red"))
    console.print(
        "[dim]A demo and no measurement: 'zibaldone build compare' measures on a log of your own.[/]\n\n"
        "Now your own: ask ChatGPT or Claude for an export of your data, and",
        highlight=False,
    )
    console.print(Text(NEXT, style="bold"), soft_wrap=True)


def _passages(console: Console, answer: DemoAnswer) -> None:
    """A row for each: whether it holds a part of the answer, its day, its citation, its words."""
    table = Table.grid(padding=(0, 1))
    for width in (1, 11, 4, 3):
        table.add_column(width=width, no_wrap=True)
    table.add_column(overflow="fold")
    for evidence in answer.recall.evidence:
        phrase = answer.phrase_in(evidence)
        cited = f"#{evidence.sources[0]}", f"s{evidence.session}"
        tick, style = ("[green]✓[/]", "") if phrase else ("", "dim")
        table.add_row(tick, _day(evidence.time), *cited, _passage(evidence, phrase), style=style)
    console.print(table)


def _passage(evidence: Evidence, phrase: str | None) -> Text:
    """Return one line of a passage, or all of one with a part of the answer, with recall's mark."""
    words = " ".join(evidence.text.split())
    part = words if phrase else shorten(words, _CHARS, placeholder=" …")
    title = f"{STANDING_TITLE} " if evidence.standing else ""
    text = Text(title + line(evidence.speaker, part))
    if evidence.outdated is not None:
        text.append(mark(evidence), style="bold red")
    if phrase:
        text.highlight_words([phrase], style="bold green")
    return text


def _day(time: datetime) -> str:
    return header(time.date(), None).partition(" ")[2]  # less the day of the week


def _time(message: Message) -> datetime:
    assert message.time is not None
    return message.time
