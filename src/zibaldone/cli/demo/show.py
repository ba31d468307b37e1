"""The demo on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from zibaldone.cli.demo.sample import DemoAnswer
from zibaldone.cli.showing import receipt_summary
from zibaldone.core import Message
from zibaldone.engine.forgetting import Receipt
from zibaldone.recall.result import Recall
from zibaldone.text.rendering import line

NEXT = """\
zibaldone import ~/Downloads/chatgpt-export.zip
zibaldone recall "When is my appointment at the dentist?\""""


def full_context(messages: Sequence[Message]) -> str:
    """The whole conversation, a line per message."""
    return "\n".join(line(message.speaker, message.content) for message in messages)


def opening(console: Console, messages: Sequence[Message], full_tokens: int, import_ms: float) -> None:
    """Print what was imported."""
    sessions = len({message.session for message in messages})
    console.print(
        f"\n[bold]zibaldone[/] reads what {messages[0].speaker} and an assistant said in seven months:\n"
        f"{len(messages)} messages of {sessions} sessions, {full_tokens:,} tokens: on disk, searchable, and"
        f" read into notes after {import_ms:.0f} ms.\n"
        "Every word is kept as it was said. No key, no model to call, no network.",
        highlight=False,
    )


def recalled(console: Console, number: int, answer: DemoAnswer, full_tokens: int) -> None:
    """Print one question: the recalled text with the parts of the answer marked, and what it misses."""
    question, recall = answer.question, answer.recall
    console.print()
    console.rule(f"[bold]{number}. {question.question}[/]  [dim]{question.kind}[/]", align="left")
    text = Text(recall.text, style="dim")
    text.highlight_words(answer.phrases.values(), style="bold green not dim")
    text.highlight_regex(r"\[no longer holds[^\]]*\]", style="bold red not dim")
    console.print(Padding(text, (0, 0, 0, 2)))
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
    for what in missed:
        console.print(Padding(Text(f"misses: {what}", style="red"), (0, 0, 0, 2)))


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
