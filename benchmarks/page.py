"""The page of results, docs/results.md, made of benchmarks/results/*.json: `python -m benchmarks.page`.

Whatever stands there was printed by a command of this repository; each table has that command, its commit and
date.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import RESULTS, ROOT

PAGE = ROOT / "docs" / "results.md"
_HEAD = """# Results

Made by `python -m benchmarks.page` of `benchmarks/results/*.json`; [measuring](comparing.md) says what each
figure is, [decisions](decisions.md) what was tried. A share stands beside its standard error over questions.
`hybrid` is thirty lines of words and vectors over people's own turns, `bm25-user` is BM25 over the same.
"""


def page(files: Sequence[Path]) -> str:
    """The whole page; a section for each file, in the order of their names."""
    return "\n".join([_HEAD, *(section(file) for file in files)])


def section(file: Path) -> str:
    """A file's title, what made it, what it notes, and its table."""
    made = json.loads(file.read_text(encoding="utf-8"))
    rows = made["rows"]
    shares = bool(rows) and {"data", "row", "budget", "mean", "error"} <= rows[0].keys()
    table = "\n".join(_shares(rows) if shares else _plain(rows))
    note = f"{made['note']}\n\n" if made.get("note") else ""
    by = f"`{made['command']}`, commit {made['commit']}, {made['date'][:10]}."
    return f"## {made.get('title', file.stem)}\n\n{note}{by}\n\n{table}\n"


def _shares(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A line for each data set, a column for each system and budget."""
    columns = list(dict.fromkeys((row["budget"], row["row"]) for row in rows))
    columns.sort(key=lambda column: column[0])
    cells = {(row["data"], row["budget"], row["row"]): row for row in rows}
    questions = {row["data"]: row["questions"] for row in rows}
    yield from _line(["data", "questions", *(f"{name}, {budget:,}" for budget, name in columns)])
    yield from _line(["---"] * (len(columns) + 2))
    for data, count in questions.items():
        found = [cells.get((data, *column)) for column in columns]
        shown = [f"{_share(cell['mean'])} ± {_share(cell['error'])}" if cell else "" for cell in found]
        yield from _line([data, str(count), *shown])


def _plain(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    names = list(rows[0]) if rows else []
    yield from _line([name.replace("_", " ") for name in names])
    yield from _line(["---"] * len(names))
    for row in rows:
        yield from _line([_cell(row[name]) for name in names])


def _line(cells: Sequence[str]) -> Iterator[str]:
    yield f"| {' | '.join(cells)} |"


def _share(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict):  # a mean
        return f"{value['value']:.3g} ± {value['error']:.2g}"
    return (
        f"{value:,.3g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


def main() -> None:
    PAGE.write_text(page(sorted(RESULTS.glob("*.json"))), encoding="utf-8")


if __name__ == "__main__":
    main()
