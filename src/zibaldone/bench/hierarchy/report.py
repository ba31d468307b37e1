"""The hierarchy view's benchmark: what is measured of it, and its tables."""

from __future__ import annotations

from zibaldone.bench.hierarchy import structure, upkeep
from zibaldone.bench.hierarchy.plot import plot
from zibaldone.bench.hierarchy.structure import QUARTERS, Measuring
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import HierarchyOptions
from zibaldone.bench.table import Column, interval, share, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.views.hierarchy.calibration import calibrate

PARTS = ("structure", "cap", "speed")
# Theme sizes in the columns of a table; the JSON has every size.
_BANDS: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 3), (4, 6), (7, 9), (10, None))


def run(options: HierarchyOptions, run: Run) -> Measurement:
    """The parts that are asked for, and a theme map of the first conversation."""
    if unknown := sorted({*options.only} - {*PARTS}):
        raise InvalidInput(f"--only {unknown[0]!r} is no part: choose from {', '.join(PARTS)}")
    if options.plot:
        need("matplotlib")
    data, tools = LoCoMoQuestions(options.path), run.tools(options.floor)
    settings = structure.capped(options.caps)
    measuring = Measuring(data, tools, options.budget, run.progress)
    messages = sum(len(data.messages(user)) for user in data.users())
    figures: dict[str, object] = {
        "data": options.path.name,
        "conversations": len(data.users()),
        "messages": messages,
        "questions": len(measuring.examples),  # that can be answered, and whose evidence is marked
        "budget_tokens": options.budget,
    }
    shown = []
    for part, what, compared in (
        ("structure", "what may be restructured", structure.RESTRUCTURING),
        ("cap", "the cap of a theme", settings),
    ):
        if part in options.only:
            figures[part] = rows = list(measuring.rows(compared))
            shown.append(
                tabulate(f"hierarchy by {what}: {options.path.name}, {messages:,} messages", _SIZES, rows)
            )
            posed = f"{len(measuring.examples):,} questions at {options.budget:,} tokens"
            shown.append(tabulate(f"f and recall of {posed}", _COURSE, rows))
    if "speed" in options.only:
        run.progress("speed", 0, 0)
        figures["speed"] = times = upkeep.rows(options.sizes)
        shown.append(tabulate("one more semantic: attach, split, merge, both graphs", _UPKEEP, times))
    notes = []
    if options.plot:
        user = data.users()[0]
        thresholds = calibrate(tools.embedder)
        built = structure.build(data.messages(user), user, tools.embedder, tools.tokenizer, thresholds)
        plot(built, f"conversation {user}", options.plot)
        notes.append(f"written: {options.plot}")
    return Measurement(figures, shown, tuple(notes))


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
