"""Evidence in the context: the figures of a run over a data set, and their tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.table import Table

from zibaldone.bench.base import DataSet, Equipment
from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.longmemeval import LongMemEvalQuestions
from zibaldone.bench.outcome import Measurement, Run
from zibaldone.bench.registry import BEAMOptions, LoCoMoOptions, LongMemEvalOptions
from zibaldone.bench.runner import Judged, run
from zibaldone.bench.stats import Mean, percentile
from zibaldone.bench.systems import check_systems
from zibaldone.bench.table import Column, budget, interval, percent, share, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.models.recorded import RecordedModel

# Column heads of the categories.
_SHORT = {
    "multi-hop": "multi",
    "temporal": "time",
    "open-domain": "open",
    "single-hop": "1-hop",
    "single-session-user": "user",
    "single-session-assistant": "asst",
    "single-session-preference": "pref",
    "multi-session": "multi",
    "knowledge-update": "update",
    "temporal-reasoning": "time",
    "information_extraction": "fact",
    "multi_session_reasoning": "multi",
    "knowledge_update": "update",
    "contradiction_resolution": "contr",
    "temporal_reasoning": "time",
    "event_ordering": "order",
    "summarization": "sum",
    "instruction_following": "instr",
    "preference_following": "pref",
    "abstention": "none",
    "adversarial": "none",
}
LONGEST_FULL_TOKENS = 256_000  # of a chat that a reader can be given as a whole


@dataclass(frozen=True, slots=True)
class RecallRow:
    """One system at one budget. Shares are from 0 to 1; a None had no question to be measured on."""

    system: str
    budget_tokens: int | None
    questions: int
    evidence_recall: Mean | None  # mean over the questions
    of_all_turns: float | None  # share of the evidence turns of all questions together
    by_category: dict[str, Mean | None]
    all_evidence: Mean | None  # share of the questions whose every evidence turn was found
    session_recall: Mean | None
    answer_coverage: Mean | None
    nuggets: Mean | None
    nuggets_by_category: dict[str, Mean | None]
    tokens_mean: float
    p50_ms: float
    p95_ms: float
    one_hit: float | None  # of all recalled units; xMemory, section 5.2
    two_hit: float | None
    multi_hit: float | None
    answers_covered: float | None  # share of the answers whose every word is in some unit
    cover_units: float | None  # mean over the covered: units, best first, until all words are there
    cover_tokens: float | None
    calls_per_1000_turns: float = 0.0  # of a chat model, to take the conversations in
    tokens_per_1000_turns: float = 0.0
    calls_per_question: float = 0.0
    tokens_per_question: float = 0.0
    without_faulted: RecallRow | None = None  # the same figures without the questions that the audit faults


def make_rows(data: DataSet, records: Sequence[Judged]) -> tuple[RecallRow, ...]:
    """One row per (system, budget), in the order in which they were asked."""
    groups: dict[tuple[str, int | None], list[Judged]] = {}
    for record in records:
        groups.setdefault((record.system, record.budget_tokens), []).append(record)
    rows = []
    for group in groups.values():
        row = _row(group, data)
        sound = [record for record in group if not record.faulted]
        if data.has_faults and sound:
            row = replace(row, without_faulted=_row(sound, data))
        rows.append(row)
    return tuple(rows)


def _row(records: Sequence[Judged], data: DataSet) -> RecallRow:
    densities = [record.density for record in records if record.density]
    units = sum(density.units for density in densities)
    covered = [d for d in densities if d.cover_units is not None]
    users = list({record.user: record for record in records}.values())
    turns = max(sum(record.turns for record in users), 1)
    wanted = sum(record.evidence for record in records)
    return RecallRow(
        system=records[0].system,
        budget_tokens=records[0].budget_tokens,
        questions=len(records),
        evidence_recall=_mean(record.evidence_recall for record in records),
        of_all_turns=1 - sum(len(record.missed) for record in records) / wanted if wanted else None,
        by_category={
            name: _mean(record.evidence_recall for record in records if record.category == name)
            for name in data.categories
        },
        all_evidence=_mean(float(not record.missed) for record in records if record.evidence),
        session_recall=_mean(record.session_recall for record in records),
        answer_coverage=_mean(record.answer_coverage for record in records),
        nuggets=_mean(record.nuggets for record in records),
        nuggets_by_category={
            name: _mean(record.nuggets for record in records if record.category == name)
            for name in data.categories
        },
        tokens_mean=sum(record.tokens for record in records) / len(records),
        p50_ms=percentile([record.ms for record in records], 50),
        p95_ms=percentile([record.ms for record in records], 95),
        one_hit=sum(d.one_hit for d in densities) / units if units else None,
        two_hit=sum(d.two_hit for d in densities) / units if units else None,
        multi_hit=sum(d.multi_hit for d in densities) / units if units else None,
        answers_covered=len(covered) / len(densities) if densities else None,
        cover_units=sum(d.cover_units or 0 for d in covered) / len(covered) if covered else None,
        cover_tokens=sum(d.cover_tokens or 0 for d in covered) / len(covered) if covered else None,
        calls_per_1000_turns=1000 * sum(record.ingest.calls for record in users) / turns,
        tokens_per_1000_turns=1000 * sum(record.ingest.tokens for record in users) / turns,
        calls_per_question=sum(record.cost.calls for record in records) / len(records),
        tokens_per_question=sum(record.cost.tokens for record in records) / len(records),
    )


def _mean(values: Iterator[float | None]) -> Mean | None:
    return Mean.of([value for value in values if value is not None])


def run_locomo(options: LoCoMoOptions, run: Run) -> Measurement:
    """LoCoMo."""
    return _measure(LoCoMoQuestions(options.path, options.errors), options, run)


def run_longmemeval(options: LongMemEvalOptions, run: Run) -> Measurement:
    """LongMemEval."""
    return _measure(LongMemEvalQuestions(options.path), options, run)


def run_beam(options: BEAMOptions, run: Run) -> Measurement:
    """BEAM; the whole of a chat is no context where no reader could be given it."""
    data, tools = BEAMQuestions(options.path), run.tools()
    users = {example.user for example in data.examples}
    systems, notes = that_fit(data, users, options.systems, tools, LONGEST_FULL_TOKENS)
    measured = _measure(data, replace(options, systems=systems), run)
    return replace(measured, notes=(*measured.notes, *notes))


def that_fit(
    data: DataSet, users: Collection[str], systems: Sequence[str], tools: Equipment, most_tokens: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Without full context where a user's conversation is too long for it, and a note that says so."""
    if "full" not in systems:
        return tuple(systems), ()
    longest = max(
        (sum(tools.tokenizer.count([message.content for message in data.messages(user)])) for user in users),
        default=0,
    )
    if longest <= most_tokens:
        return tuple(systems), ()
    note = f"without 'full': a chat has {longest:,} tokens, more than {most_tokens:,}"
    return tuple(name for name in systems if name != "full"), (note,)


