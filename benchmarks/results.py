"""Results: a JSON file for each command, with what made it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console, JustifyMethod
from rich.table import Table

from zibaldone import __version__
from zibaldone.cli.compare.evidence import Mean

T = TypeVar("T")
K = TypeVar("K")
ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def write(path: Path, figures: dict[str, Any]) -> None:
    """The figures behind command, version, commit and date; dataclasses become objects."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    command = shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *words])
    made = {
        "command": command,
        "version": __version__,
        "commit": COMMIT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(made | figures, ensure_ascii=False, indent=1, default=_plain)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


def beside_earlier(path: Path, new: Sequence[dict[str, Any]], key: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a result file, if it is there, without those of a new one's key; then the new ones."""
    earlier = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.is_file() else []
    keys = {tuple(row[name] for name in key) for row in new}
    return [*(row for row in earlier if tuple(row[name] for name in key) not in keys), *new]


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Items by their keys, both in the order in which they come."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def show(title: str, rows: Sequence[object], caption: str = "") -> None:
    """Print rows, dataclasses or dicts of one kind; a column in which nothing stands is left out."""
    shown = [_fields(row) for row in rows]
    names = [name for name in shown[0] if any(row[name] not in (None, "") for row in shown)]
    table = Table(
        title=title, caption=caption or None, title_justify="left", caption_justify="left", box=None
    )
    for name in names:
        head = "\n".join(re.split("[-_ ]", name))
        justify: JustifyMethod = "left" if isinstance(shown[0][name], str) else "right"
        table.add_column(head, justify=justify, vertical="bottom", no_wrap=True)
    for row in shown:
        table.add_row(*(cell(row[name]) for name in names))
    console = Console()
    (console if console.is_terminal else Console(width=200)).print(table)


def _fields(row: object) -> dict[str, Any]:
    """Fields of a row by name; those of a dict in a field stand for themselves."""
    fields = row if isinstance(row, dict) else {name: getattr(row, name) for name in type(row).__slots__}  # type: ignore[attr-defined] # our dataclasses have them
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return flat


def cell(value: object) -> str:
    """A figure as tables show it: .868±.011, 5.48, 1,971."""
    match value:
        case None:
            return ""
        case Mean():
            return f"{number(value.value)}±{number(value.error)}"
        case {"value": mean, "error": error}:
            return f"{number(mean)}±{number(error)}"
        case float():
            return number(value)
        case int():
            return f"{value:,}"
    return re.sub(r"\b0(?=\.\d{3})", "", str(value)).replace(" ± ", "±")


def number(value: float) -> str:
    """Three digits."""
    if abs(value) >= 100 or not value:
        return f"{value:,.0f}"
    text = f"{value:.3f}" if abs(value) < 1 else f"{value:.3g}"
    return re.sub(r"^(-?)0(?=\.)", r"\1", text)


def commit() -> str | None:
    """The commit of this checkout, with a "+" when the code was changed since; None where there is no git."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        return None

    def ask(*words: str) -> str:
        command = [git or "", "-C", str(ROOT), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    changed = ask("status", "--porcelain", "src", "benchmarks")
    return ask("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")


COMMIT = commit()  # of the code that runs, whatever is committed meanwhile


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
