"""`zibaldone bench prompts`: real conversations through every prompt, one view at a time.

Each view gets a memory of its own, is maintained with the model, audited, and asked the questions that the
pieces answer; beside it stands the same view made without a model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.prompting.asked_view import AskedView
from zibaldone.bench.prompting.audit import audit
from zibaldone.bench.prompting.copying import CopyingModel
from zibaldone.bench.prompting.report import table_of_tasks, table_of_views, task_rows
from zibaldone.bench.prompting.talks import PieceOfTalk, pieces_of
from zibaldone.bench.registry import PromptsOptions
from zibaldone.errors import InvalidInput, QuestionOpen
from zibaldone.memory import Memory
from zibaldone.models.answer_log import AnswersHeard, listening
from zibaldone.models.base import ChatModel
from zibaldone.models.meter import Usage
from zibaldone.models.recorded import RecordedModel
from zibaldone.rendering import line
from zibaldone.views.chunks import MemAttention
from zibaldone.views.topics import Consolidation

PLAN = "plan"  # no view: the recall's planner
VIEWS = ("chunks", "hierarchy", "topics", PLAN)


def run(options: PromptsOptions, run: Run) -> Measurement:
    """Offline nothing is asked, so there has to be a model, a recording of one, or the one that copies."""
    chat: ChatModel | None = CopyingModel() if options.copying else run.chat
    if chat is None:
        raise InvalidInput(
            "there is nobody to ask: set ZIBALDONE_CHAT_MODEL, give --record DIR to have the questions"
            " written into files that can be answered later, or --copying to count calls and tokens"
        )
    if unknown := set(options.views) - set(VIEWS):
        raise InvalidInput(f"--views {min(unknown)!r}: choose from {', '.join(VIEWS)}")
    pieces = pieces_of(options.path, options.talks, options.messages)
    with listening() as heard:
        views = [_asked(view, pieces, chat, options, run) for view in options.views]
    tasks = task_rows(heard)
    notes = _refusals(heard) if options.refusals else []
    if isinstance(chat, RecordedModel) and (waiting := chat.open_questions()):
        notes.append(f"{len(waiting)} questions are open in {chat.folder}: answer them and run again")
    figures = {"model": chat.name, "pieces": len(pieces), "tasks": tasks, "views": views}
    return Measurement(figures, [table_of_tasks(tasks), table_of_views(views, options.budget)], tuple(notes))


def _asked(
    view: str, pieces: Sequence[PieceOfTalk], chat: ChatModel, options: PromptsOptions, run: Run
) -> AskedView:
    made = partial(_memory, view, options, run)
    with made(chat) as memory, made(None) as plain:
        for done, piece in enumerate(pieces):
            run.progress(view, done, len(pieces))
            for each in (memory, plain):
                each.add(piece.messages, user=piece.user)
                if view != PLAN:
                    each.maintain(user=piece.user, views=[view])
        building = memory.usage()
        unread = sum(_lag(memory, view, piece) for piece in pieces)
        complete = not unread
        evidence = _evidence(memory, view, pieces, options) if complete else None
        offline = _evidence(plain, view, pieces, options)
        whole = memory.usage()
        with made(None, memory.path) as reading:  # nobody is asked to find what there is
            audits = [
                audit(reading, view, one.user, one.messages) for one in pieces if view != PLAN and complete
            ]
    texts = [line(message.speaker, message.content) for piece in pieces for message in piece.messages]
    return AskedView(
        view,
        turns=len(texts),
        raw_tokens=sum(run.tools().tokenizer.count(texts)),
        calls=sum(one.calls for one in building),
        prompt_tokens=sum(one.prompt_tokens for one in building),
        completion_tokens=sum(one.completion_tokens for one in building),
        recalls=sum(len(piece.questions) for piece in pieces),
        recall_calls=sum(one.calls for one in whole) - sum(one.calls for one in building),
        recall_tokens=_tokens(whole) - _tokens(building),
        unread=unread,
        audits=tuple(audits),
        evidence=evidence,
        offline=offline,
    )


def _memory(
    view: str, options: PromptsOptions, run: Run, chat: ChatModel | None, folder: Path | None = None
) -> Memory:
    tools = run.tools()
    return Memory(
        folder or tempfile.mkdtemp(dir=run.folder),
        embedder=tools.embedder,
        chat=chat,
        chunks=MemAttention(chunk_gate_tokens=options.gate),
        topics=Consolidation(extraction_tokens=options.extraction),
        plan_with_model=view == PLAN,
        workers=options.workers,
    )


def _lag(memory: Memory, view: str, piece: PieceOfTalk) -> int:
    return sum(one.lag for one in memory.stats(user=piece.user).views if one.view == view != PLAN)


def _tokens(used: Iterable[Usage]) -> int:
    return sum(one.prompt_tokens + one.completion_tokens for one in used)


def _evidence(
    memory: Memory, view: str, pieces: Sequence[PieceOfTalk], options: PromptsOptions
) -> float | None:
    """The share of the evidence turns that something recalled cites, as a mean over the questions.

    Not whether their words are there: a model tells them in others.
    """
    shares: list[float] = []
    for piece in pieces:
        for example in piece.questions:
            try:
                recall = memory.recall(
                    example.question,
                    user=piece.user,
                    budget_tokens=options.budget,
                    views=None if view == PLAN else [view],
                    now=example.now,
                )
            except QuestionOpen:
                continue
            cited = {seq for unit in recall.evidence for seq in unit.sources}
            wanted = [_holding(turn, piece) for turn in example.evidence]
            shares.append(sum(not cited.isdisjoint(seqs) for seqs in wanted) / len(wanted))
    return sum(shares) / len(shares) if shares else None


def _holding(turn: str, piece: PieceOfTalk) -> set[int]:
    """The seqs of the messages with this text."""
    return {seq for seq, message in enumerate(piece.messages, 1) if turn.strip() in message.content}


def _refusals(heard: AnswersHeard) -> list[str]:
    """Every answer and every part of one that was not taken, and why."""
    lines = [f"{one.task}: {one.outcome}: {one.reason}" for one in heard.answers if one.reason]
    return lines + [f"{one.task}: refused: {reason}" for one in heard.parts for reason in one.refused]
