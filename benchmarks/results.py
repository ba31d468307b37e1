"""Results: a JSON file for each command, with what made it."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from zibaldone import __version__

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"


def write(path: Path, figures: dict[str, Any]) -> None:
    """The figures behind command, version, commit and date; dataclasses become objects."""
    words = [Path(word).name if "/" in word else word for word in sys.argv[1:]]
    command = shlex.join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *words])
    made = {
        "command": command,
        "version": __version__,
        "commit": _COMMIT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(made | figures, ensure_ascii=False, indent=1, default=_plain)
    path.write_text(text + "\n", encoding="utf-8")
    print(f"written: {path}", file=sys.stderr)


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


_COMMIT = commit()  # of the code that runs, whatever is committed meanwhile


def _plain(value: object) -> object:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
