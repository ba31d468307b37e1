"""The hierarchy view's benchmark: what is measured of it, and its tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rich.table import Table

from zibaldone.bench.hierarchy import structure, upkeep
from zibaldone.bench.hierarchy.plot import plot
from zibaldone.bench.hierarchy.structure import QUARTERS, Measuring, Row
from zibaldone.bench.hierarchy.upkeep import Upkeep
from zibaldone.bench.locomo import LoCoMo
from zibaldone.bench.outcome import Outcome, Provenance, Run, need_extra
from zibaldone.bench.registry import HierarchyOptions
from zibaldone.bench.table import Column, interval, share, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.views.hierarchy.calibration import calibrate

PARTS = ("structure", "cap", "speed")
# Theme sizes in the columns of a table; the JSON has every size.
_BANDS: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 3), (4, 6), (7, 9), (10, None))


@dataclass(frozen=True, slots=True)
class HierarchyReport:
    """One file. A part that was not asked for is empty."""

    provenance: Provenance
    data: str
    conversations: int
    messages: int
    questions: int  # that can be answered, and whose evidence is marked
    budget_tokens: int
    structure: tuple[Row, ...] = ()
    caps: tuple[Row, ...] = ()
    upkeep: tuple[Upkeep, ...] = ()


def run(options: HierarchyOptions, run: Run) -> Outcome:
    """The parts that are asked for, and a theme map of the first conversation."""
    if unknown := sorted({*options.only} - {*PARTS}):
        raise InvalidInput(f"--only {unknown[0]!r} is no part: choose from {', '.join(PARTS)}")
    if options.plot:
        need_extra("plot", "matplotlib")
    data, tools = LoCoMo(options.path), run.tools(options.floor)
    settings = structure.capped(options.caps)
    measuring = Measuring(data, tools, options.budget, run.progress)
    report = HierarchyReport(
        Provenance.of(run.command),
        options.path.name,
        len(data.users()),
        sum(len(data.messages(user)) for user in data.users()),
        len(measuring.examples),
        options.budget,
    )
    if "structure" in options.only:
        report = replace(report, structure=tuple(measuring.rows(structure.RESTRUCTURING)))
    if "cap" in options.only:
        report = replace(report, caps=tuple(measuring.rows(settings)))
    if "speed" in options.only:
        run.progress("speed", 0, 0)
        report = replace(report, upkeep=tuple(upkeep.rows(options.sizes)))
    notes = []
    if options.plot:
        user = data.users()[0]
        thresholds = calibrate(tools.embedder)
        built = structure.build(data.messages(user), user, tools.embedder, tools.tokenizer, thresholds)
        plot(built, f"conversation {user}", options.plot)
        notes.append(f"written: {options.plot}")
    return Outcome(report, list(tables(report)), tuple(notes))


def tables(report: HierarchyReport) -> Iterator[Table]:
    """What was measured, in the order of the report's fields."""
    for what, rows in (("what may be restructured", report.structure), ("the cap of a theme", report.caps)):
        if rows:
            data = f"{report.data}, {report.messages:,} messages"
            yield tabulate(f"hierarchy by {what}: {data}", _SIZES, rows)
            recalled = f"f and recall of {report.questions:,} questions at {report.budget_tokens:,} tokens"
            yield tabulate(recalled, _COURSE, rows)
    if report.upkeep:
        yield tabulate("one more semantic: attach, split, merge, both graphs", _UPKEEP, report.upkeep)


def _band(low: int, high: int | None) -> Column:
    head = str(low) if low == high else f"{low}-{high}" if high else f"{low}+"
    return Column(
        f"{'of size' if low == 1 else ''}\n{head}",
        lambda row: sum(row.sizes[low - 1 : high]) / max(row.themes, 1),
        ".0%",
    )


def _quarter(number: int) -> Column:
    head = f"{'f after' if number == 1 else ''}\n{number}/{QUARTERS}"
    return Column(head, lambda row: row.f_over_time[number - 1], ".3f")


_SIZES = (
    Column("setting", lambda row: row.setting, left=True),
    Column("epi-\nsodes", lambda row: row.episodes, ","),
    Column("seman-\ntics", lambda row: row.semantics, ","),
    Column("themes", lambda row: row.themes, ","),
    Column("mean\nsize", lambda row: row.per_theme, ".2f"),
    Column("most", lambda row: row.largest),
    *(_band(low, high) for low, high in _BANDS),
)
_COURSE = (
    Column("setting", lambda row: row.setting, left=True),
    *(_quarter(number) for number in range(1, QUARTERS)),
    Column("f at\nend", lambda row: row.f, ".3f"),
    Column("re-\nassigned", lambda row: row.reassigned, ".1%"),
    Column("evi-\ndence", lambda row: share(row.recall)),
    Column("95 %\n", lambda row: interval(row.recall)),
    Column("to-\nkens", lambda row: row.tokens, ".0f"),
    Column("ms /\nmessage", lambda row: row.ms_per_message, ".1f"),
)
_UPKEEP = (
    Column("semantics", lambda row: row.semantics, ","),
    Column("themes", lambda row: row.themes, ","),
    Column("median\nms", lambda row: row.median_ms, ".2f"),
    Column("p95\nms", lambda row: row.p95_ms, ".2f"),
    Column("of themes\nms", lambda row: row.themes_ms, ".2f"),
    Column("of the graph\nms", lambda row: row.graph_ms, ".2f"),
    Column("by eights\nms", lambda row: row.together_ms, ".2f"),
)
