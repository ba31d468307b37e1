"""End to end: systems recall, a reader answers from what they recalled, a judge scores the answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.table import Table

from zibaldone import settings
from zibaldone.bench.answers import bleu1, f1_original, f1_set, rouge_l
from zibaldone.bench.base import DataSet, Equipment, Example
from zibaldone.bench.datasets import read_data_set
from zibaldone.bench.outcome import Measurement, Progress, Run
from zibaldone.bench.reading.judge import JUDGE_TASKS, AnswerJudge, Verdict, can_be_judged
from zibaldone.bench.reading.reader import READ, VIEW, Reader, ReaderAnswer
from zibaldone.bench.reading.sample import sample
from zibaldone.bench.registry import ReadOptions
from zibaldone.bench.report import category_head, that_fit
from zibaldone.bench.stats import Mean
from zibaldone.bench.systems import check_systems, make_system
from zibaldone.bench.table import Column, budget, interval, share, tabulate
from zibaldone.errors import InvalidInput, UnknownName
from zibaldone.models.asker import Asker
from zibaldone.models.base import ChatModel
from zibaldone.models.meter import Meter
from zibaldone.models.recorded import RecordedModel
from zibaldone.threads import side_by_side

_PROMPT_TOKENS = 8_000  # of instructions, question and answer, beside the recalled text
_UNNAMED = "not named"
_OPEN = "open.txt"  # in the folder of recordings: the pages that this run has left open


@dataclass(frozen=True, slots=True)
class WordOverlap:
    """An answer beside the gold one, word by word, as papers give it. From 0 to 1."""

    f1: float  # as LoCoMo's own code scores it
    f1_set: float  # as A-MEM, mem0 and xMemory do
    bleu1: float
    rouge_l: float


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """One question, answered from what one system recalled for it."""

    id: str
    user: str
    category: str
    faulted: bool
    question: str
    system: str
    budget_tokens: int | None  # None: the system was given no budget
    tokens: int  # of the recalled text
    answer: str | None  # None: not answered yet, or refused
    refused: str  # why the model gave no answer; such a question scores 0
    score: float | None  # None: not answered or not judged yet
    by_nugget: tuple[float, ...]
    waits: str  # why there is no score yet
    overlap: WordOverlap | None  # None without a gold answer


@dataclass(frozen=True, slots=True)
class ReadRow:
    """One system at one budget. Scores are from 0 to 1, of the questions that have one."""

    system: str
    budget_tokens: int | None
    questions: int  # with a score
    unanswered: int  # that wait for the reader
    unjudged: int  # that wait for the judge
    score: Mean | None
    sound: Mean | None  # without the questions that an audit faults
    by_category: dict[str, Mean | None]
    tokens_mean: float  # of the recalled texts, of all questions
    f1: Mean | None
    f1_set: Mean | None
    bleu1: Mean | None
    rouge_l: Mean | None


@dataclass(frozen=True, slots=True)
class _Recalled:
    """What one system gave for one question."""

    example: Example
    system: str
    budget_tokens: int | None
    text: str
    tokens: int


def run(options: ReadOptions, run: Run) -> Measurement:
    """Systems recall offline; the chat model, or the recordings of one, reads and judges."""
    systems, chat = check_systems(options.systems), run.chat
    if chat is None:
        raise InvalidInput(
            "there is nobody to read: set ZIBALDONE_CHAT_MODEL, or give --record DIR to have the questions"
            " written into files that can be answered later"
        )
    data = read_data_set(options.path)
    examples = _examples(data, options)
    if not examples:
        raise InvalidInput(f"{str(options.path)!r} has no question that can be judged: nothing to read")
    tools = replace(run.tools(options.floor), chat=None)
    users = {example.user for example in examples}
    systems, notes = that_fit(data, users, systems, tools, options.most_full)
    recalled = _recall(data, examples, systems, options.budget, tools, run.progress)
    records = _read(recalled, _asker(chat, options, tools), _workers(chat, options), run.progress)
    categories = list(dict.fromkeys((*data.categories, *(example.category for example in examples))))
    rows = make_rows(records, categories)
    reader, judge = _names(chat, options)
    figures = {
        "benchmark": data.name,
        "data": options.path.name,
        "reader": reader,
        "judge": judge,
        "rows": rows,
        "records": records,
    }
    title = f"{data.name}: answers read and judged ({len(examples):,} questions)"
    caption = f"reader: {reader}; judge: {judge}; recall offline"
    table = _table(title, caption, rows, faults=data.has_faults)
    return Measurement(figures, [table], (*notes, *_notes(records, chat)))


def make_rows(records: Sequence[ReadQuestion], categories: Sequence[str]) -> tuple[ReadRow, ...]:
    """One row per (system, budget), in the order in which they were asked."""
    groups: dict[tuple[str, int | None], list[ReadQuestion]] = {}
    for record in records:
        groups.setdefault((record.system, record.budget_tokens), []).append(record)
    return tuple(_row(group, categories) for group in groups.values())


def _examples(data: DataSet, options: ReadOptions) -> list[Example]:
    known = {example.category for example in data.examples}
    if unknown := set(options.kinds) - known:
        raise UnknownName(f"no questions of the kind {min(unknown)!r}: there are {', '.join(sorted(known))}")
    kinds = options.kinds or data.categories
    examples = [example for example in data.examples if example.category in kinds and can_be_judged(example)]
    if options.ids:
        examples = [example for example in examples if example.id in options.ids]
        if missing := set(options.ids) - {example.id for example in examples}:
            raise UnknownName(
                f"no question {min(missing)!r} of these kinds: ids are in the records that --json prints"
            )
    return sample(examples, options.questions)


def _recall(
    data: DataSet,
    examples: Sequence[Example],
    systems: Sequence[str],
    budgets_tokens: Sequence[int],
    tools: Equipment,
    progress: Progress,
) -> list[_Recalled]:
    recalled: list[_Recalled] = []
    done = 0
    for user, group in itertools.groupby(examples, key=lambda example: example.user):
        questions = list(group)
        for name in systems:
            progress(f"{name} recalls for {user}", done, len(examples))
            system = make_system(name, tools)
            try:
                system.load(user, data.messages(user))
                for example in questions:
                    for most in budgets_tokens if system.budgeted else budgets_tokens[:1]:
                        context = system.recall(user, example.question, most, example.now)
                        most_tokens = most if system.budgeted else None
                        recalled.append(
                            _Recalled(example, system.name, most_tokens, context.text, context.tokens)
                        )
            finally:
                system.close()
        done += len(questions)
    order = {name: place for place, name in enumerate(systems)}
    return sorted(recalled, key=lambda each: (order[each.system], each.budget_tokens or 0))


def _read(
    recalled: Sequence[_Recalled], asker: Asker, workers: int, progress: Progress
) -> list[ReadQuestion]:
    reader, judge = Reader(asker), AnswerJudge(asker)
    counter = itertools.count(1)

    def read(given: _Recalled) -> ReadQuestion:
        answer = reader.read(given.example, given.text)
        verdict = Verdict(None) if answer.text is None else judge.score(given.example, answer.text)
        progress("reading", next(counter), len(recalled))
        return _record(given, answer, verdict)

    return side_by_side(read, recalled, workers, "read")


def _record(given: _Recalled, answer: ReaderAnswer, verdict: Verdict) -> ReadQuestion:
    example = given.example
    return ReadQuestion(
        id=example.id,
        user=example.user,
        category=example.category,
        faulted=example.faulted,
        question=example.question,
        system=given.system,
        budget_tokens=given.budget_tokens,
        tokens=given.tokens,
        answer=answer.text,
        refused=answer.refused,
        score=0.0 if answer.refused else verdict.score,
        by_nugget=verdict.by_nugget,
        waits=answer.waits or verdict.waits,
        overlap=_overlap(example, answer.text),
    )


def _overlap(example: Example, answer: str | None) -> WordOverlap | None:
    if answer is None or example.answer is None or example.nuggets or example.unknown:
        return None
    return WordOverlap(
        f1_original(answer, example.answer, example.category),
        f1_set(answer, example.answer),
        bleu1(answer, example.answer),
        rouge_l(answer, example.answer),
    )


def _asker(chat: ChatModel, options: ReadOptions, tools: Equipment) -> Asker:
    """The environment's ceilings hold, but that one call may hold what was asked for."""
    most = max(options.most_full if "full" in options.systems else 0, *options.budget) + _PROMPT_TOKENS
    return Asker(chat, Meter(None, replace(settings.ceilings(), tokens_per_call=most)), tools.tokenizer)


