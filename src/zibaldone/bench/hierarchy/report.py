"""The hierarchy view's benchmark: what is measured of it, and its tables."""

from __future__ import annotations

from zibaldone.bench.hierarchy import structure
from zibaldone.bench.hierarchy.plot import plot
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Measurement, Run, need
from zibaldone.bench.registry import HierarchyOptions
from zibaldone.bench.table import Column, tabulate
from zibaldone.errors import InvalidInput
from zibaldone.views.hierarchy import XMemory
from zibaldone.views.hierarchy.calibration import calibrate

PARTS = ("themes", "speed")
# Theme sizes in the columns of a table; the JSON has every size.
_BANDS: tuple[tuple[int, int | None], ...] = ((1, 1), (2, 3), (4, 6), (7, 9), (10, None))


def run(options: HierarchyOptions, run: Run) -> Measurement:
    """The parts that are asked for, and a theme map of the first conversation."""
    if unknown := sorted({*options.only} - {*PARTS}):
        raise InvalidInput(f"--only {unknown[0]!r} is no part: choose from {', '.join(PARTS)}")
    if options.plot:
        need("matplotlib")
    caps = [XMemory(theme_cap=cap).theme_cap for cap in options.caps]  # refused as the view refuses them
    data, tools = LoCoMoQuestions(options.path), run.tools(None)
    messages = sum(len(data.messages(user)) for user in data.users())
    figures: dict[str, object] = {
        "data": options.path.name,
        "conversations": len(data.users()),
        "messages": messages,
    }
    shown = []
    if "themes" in options.only:
        figures["themes"] = rows = list(structure.rows(data, tools, caps, run.progress))
        title = f"themes by their cap: {options.path.name}, {messages:,} messages"
        shown.append(tabulate(title, _THEMES, rows))
    if "speed" in options.only:
        run.progress("speed", 0, 0)
        figures["speed"] = times = structure.upkeep(options.sizes)
        shown.append(tabulate("time to make all themes", _UPKEEP, times))
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


_THEMES = (
    Column("cap", lambda row: row.cap),
    Column("epi-\nsodes", lambda row: row.episodes, ","),
    Column("seman-\ntics", lambda row: row.semantics, ","),
    Column("themes", lambda row: row.themes, ","),
    Column("mean\nsize", lambda row: row.per_theme, ".2f"),
    *(_band(low, high) for low, high in _BANDS),
    Column("cosine\ninside", lambda row: row.likeness, ".3f"),
    Column("of any\ntwo", lambda row: row.likeness_of_any, ".3f"),
    Column("build ms\n/ message", lambda row: row.build_ms, ".1f"),
    Column("themes ms\n/ semantic", lambda row: row.themes_ms, ".2f"),
)
_UPKEEP = (
    Column("semantics", lambda row: row.semantics, ","),
    Column("themes", lambda row: row.themes, ","),
    Column("seconds", lambda row: row.seconds, ".2f"),
    Column("ms /\nsemantic", lambda row: row.each_ms, ".2f"),
)
