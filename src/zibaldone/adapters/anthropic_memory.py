"""Anthropic's memory tool (`memory_20250818`): files below /memories, kept as a user's items.

    files = MemoryFiles(memory, user="ann")
    files.run({"command": "view", "path": "/memories"})  # a tool_use's input -> a tool_result's text
    client.beta.messages.tool_runner(tools=[memory_tool(files)], ...)  # or let Anthropic's SDK do it

MemoryFiles needs no SDK, `memory_tool` the extra `anthropic`. Results and errors are worded as Anthropic's
own implementation words them: models are trained on these. Every version of a file is a message; recall and
search find the newest, and a deleted file is forgotten.
"""

from __future__ import annotations

import inspect
import posixpath
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from zibaldone.api.items import ItemPut
from zibaldone.api.memory import Memory
from zibaldone.core.validation import shown, whole_text
from zibaldone.errors import IdConflict, InvalidInput, MissingExtra

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaAbstractMemoryTool

ROOT = "/memories"
_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
_NAMESPACE = "files"  # what the namespaces of files begin with among a user's items
_NUMBER_WIDTH = 6
_AROUND = 2  # lines shown on either side of a change
_LEVELS = 2  # of a listing
_UNLISTED = "node_modules"
_EVERY = 2**31

Parts = tuple[str, ...]  # a path below the root
Files = Mapping[Parts, str]  # with what they say


