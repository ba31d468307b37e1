"""The one printer of tables: columns as data, a row per thing that was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.table import Table

from zibaldone.bench.stats import Mean


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, in lines, and how a row's figure is worked out and shown."""

    head: str
    figure: Callable[[Any], Any]  # of a row; None shows as a dash
    form: str = ""  # a format specification
    left: bool = False  # numbers stand to the right

    def cell(self, row: object) -> str:
        figure = self.figure(row)
        return "-" if figure is None else format(figure, self.form)


@dataclass(frozen=True, slots=True)
class TableLine:
    """One row of a table whose columns are the things measured."""

    label: str
    figure: Callable[[Any], Any]
    form: str = ""


def tabulate(
    title: str,
    columns: Sequence[Column],
    rows: Iterable[object],
    *,
    caption: str = "",
    markdown: bool = False,
) -> Table:
    """Heads stand at the bottom; Markdown can be pasted into a page."""
    table = Table(
        title=title,
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
        box=box.MARKDOWN if markdown else None,
        pad_edge=markdown,
        collapse_padding=len(columns) > 8,
    )
    lines = max(column.head.count("\n") for column in columns)
    for column in columns:
        head = "\n" * (lines - column.head.count("\n")) + column.head
        table.add_column(head, justify="left" if column.left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(column.cell(row) for column in columns))
    return table


def transpose(
    title: str,
    corner: str,
    lines: Sequence[TableLine],
    things: Sequence[tuple[str, object]],
    more: Sequence[Column] = (),
) -> Table:
    """A column per (head, thing) and a row per line; `more` columns are of the lines themselves."""
    columns = [Column(corner, lambda line: line.label, left=True)]
    columns += [_of_thing(head, thing) for head, thing in things]
    return tabulate(title, [*columns, *more], lines)


def _of_thing(head: str, thing: object) -> Column:
    return Column(head, lambda line: Column("", line.figure, line.form).cell(thing))


def share(mean: Mean | float | None, places: int = 3) -> str:
    """A share from 0 to 1 as in ".617"."""
    value = mean.value if isinstance(mean, Mean) else mean
    return "-" if value is None else f"{value:.{places}f}".removeprefix("0")


def interval(mean: Mean | None) -> str:
    """The 95 % interval of a mean."""
    return f"[dim]{share(mean.low, 2)}-{share(mean.high, 2)}[/]" if mean else "-"


def percent(value: float | None) -> str:
    """A share as in "61.7 %"."""
    return "-" if value is None else f"{100 * value:.1f} %"


def budget(budget_tokens: int | None) -> str:
    """None: the system was given no budget."""
    return "all" if budget_tokens is None else str(budget_tokens)
