"""What a benchmark is run with, and what it gives back."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.table import Table

from zibaldone.bench.base import Equipment
from zibaldone.errors import MissingExtra
from zibaldone.models.base import ChatModel
from zibaldone.models.static import shared_static_embedder

_EXTRAS = {
    "httpx2": "pip install 'zibaldone[server]'",
    "matplotlib": "pip install 'zibaldone[plot]'",
    "obstore": "pip install 'zibaldone[s3]'",
    "psycopg": "pip install 'zibaldone[postgres]'",
    "starlette": "pip install 'zibaldone[server]'",
    "torch": "pip install 'zibaldone[kv]'",
    "transformers": "pip install 'zibaldone[kv]'",
    "uvicorn": "pip install 'zibaldone[server]'",
    "vllm": "pip install 'zibaldone[kv,vllm]'",
}

Progress = Callable[[str, int, int], None]  # (what is going on, done, of; 0 where nobody knows)


def silent(what: str, done: int, of: int) -> None:
    """A progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Run:
    """What every benchmark gets beside its options."""

    command: str  # as it was typed
    folder: Path  # for files; removed afterwards
    progress: Progress = silent
    note: Callable[[str], None] = print  # a line for whoever waits
    chat: ChatModel | None = None  # what views may ask; None: they work offline

    def tools(self, floor: float | None = None) -> Equipment:
        """The embedded embedder and tokenizer, for every system alike."""
        embedder = shared_static_embedder()
        return Equipment(embedder, embedder, self.folder, floor, self.chat)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A run's figures, and how they are shown."""

    figures: Mapping[str, object]  # by name, numbers and dataclasses; `to_json` writes them
    tables: Sequence[Table] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made a report."""

    command: str
    version: str
    commit: str | None  # None: not run from a checkout; "+" when the checkout was changed since
    date: str  # ISO 8601, UTC

    @classmethod
    def of(cls, command: str) -> Provenance:
        try:
            released = version("zibaldone")
        except PackageNotFoundError:
            released = "unknown"
        return cls(command, released, git_commit(), datetime.now(UTC).isoformat(timespec="seconds"))


def git_commit() -> str | None:
    """The commit of the checkout that this file belongs to, with a "+" when its files were changed."""
    git = shutil.which("git")
    root = Path(__file__).resolve().parents[3]
    if git is None or not (root / ".git").exists():
        return None

    def ask(*words: str) -> str:
        command = [git, "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603

    try:
        return ask("rev-parse", "--short=12", "HEAD") + ("+" if ask("status", "--porcelain", "src") else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def to_json(figures: object) -> str:
    """Every field and every property of a dataclass, by its name there."""
    return json.dumps(_plain(figures), ensure_ascii=False, indent=1)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        names += [name for name, kind in vars(type(value)).items() if isinstance(kind, property)]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


def need(*modules: str) -> None:
    """Raises MissingExtra without them: before a measurement, not after it."""
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(f"no module {module!r}: {_EXTRAS[module]}")
