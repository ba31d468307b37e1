"""Edits of other programs' configuration: something of ours in a file, and what others have in it kept.

Every edit is worked out before the first file is written. An edit's `put` gives a text, or a new file, with
ours in it; `cut` the text without, None where nothing else is left (JSON is written anew, two blanks a
level). Each raises ValueError for a text that is not of its kind.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zibaldone.errors import InvalidInput
from zibaldone.importers.export import appearing_whole

_BEGIN, _END = "# zibaldone: begin", "# zibaldone: end"
_BLOCK = re.compile(rf"\n?^{_BEGIN}\n.*?\n{_END}(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_NAME = "zibaldone"


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it is to be; None: not there."""

    path: Path
    before: str | None
    after: str | None

    def make(self) -> None:
        """Write the file, or delete it. Raises InvalidInput."""
        real = self.path.resolve()  # of a symbolic link
        try:
            if self.after is None:
                real.unlink(missing_ok=True)
                _remove_empty_folders(real)
            else:
                _write(real, self.after)
        except OSError as error:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be written ({error.strerror}): change its rights, and try again"
            ) from error


def put_in(edit: ConfigEdit) -> Change:
    """The change that puts ours into a file; nothing is written yet. Raises InvalidInput, with the file."""
    return _changed(edit.path, edit.put)


def taken_out(edit: ConfigEdit) -> Change:
    """The change that takes ours out of a file again. Raises as `put_in`."""
    return _changed(edit.path, lambda text: None if text is None else edit.cut(text))


def _changed(path: Path, change: Callable[[str | None], str | None]) -> Change:
    before = read(path)
    try:
        return Change(path, before, change(before))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be changed: {error}. Mend it or move it away, and run this again;"
            " nothing was written"
        ) from error


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A file that is ours alone."""

    path: Path
    text: str

    def put(self, text: str | None) -> str:  # noqa: ARG002 - it takes the place of all
        return self.text

    def cut(self, text: str) -> str | None:  # noqa: ARG002
        return None


@dataclass(frozen=True, slots=True)
class TomlTables:
    """Tables at the end of a TOML file, between two comments."""

    path: Path
    text: str

    def put(self, text: str | None) -> str:
        others = self.cut(text or "") or ""
        gap = "" if not others else "\n" if others.endswith("\n") else "\n\n"
        new = f"{others}{gap}{_BEGIN}\n{self.text}\n{_END}\n"
        try:
            tomllib.loads(new)
        except ValueError as error:
            raise ValueError(f"it has tables already that are to be added ({error})") from error
        return new

    def cut(self, text: str) -> str | None:
        tomllib.loads(text)
        return _BLOCK.sub("", text) or None


@dataclass(frozen=True, slots=True)
class JsonMember:
    """The member `zibaldone` of one of the objects in a file of plain JSON."""

    path: Path
    group: str  # the object's name
    value: Mapping[str, Any]

    def put(self, text: str | None) -> str:
        everything, group = self._read(text)
        group[_NAME] = self.value
        return _written(everything)

    def cut(self, text: str) -> str | None:
        everything, group = self._read(text)
        if group.pop(_NAME, None) is None:
            return text
        if not group:
            del everything[self.group]
        return _written(everything) if everything else None

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


def _write(path: Path, text: str) -> None:
    """Put a file in place whole, with the rights of the one that was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
    with appearing_whole(path) as file:
        file.write(text.encode())
        os.fchmod(file.fileno(), mode)


def _remove_empty_folders(path: Path) -> None:
    with suppress(OSError):  # of one that is not empty
        for folder in path.parents:
            if folder in (Path.home(), Path.cwd()):
                break
            folder.rmdir()