def _measure(data: DataSet, options: LongMemEvalOptions, given: Run) -> Measurement:
    """With a chat model, views ask it; else everything is offline."""
    tools, chat = given.tools(options.floor), given.chat
    systems = check_systems(options.systems)
    records = run(data, systems, options.budget, tools, limit=options.limit, progress=given.progress)
    if not records:
        raise InvalidInput(f"{str(options.path)!r} has no question that can be answered: nothing to measure")
    rows = make_rows(data, records)
    figures = {"benchmark": data.name, "data": options.path.name, "rows": rows, "records": records}
    notes = []
    if isinstance(chat, RecordedModel) and (left := len(chat.open_questions())):
        notes.append(f"{left} questions are open in {chat.folder}: answer them and run again")
    return Measurement(figures, tables(data.name, rows), tuple(notes))


def tables(name: str, rows: Sequence[RecallRow]) -> list[Table]:
    """What was found at what cost, how dense the answers lie in it, and what a model was used for."""
    faults = any(row.without_faulted for row in rows)
    title = f"{name}: share of the evidence recalled ({rows[0].questions:,} questions)"
    caption = "sound only: without the questions that the audit faults" if faults else ""
    made = [tabulate(title, [*_ROW, *_found(rows, faults=faults)], rows, caption=caption)]
    if any(row.one_hit is not None for row in rows):
        title = "words of the gold answer in the recalled units (xMemory, section 5.2)"
        made.append(tabulate(title, [*_ROW, *_DENSITY], rows))
    if any(row.calls_per_1000_turns or row.calls_per_question for row in rows):
        title = "what a chat model was used for"
        made.append(tabulate(title, [*_ROW, *_MODEL], rows))
    return made


_ROW = (
    Column("system", lambda row: row.system, left=True),
    Column("budget", lambda row: budget(row.budget_tokens)),
)
_DENSITY = (
    Column("words in\nthe text", lambda row: share(row.answer_coverage)),
    Column("1-hit\nunits", lambda row: percent(row.one_hit)),
    Column("2-hit\nunits", lambda row: percent(row.two_hit)),
    Column("multi-hit\nunits", lambda row: percent(row.multi_hit)),
    Column("answers\ncovered", lambda row: percent(row.answers_covered)),
    Column("units\nto cover", lambda row: row.cover_units, ".1f"),
    Column("tokens\nto cover", lambda row: row.cover_tokens, ".0f"),
)
_MODEL = (
    Column("calls per\n1,000 turns", lambda row: row.calls_per_1000_turns, ".0f"),
    Column("tokens per\n1,000 turns", lambda row: row.tokens_per_1000_turns, ".0f"),
    Column("calls per\nquestion", lambda row: row.calls_per_question, ".2f"),
    Column("tokens per\nquestion", lambda row: row.tokens_per_question, ".0f"),
)


def _found(rows: Sequence[RecallRow], *, faults: bool) -> Iterator[Column]:
    yield Column("evi-\ndence", lambda row: share(row.evidence_recall))
    yield Column("95 %\n", lambda row: interval(row.evidence_recall))
    if faults:
        yield Column(
            "sound\nonly", lambda row: share(row.without_faulted and row.without_faulted.evidence_recall)
        )
    yield Column("of all\nturns", lambda row: share(row.of_all_turns))
    for name in rows[0].by_category:
        if any(row.by_category[name] for row in rows):
            yield _category(name)
    yield Column("all\nfound", lambda row: share(row.all_evidence))
    if any(row.session_recall for row in rows):
        yield Column("ses-\nsions", lambda row: share(row.session_recall))
    if any(row.nuggets for row in rows):
        yield Column("nug-\ngets", lambda row: share(row.nuggets))
    yield Column("to-\nkens", lambda row: row.tokens_mean, ".0f")
    yield Column("p50\nms", lambda row: row.p50_ms, ".1f")
    yield Column("p95\nms", lambda row: row.p95_ms, ".1f")


def _category(name: str) -> Column:
    return Column(category_head(name), lambda row: share(row.by_category[name]))


def category_head(name: str) -> str:
    """A category's name as the head of a column."""
    return _SHORT.get(name, name) + "\n"