def _workers(chat: ChatModel, options: ReadOptions) -> int:
    """Only what somebody else works out is worth waiting for side by side."""
    return 1 if isinstance(chat, RecordedModel) and not chat.asks else options.workers


def _names(chat: ChatModel, options: ReadOptions) -> tuple[str, str]:
    """Of the reader and of the judge: as given, as the recordings say, or the model's."""

    def name(given: str | None, tasks: Iterable[str]) -> str:
        if given:
            return given
        if not isinstance(chat, RecordedModel):
            return chat.name
        return ", ".join(sorted({name for task in tasks for name in chat.answered_by(task)})) or _UNNAMED

    return name(options.reader_name, [f"{VIEW}.{READ}"]), name(options.judge_name, JUDGE_TASKS)


def _row(records: Sequence[ReadQuestion], categories: Sequence[str]) -> ReadRow:
    scored = [record for record in records if record.score is not None]
    overlaps = [record.overlap for record in records if record.overlap]
    return ReadRow(
        system=records[0].system,
        budget_tokens=records[0].budget_tokens,
        questions=len(scored),
        unanswered=sum(record.score is None and record.answer is None for record in records),
        unjudged=sum(record.score is None and record.answer is not None for record in records),
        score=_mean(scored),
        sound=_mean(record for record in scored if not record.faulted),
        by_category={
            name: _mean(record for record in scored if record.category == name) for name in categories
        },
        tokens_mean=sum(record.tokens for record in records) / len(records),
        f1=Mean.of([overlap.f1 for overlap in overlaps]),
        f1_set=Mean.of([overlap.f1_set for overlap in overlaps]),
        bleu1=Mean.of([overlap.bleu1 for overlap in overlaps]),
        rouge_l=Mean.of([overlap.rouge_l for overlap in overlaps]),
    )


