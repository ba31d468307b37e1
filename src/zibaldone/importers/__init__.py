"""Foreign conversation files, and folders of them: one module per format, recognised by content."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

from zibaldone.errors import InvalidImport, UnknownName
from zibaldone.importers.base import Conversation, FolderImporter, Importer
from zibaldone.validation import shown

__all__ = ["Conversation", "Importer", "get", "names", "recognise"]

# name -> class, in the order in which they are asked; a module is imported when its format is
_IMPORTERS = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "locomo": "LoCoMoImporter",
    "longmemeval": "LongMemEvalImporter",
    "beam": "BEAM",
    "jsonl": "JSONLines",
}


def names() -> tuple[str, ...]:
    """The formats that can be imported."""
    return tuple(_IMPORTERS)


def get(name: str) -> Importer:
    """The importer of a format. Raises UnknownName."""
    if name not in _IMPORTERS:
        close = difflib.get_close_matches(str(name), _IMPORTERS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownName(f"no import format {shown(name)}: use one of {', '.join(_IMPORTERS)}{hint}")
    importer: Importer = getattr(import_module(f"{__name__}.{name}"), _IMPORTERS[name])()
    return importer


def recognise(path: str | Path) -> Importer:
    """The importer for a file or a folder, by its content. Raises InvalidImport when none knows it."""
    from zibaldone.importers.files import is_folder, read_head

    path = Path(path)
    known = [get(name) for name in _IMPORTERS]
    if is_folder(path):
        for importer in known:
            files = importer.files(path) if isinstance(importer, FolderImporter) else []
            if files and importer.recognises(read_head(files[0])):
                return importer
    head = read_head(path)  # which refuses a folder
    for importer in known:
        if importer.recognises(head):
            return importer
    what_it_has = f"has the keys {', '.join(map(repr, head.keys[:12]))}" if head.keys else "is not there"
    looked_for = "; ".join(f"{importer.name}: {importer.looks_for}" for importer in known)
    raise InvalidImport(
        f"{path}: is of no known format: its first object {what_it_has}. Looked for {looked_for}."
        " If it is one of these all the same, name the format"
    )
