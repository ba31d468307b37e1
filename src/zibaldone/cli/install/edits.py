"""Edits of other programs' configuration: something of ours in a file, and nothing else of it touched.

What was there before is kept beside the file while ours is in it (JSON is written anew, two blanks a level).
It comes back byte for byte where ours is all that has changed; else ours is cut out. Every edit is worked out
before the first file is written.

An edit knows what of a text is `ours`; `put` gives a text, or a new file, with ours in it: what is to be
there, unless given; and `cut` without. Each raises ValueError for a text that is not of its kind.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zibaldone.errors import InvalidInput
from zibaldone.importers.export import appearing_whole

BACKUP = ".before-zibaldone"  # behind the name of a file
_BEGIN, _END = "# zibaldone: begin", "# zibaldone: end"
_BLOCK = re.compile(rf"\n?^{_BEGIN}\n(?P<ours>.*?)\n{_END}(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_NAME = "zibaldone"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it is to be; None: not there."""

    path: Path
    before: str | None
    after: str | None
    keeps: bool = False  # what was before, beside it
    ends: bool = False  # what was kept goes

    def make(self) -> None:
        """Write the file, or delete it. Raises InvalidInput."""
        real = self.path.resolve()  # of a symbolic link
        try:
            if self.keeps and self.before is not None:
                _write(_backup_of(real), self.before, real)
            if self.after is None:
                real.unlink(missing_ok=True)
                _remove_empty_folders(real)
            elif self.after != self.before:
                _write(real, self.after, real)
            if self.ends:
                _backup_of(real).unlink(missing_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be written ({error.strerror}): change its rights, and try again"
            ) from error


def put_in(edit: ConfigEdit) -> Change:
    """The change that puts ours into a file; nothing is written yet. Raises InvalidInput, with the file."""
    before = read(edit.path)
    with _named(edit.path):
        keeps = before is not None and edit.ours(before) is None
        return Change(edit.path, before, edit.put(before), keeps=keeps)


def taken_out(edit: ConfigEdit) -> Change:
    """The change that takes ours out of a file again. Raises as `put_in`."""
    before, kept = read(edit.path), read(_backup_of(edit.path.resolve()))
    with _named(edit.path):
        ours = None if before is None else edit.ours(before)
        if before is None or ours is None:
            return Change(edit.path, before, before)
        for earlier in (kept, None):
            if edit.put(earlier, ours) == before:
                return Change(edit.path, before, earlier, ends=True)
        return Change(edit.path, before, edit.cut(before), ends=True)


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is ours alone; all of them name us."""

    path: Path
    text: str

    def ours(self, text: str) -> Any:
        return text if "zibaldone" in text else None

    def put(self, text: str | None, ours: Any = None) -> str:  # noqa: ARG002 - it takes the place of all
        return self.text if ours is None else str(ours)

    def cut(self, text: str) -> str:
        return text  # never asked: `put` made all of it


@dataclass(frozen=True, slots=True)
class TomlTables:
    """Tables at the end of a TOML file, between two comments."""

    path: Path
    text: str

    def ours(self, text: str) -> Any:
        tomllib.loads(text)
        match = _BLOCK.search(text)
        return match["ours"] if match else None

    def put(self, text: str | None, ours: Any = None) -> str:
        block = f"{_BEGIN}\n{self.text if ours is None else ours}\n{_END}\n"
        if text is None or not text.strip():
            return block
        others = text if self.ours(text) is None else self.cut(text)
        gap = "\n" if others.endswith("\n") else "\n\n"
        new = f"{others}{gap}{block}" if others else block
        try:
            tomllib.loads(new)
        except ValueError as error:
            raise ValueError(f"it has tables already that are to be added ({error})") from error
        return new

    def cut(self, text: str) -> str:
        return _BLOCK.sub("", text)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """The member `zibaldone` of one of the objects in a file of plain JSON."""

    path: Path
    group: str  # the object's name
    value: Mapping[str, Any]

    def ours(self, text: str) -> Any:
        return self._read(text)[1].get(_NAME)

    def put(self, text: str | None, ours: Any = None) -> str:
        everything, group = self._read(text)
        group[_NAME] = self.value if ours is None else ours
        return _written(everything)

    def cut(self, text: str) -> str:
        everything, group = self._read(text)
        del group[_NAME]
        return _written(everything)

    def _read(self, text: str | None) -> tuple[dict[str, Any], dict[str, Any]]:
        """All of a file, and the object in it."""
        try:
            everything = json.loads(text if text and text.strip() else "{}")
        except ValueError as error:  # with comments, too, which would be lost
            ours = json.dumps({_NAME: self.value})
            raise ValueError(
                f"it is not plain JSON ({error}); by hand put {ours} into {self.group!r}"
            ) from error
        group = everything.setdefault(self.group, {}) if isinstance(everything, dict) else None
        if not isinstance(group, dict):
            raise ValueError(f"{self.group!r} is no object in it")  # noqa: TRY004
        return everything, group


def _written(everything: Mapping[str, Any]) -> str:
    text = json.dumps(everything, indent=2, ensure_ascii=False) + "\n"
    text.encode()  # raises a ValueError for half of a pair, which no file can hold
    return text


ConfigEdit = WholeFile | TomlTables | JsonMember


def read(path: Path) -> str | None:
    """A file's text; None where there is none. Raises InvalidInput."""
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read ({error}); nothing was written") from error


def _write(path: Path, text: str, like: Path) -> None:
    """Put a file in place whole, with the rights of the one that is like it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = like.stat().st_mode & 0o777 if like.exists() else 0o644
    with appearing_whole(path) as file:
        file.write(text.encode())
        os.fchmod(file.fileno(), mode)


def _remove_empty_folders(path: Path) -> None:
    with suppress(OSError):  # of one that is not empty
        for folder in path.parents:
            if folder in (Path.home(), Path.cwd()):
                break
            folder.rmdir()


def _backup_of(real: Path) -> Path:
    return real.with_name(real.name + BACKUP)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say of which file a fault is."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be changed: {error}. Mend it or move it away, and run this again;"
            " nothing was written"
        ) from error
