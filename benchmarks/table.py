"""The one printer of tables: columns as data, a row for each thing that was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its head, in lines, and how a row's figure is worked out and shown."""

    head: str
    figure: Callable[[Any], Any]  # of a row; None shows as a dash
    form: str = ""  # a format specification
    left: bool = False  # numbers stand to the right

    def cell(self, row: object) -> str:
        """The row's figure as it is shown."""
        figure = self.figure(row)
        return "-" if figure is None else format(figure, self.form)


def tabulate(title: str, columns: Sequence[Column], rows: Iterable[object], caption: str = "") -> Table:
    """Heads stand at the bottom."""
    table = Table(
        title=title,
        caption=caption or None,
        title_justify="left",
        caption_justify="left",
        box=None,
        pad_edge=False,
        collapse_padding=len(columns) > 8,
    )
    lines = max(column.head.count("\n") for column in columns)
    for column in columns:
        head = "\n" * (lines - column.head.count("\n")) + column.head
        table.add_column(head, justify="left" if column.left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(column.cell(row) for column in columns))
    return table
