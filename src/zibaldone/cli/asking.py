"""zibaldone ask: a model's answer from memory, with its sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from zibaldone.cli import output as out
from zibaldone.cli.input import (
    MYSELF,
    AsJson,
    Folder,
    InSession,
    NotInSession,
    Now,
    Roles,
    Since,
    Until,
    User,
    memory_of,
    whole_session,
)
from zibaldone.cli.output import MODEL_FAILED, NOTHING_FOUND

if TYPE_CHECKING:
    from zibaldone.recall.ask import Answer, Step


def ask(
    *,
    question: Annotated[str, typer.Argument(help="What to answer.")],
    rounds: Annotated[int, typer.Option("--rounds", help="How often the model may look again.")] = 3,
    budget: Annotated[
        int, typer.Option("--budget", "-b", help="Tokens of all evidence that the model is shown.")
    ] = 2500,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds; then what was recalled.")] = 120.0,
    session: InSession = None,
    exclude_session: NotInSession = None,
    roles: Roles = None,
    since: Since = None,
    until: Until = None,
    now: Now = None,
    steps: Annotated[bool, typer.Option("--steps", help="Show each look as it is made.")] = False,
    user: User = MYSELF,
    memory: Folder,
    as_json: AsJson = False,
) -> None:
    """Answer a question: a model looks into memory, again where it must, and cites what it was shown.

    The model is that of ZIBALDONE_CHAT_MODEL. Where it fails, what was recalled is printed in its place.
    """
    from zibaldone.log.filters import Filter

    with memory_of(memory, user) as opened:
        narrowed = Filter(
            session=whole_session(opened, user, session),
            exclude_session=whole_session(opened, user, exclude_session),
            roles=roles or None,
            since=since,
            until=until,
        )
        answer = opened.ask(
            question,
            user=user,
            rounds=rounds,
            budget_tokens=budget,
            filter=narrowed,
            now=now,
            timeout_s=timeout,
            on_step=_note_step if steps else None,
        )
    if as_json:
        names = ("question", "text", "known", "confidence", "citations", "marks", "steps")
        shown = {name: getattr(answer, name) for name in names}
        out.write_json({**shown, "evidence": out.recall_object(answer.evidence, why=False)})
    else:
        _write(answer)
    if answer.degraded:
        raise typer.Exit(MODEL_FAILED)
    if not answer.known:
        raise typer.Exit(NOTHING_FOUND)


def _write(answer: Answer) -> None:
    """The answer above the lines that it cites; the recalled text where there is none."""
    if answer.text or answer.evidence:
        out.write(answer.text or answer.evidence.text)
    if answer.citations:
        out.write("")
    for cited in answer.citations:
        words = out.short(answer.evidence.text[cited.start : cited.end], 80)
        out.write(f"  [{cited.seq}] {cited.time:%Y-%m-%d}, session {cited.session}: {words}")
    for line in answer.marks:
        out.note(line, "yellow")
    tokens = sum(step.prompt_tokens + step.completion_tokens for step in answer.steps)
    shown = f"{answer.evidence.tokens} tokens of evidence, confidence {answer.confidence:.2f}"
    out.note(f"{shown}; {out.count(answer.calls, 'request')} to the model, {tokens} tokens")


def _note_step(step: Step) -> None:
    """A look, on standard error."""
    if step.number and not step.queries:
        out.note(f"{step.number}. {'answers' if step.answered else 'gives no answer'}")
        return
    queries = "; ".join(f"{lookup.query!r}" for lookup in step.queries) or "the question"
    out.note(f"{step.number}. looks for {queries}: {out.count(len(step.added), 'message')}")
