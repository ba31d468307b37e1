"""`zibaldone recall` and `ask`: what memory knows about a question, and a model's answer from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from zibaldone.cli import output as out
from zibaldone.cli import showing
from zibaldone.cli.frame import CliCall, runs
from zibaldone.cli.output import MODEL_FAILED, NOTHING_FOUND

if TYPE_CHECKING:
    from zibaldone.recall.ask import Answer, Step


@runs("recall")
def recall(call: CliCall) -> None:
    """Recall what memory knows about a question: a context ready for a prompt."""
    with call.opened() as memory:
        recalled = call.run(memory)
    call.answer(showing.recall_object(recalled, why=call.given["why"]), recalled.text if recalled else None)
    if call.given["why"] and not call.as_json:
        out.write("")
        showing.write_reasons(recalled)
    if not recalled:
        out.note(f"nothing found for user {call.user!r} (confidence {recalled.confidence:.2f})")
        raise typer.Exit(NOTHING_FOUND)
    if not call.as_json:
        out.note(showing.recall_summary(recalled))


@runs("ask")
def ask(call: CliCall) -> None:
    """Answer a question: a model looks into memory, again where it must, and cites what it was shown.

    The model is that of ZIBALDONE_CHAT_MODEL. Where it fails, what was recalled is printed in its place.
    """
    with call.opened() as memory:
        answer = call.run(memory, on_step=_note_step if call.given["steps"] else None)
    if call.as_json:
        names = ("question", "text", "known", "confidence", "citations", "marks", "steps")
        shown = {name: getattr(answer, name) for name in names}
        out.write_json({**shown, "evidence": showing.recall_object(answer.evidence, why=False)})
    else:
        _write(answer)
    if answer.degraded:
        raise typer.Exit(MODEL_FAILED)
    if not answer.known:
        raise typer.Exit(NOTHING_FOUND)


@runs("search")
def search(call: CliCall) -> None:
    """List the passages that fit a query best, best first, and sessions with its words in their titles.

    Where nothing is clearly about the query, the nearest three come, and the exit code is 1.
    """
    from zibaldone.recall.result import NEAREST

    query = call.given["query"]
    with call.opened() as memory:
        passages = call.run(memory)
        narrowed = any(call.given[name] for name in ("session", "exclude_session", "roles", "since", "until"))
        titled = [] if narrowed else memory.user(call.whose).titled_sessions(words=query, limit=NEAREST)[0]
    seen = {passage.session for passage in passages} if passages.clear else set()
    titled = [session for session in titled if session.session not in seen]
    shown = passages if passages.clear else passages[:NEAREST]
    if call.as_json:
        out.write_json(passages)
    elif shown:
        call.show(shown)
    for session in titled:
        out.note(f"session {session.session} is titled {session.title!r}")
    if not (passages.clear or titled):
        clearly = " that is clearly about it: these are the nearest" if shown else ""
        out.note(f"nothing found for user {call.user!r}{clearly}")
        raise typer.Exit(NOTHING_FOUND)


def _write(answer: Answer) -> None:
    """Write the answer above the lines that it cites, or the recalled text where there is none."""
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
    """Note a look on standard error."""
    if step.number and not step.queries:
        out.note(f"{step.number}. {'answers' if step.answered else 'gives no answer'}")
        return
    queries = "; ".join(f"{lookup.query!r}" for lookup in step.queries) or "the question"
    out.note(f"{step.number}. looks for {queries}: {out.count(len(step.added), 'message')}")
