"""Output of the command line: answers on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from threading import Event, Thread
from time import monotonic

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

NOTHING_FOUND, BAD_INPUT, STORAGE_FAILED, MODEL_FAILED = 1, 2, 3, 4  # exit codes
_SHORT_CELL, _SHORT_NAME = 18, 36  # columns, such as of a date, and of a word such as a UUID: never broken
_LONG_CELL = 24  # columns that are left at least to words, which are
_GAP = 2
_BREAKS = re.compile(r"[\t\n\r]+")
INTERRUPTED = 130
_WORTH_TELLING_S, _LONGEST_SILENCE_S = 2.0, 30.0  # between lines that tell of progress
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def fields_of(value: object) -> dict[str, object]:
    """A dataclass as a JSON object."""
    shown = plain(value)
    assert isinstance(shown, dict)
    return shown


def plain(value: object) -> object:
    """A result as JSON: dataclasses become objects (less their unprinted fields), times ISO 8601."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value) if field.repr}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str | int | float | bool | None):
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence | set | frozenset):
        return [plain(item) for item in value]
    return str(value)


def write_json(value: object) -> None:
    """Write one JSON value, and nothing else, on standard output."""
    shown = json.dumps(plain(value), ensure_ascii=False, indent=2)
    write(_CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", shown))


def write(text: str) -> None:
    """Write text on standard output: to a terminal without control characters, elsewhere word for word."""
    # bytes, since typer takes escape sequences out of text that goes into a pipe or a file
    typer.echo(visible(text) if _is_terminal() else text.encode())


def give_up_standard_output() -> None:
    """Discard what is still buffered, since the end of the process would try to write it again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def note(text: str, style: str = "dim") -> None:
    """Write a line on standard error."""
    Console(stderr=True, highlight=False).print(Text(visible(text), style=style), soft_wrap=True)


def visible(text: str) -> str:
    """Text that cannot steer a terminal: other people's words may hold escape sequences."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def say_folder(folder: object) -> None:
    """Name the memory's folder in a line on standard error, where that is a terminal."""
    if _errors_are_seen():
        from zibaldone.storage.database import place_shown

        note(f"memory: {place_shown(str(folder))}")


def table(*columns: str, rows: Iterable[Sequence[object]]) -> None:
    """Write rows on standard output: on a terminal as columns, on a narrow one as a block for each row.

    Elsewhere a line for each row, its cells with tabs between them: nothing is cut or wrapped, however long.
    """
    rows = list(rows)
    cells = [[visible(str(value)) for value in row] for row in rows]
    console = Console(highlight=False)
    if not console.is_terminal:
        for line in ([*columns], *cells):
            write("\t".join(_BREAKS.sub(" ", cell) for cell in line))
        return
    made = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    needed = (len(columns) - 1) * _GAP  # columns of the terminal: short cells whole, and some of the long
    for place, column in enumerate(columns):
        is_short = all(_is_short(row[place]) for row in cells)
        is_number = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        made.add_column(column, justify="right" if is_number else "left", overflow="fold", no_wrap=is_short)
        longest = max([cell_len(column), *(cell_len(row[place]) for row in cells)])
        needed += longest if is_short else _LONG_CELL
    for row in cells:
        made.add_row(*map(Text, row))
    console.print(made if needed <= console.width else _in_blocks(columns, cells))


def _in_blocks(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> Text:
    """A line for each cell, with its name; rich wraps it between words."""
    blocks = (
        "\n".join(f"{name} {cell}".strip() for name, cell in zip(columns, row, strict=True) if cell)
        for row in cells
    )
    return Text("\n\n".join(blocks), overflow="fold")


def _is_short(cell: str) -> bool:
    """True if it stands in one line: such as a date, a number, a name."""
    return cell_len(cell) <= (_SHORT_CELL if " " in cell else _SHORT_NAME)


@contextmanager
def progress(label: str, *, shown: bool = True) -> Iterator[Callable[[int, int], None]]:
    """Tell on standard error how far that has come which takes longer than two seconds, less and less often.

    Give what is yielded (done, total), where these are known.
    """
    ended, began, far = Event(), monotonic(), ""

    def tell() -> None:
        pause = _WORTH_TELLING_S
        while not ended.wait(pause):
            note(f"{label}: {far or f'{monotonic() - began:.0f} s so far'}")
            pause = min(2 * pause, _LONGEST_SILENCE_S)

    def take(done: int, total: int) -> None:
        nonlocal far
        far = f"{100 * done // total} %" if total else ""

    if shown:
        Thread(target=tell, name="zibaldone-progress", daemon=True).start()
    try:
        yield take
    finally:
        ended.set()


def _errors_are_seen() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _is_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()  # None: closed when the process began


def short(text: str, most: int = 60) -> str:
    """A text in one line, cut."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def some(values: Sequence[object], most: int = 10) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(values) - most} more" if len(values) > most else ""
    return ", ".join(map(str, values[:most])) + more if values else "nobody"


def count(number: int, thing: str) -> str:
    """A number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"