class MemoryFiles:
    """One user's files below /memories. What cannot be done raises InvalidInput, in the tool's own words."""

    def __init__(self, memory: Memory, *, user: str) -> None:
        self._items = memory.user(user).items

    def run(self, command: Mapping[str, Any]) -> str:
        """Do what a model asked for, by the input of its tool_use block; returns the result's text.

        An InvalidInput's words are the text of a result with `is_error`.
        """
        if not isinstance(command, Mapping):
            raise InvalidInput(f"a command must be a mapping, not {shown(command)}")
        name = command.get("command")
        if name not in _COMMANDS:
            raise InvalidInput(f"Unknown command: {name}")
        method: Callable[..., str] = getattr(self, name)
        given = {key: value for key, value in command.items() if key != "command" and value is not None}
        try:
            inspect.signature(method).bind(**given)
        except TypeError as error:
            raise InvalidInput(f"Invalid parameters of {name}: {error}") from error
        return method(**given)

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A folder's files, two levels deep, or a file's lines with their numbers."""
        parts = _parts(path)
        files = self._files()
        if parts in files:
            return _numbered(path, files[parts], view_range)
        if not _is_folder(files, parts):
            raise _missing(path)
        head = f"Here're the files and directories up to {_LEVELS} levels deep in {path},"
        listed = [((), path), *_listed(files, parts)]
        lines = (f"{_size(_bytes_of(files, parts + inner))}\t{shown_as}" for inner, shown_as in listed)
        return "\n".join([f"{head} excluding hidden items and {_UNLISTED}:", *lines])

    def create(self, path: str, file_text: str) -> str:
        """Make a new file."""
        parts = _parts(path)
        text = whole_text("file_text", file_text)
        files = self._files()
        if parts in files or _is_folder(files, parts):
            raise InvalidInput(f"File {path} already exists")
        _check_folders(files, parts)
        try:
            self._items.put_all([_put(parts, text, 0)])
        except IdConflict as error:
            raise InvalidInput(f"File {path} already exists") from error
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Put other words in the place of some that stand in a file once."""
        old, new = whole_text("old_str", old_str), whole_text("new_str", new_str)

        def replaced(text: str) -> str:
            times = text.count(old) if old else 0
            if not times:
                raise InvalidInput(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
                )
            if times > 1:
                places = (place for place in range(len(text)) if text.startswith(old, place))
                lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
                raise InvalidInput(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines:"
                    f" {lines}. Please ensure it is unique"
                )
            return text.replace(old, new)

        before, after = self._edit(path, replaced)
        changed = before.count("\n", 0, before.find(old))
        first = max(0, changed - _AROUND)
        snippet = _with_numbers(after.split("\n")[first : changed + _AROUND + 1], first + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"
            + snippet
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Put lines behind a line of a file; behind line 0 is before the first."""
        new = whole_text("insert_text", insert_text).rstrip("\n")

        def inserted(text: str) -> str:
            lines = text.removesuffix("\n").split("\n") if text else []
            if type(insert_line) is not int or not 0 <= insert_line <= len(lines):
                raise InvalidInput(
                    f"Invalid `insert_line` parameter: {insert_line}."
                    f" It should be within the range [0, {len(lines)}]."
                )
            return "\n".join([*lines[:insert_line], new, *lines[insert_line:]]) + "\n"

        self._edit(path, inserted)
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Forget a file, or all that is below a folder, with all earlier versions."""
        parts = _parts(path)
        if not parts:
            raise InvalidInput(f"Cannot delete the {ROOT} directory itself")
        files = self._files()
        gone = [parts] if parts in files else _below(files, parts)
        if not gone:
            raise InvalidInput(f"The path {path} does not exist")
        self._forget(gone)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a folder. What a file said earlier is forgotten with its old name."""
        old, new = _parts(old_path), _parts(new_path)
        if not old:
            raise InvalidInput(f"Cannot rename the {ROOT} directory itself")
        files = self._files()
        moved = [old] if old in files else _below(files, old)
        if new in files or _is_folder(files, new):
            raise InvalidInput(f"The destination {new_path} already exists")
        if not moved:
            raise InvalidInput(f"The path {old_path} does not exist")
        if new[: len(old)] == old:
            raise InvalidInput(f"Cannot rename {old_path} to {new_path}, which is inside it")
        _check_folders(files, new)
        targets = {new + parts[len(old) :]: files[parts] for parts in moved}
        try:
            self._items.put_all(_put(parts, text, 0) for parts, text in targets.items())
        except IdConflict as error:
            raise InvalidInput(f"The destination {new_path} already exists") from error
        self._forget(moved)
        return f"Successfully renamed {old_path} to {new_path}"

    def _files(self) -> Files:
        items = self._items.search((_NAMESPACE,), limit=_EVERY)
        return {(*item.namespace[1:], item.key): item.text for item in items}

    def _edit(self, path: str, change: Callable[[str], str]) -> tuple[str, str]:
        """Change a file's text; returns the old one and the new one. Begins anew where others came first."""
        parts = _parts(path)
        while True:
            item = self._items.get((_NAMESPACE, *parts[:-1]), parts[-1]) if parts else None
            if item is None:
                if _is_folder(self._files(), parts):
                    raise InvalidInput(f"The path {path} is not a file.")
                raise _missing(path)
            after = change(item.text)
            try:
                self._items.put_all([_put(parts, after, item.seq)])
            except IdConflict:
                continue
            return item.text, after

    def _forget(self, files: list[Parts]) -> None:
        self._items.delete(((_NAMESPACE, *parts[:-1]), parts[-1]) for parts in files)


def memory_tool(files: MemoryFiles) -> BetaAbstractMemoryTool:
    """The files as a tool of Anthropic's SDK, for its tool runner. Raises MissingExtra without the SDK."""

    class _MemoryTool(_sdk().BetaAbstractMemoryTool):  # type: ignore[misc] # imported just now
        def call(self, input: object) -> str:  # noqa: A002 - the SDK's word
            return _answer(files, input)

        view = create = str_replace = insert = delete = rename = execute = call

    return cast("BetaAbstractMemoryTool", _MemoryTool())


def _sdk() -> Any:
    try:
        from anthropic.lib import tools
    except ImportError as error:
        raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[anthropic]'") from error
    return tools


def _answer(files: MemoryFiles, command: Any) -> str:
    try:
        return files.run(command if isinstance(command, Mapping) else command.to_dict())
    except InvalidInput as error:
        raise _sdk().ToolError(str(error)) from error


def _put(parts: Parts, text: str, after: int) -> ItemPut:
    return ItemPut((_NAMESPACE, *parts[:-1]), parts[-1], {}, text, after)


def _parts(path: object) -> Parts:
    """A path below /memories, taken apart; `..` may not lead out of it."""
    if not isinstance(path, str) or not (path == ROOT or path.startswith(f"{ROOT}/")):
        raise InvalidInput(f"Path must start with {ROOT}, got: {path}")
    if path.splitlines() != [path] or not path.isprintable():
        raise InvalidInput(f"Path {shown(path)} has a line break or another control character")
    normal = posixpath.normpath(path)
    if normal != ROOT and not normal.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path {path} would escape {ROOT} directory")
    return tuple(normal.removeprefix(ROOT).split("/")[1:])


def _below(files: Files, folder: Parts) -> list[Parts]:
    """The files in a folder and in its folders, sorted."""
    return sorted(parts for parts in files if parts[: len(folder)] == folder and parts != folder)


def _is_folder(files: Files, parts: Parts) -> bool:
    """True if there is such a folder; the root always is."""
    return not parts or bool(_below(files, parts))


def _bytes_of(files: Files, parts: Parts) -> int:
    """The size of a file, or of all that is below a folder."""
    return sum(len(files[file].encode()) for file in ([parts] if parts in files else _below(files, parts)))


def _check_folders(files: Files, parts: Parts) -> None:
    for depth in range(1, len(parts)):
        if parts[:depth] in files:
            raise InvalidInput(f"The path {'/'.join((ROOT, *parts[:depth]))} is not a directory.")


def _missing(path: str) -> InvalidInput:
    return InvalidInput(f"The path {path} does not exist. Please provide a valid path.")


def _listed(files: Files, folder: Parts) -> list[tuple[Parts, str]]:
    """List a folder, two levels deep: each file, and each folder with a slash behind its name."""
    lines: dict[Parts, str] = {}
    base = "/".join((ROOT, *folder))
    for parts in _below(files, folder):
        inner = parts[len(folder) :]
        if any(name.startswith(".") or name == _UNLISTED for name in inner):
            continue
        for depth in range(1, min(len(inner), _LEVELS) + 1):
            is_file = depth == len(inner)
            lines[inner[:depth]] = "/".join((base, *inner[:depth])) + ("" if is_file else "/")
    return sorted(lines.items())


def _numbered(path: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range is not None:
        if not isinstance(view_range, list) or [type(line) for line in view_range] != [int, int]:
            raise InvalidInput(f"Invalid `view_range` parameter: {view_range}. It should be [start, end].")
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    shown_lines = lines[first - 1 : max(0, last)]
    return f"Here's the content of {path} with line numbers:\n{_with_numbers(shown_lines, first)}"


def _with_numbers(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _size(size_bytes: int) -> str:
    """Such as 0B, 412B, 4K or 1.5M."""
    if not size_bytes:
        return "0B"
    power = min((size_bytes.bit_length() - 1) // 10, 3)
    size = size_bytes / 1024**power
    return f"{int(size) if size == int(size) else f'{size:.1f}'}{'BKMG'[power]}"