def _mean(records: Iterable[ReadQuestion]) -> Mean | None:
    return Mean.of([record.score for record in records if record.score is not None])


def _table(title: str, caption: str, rows: Sequence[ReadRow], *, faults: bool) -> Table:
    columns = [
        Column("system", lambda row: row.system, left=True),
        Column("budget", lambda row: budget(row.budget_tokens)),
        Column("score\n", lambda row: share(row.score)),
        Column("95 %\n", lambda row: interval(row.score)),
    ]
    if faults:
        columns.append(Column("sound\nonly", lambda row: share(row.sound)))
        caption += "; sound only: without the questions that the audit faults"
    shown = [name for name in rows[0].by_category if any(row.by_category[name] for row in rows)]
    columns += [_category(name) for name in shown]
    if any(row.f1 for row in rows):
        columns.append(Column("F1\n", lambda row: share(row.f1)))
        columns.append(Column("F1 of\nsets", lambda row: share(row.f1_set)))
        columns.append(Column("BLEU-1\n", lambda row: share(row.bleu1)))
        columns.append(Column("ROUGE-L\n", lambda row: share(row.rouge_l)))
    columns.append(Column("to-\nkens", lambda row: row.tokens_mean, ".0f"))
    columns.append(Column("ques-\ntions", lambda row: row.questions))
    if any(row.unanswered or row.unjudged for row in rows):
        columns.append(Column("not\nread", lambda row: row.unanswered))
        columns.append(Column("not\njudged", lambda row: row.unjudged))
    return tabulate(title, columns, rows, caption=caption)


def _category(name: str) -> Column:
    return Column(category_head(name), lambda row: share(row.by_category[name]))


def _notes(records: Sequence[ReadQuestion], chat: ChatModel) -> list[str]:
    notes = []
    if refused := [record for record in records if record.refused]:
        notes.append(
            f"{len(refused)} questions got no answer from the reader, and score 0;"
            f" one of them: {refused[0].refused}"
        )
    if isinstance(chat, RecordedModel):
        _list_open(chat)
    waiting = [record for record in records if record.score is None]
    if not waiting:
        return notes
    notes.append(
        f"{len(waiting)} of {len(records)} answers have no score yet, and count nowhere:"
        " rows with different questions do not compare"
    )
    if not isinstance(chat, RecordedModel):
        return [*notes, f"run again; one of the reasons: {waiting[0].waits}"]
    notes += [
        f"{len(pages)} questions are open in {pages[0].parent}: answer them and run again"
        for pages in _left_open(chat)
        if pages
    ]
    stuck = [record for record in waiting if "nobody has answered" not in record.waits]
    return [*notes, f"another reason: {stuck[0].waits}"] if stuck else notes


def _left_open(chat: RecordedModel) -> list[list[Path]]:
    """The pages of the reader, and those of each kind of judge."""
    return [chat.left_open(task) for task in (f"{VIEW}.{READ}", *JUDGE_TASKS)]


def _list_open(chat: RecordedModel) -> None:
    """Earlier runs may have left pages that nobody asks for any more; these are the ones that count."""
    pages = [page.relative_to(chat.folder).as_posix() for of_task in _left_open(chat) for page in of_task]
    listing = chat.folder / _OPEN
    if pages:
        listing.write_text("\n".join(pages) + "\n", encoding="utf-8")
    else:
        listing.unlink(missing_ok=True)
