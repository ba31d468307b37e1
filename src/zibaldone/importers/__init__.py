"""Foreign conversation files, folders and archives: one module per format, recognised by content."""

from __future__ import annotations

import difflib
from importlib import import_module
from pathlib import Path

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidImport, UnknownName
from zibaldone.importers.base import Conversation, NotImported
from zibaldone.importers.files import Importer, head_of
from zibaldone.importers.source import ImportSource, opened_source

__all__ = ["Conversation", "ImportSource", "Importer", "NotImported", "get", "names", "recognise"]

# name -> module and class, in the order in which they are asked; a module is imported when its format is
_IMPORTERS = {
    "chatgpt": ("chatgpt", "ChatGPT"),
    "claude": ("claude", "Claude"),
    "gemini": ("gemini", "Gemini"),
    "claude_code": ("claude_code", "ClaudeCode"),
    "codex": ("codex", "Codex"),
    "slack": ("slack", "Slack"),
    "discord": ("discord", "Discord"),
    "telegram": ("telegram", "Telegram"),
    "whatsapp": ("whatsapp", "WhatsApp"),
    "mbox": ("mbox", "Mbox"),
    "markdown": ("markdown", "Markdown"),
    "sharegpt": ("sharegpt", "ShareGPT"),
    "mem0": ("mem0", "Mem0"),
    "csv": ("table", "NamedColumns"),
    "jsonl": ("jsonl", "JSONLines"),
}


_HINT = (
    "If it is one of the formats below all the same, name it (--format). A text that is one note is imported"
    " when its name ends in .md, or added as a message (zibaldone add -)."
)


def names() -> tuple[str, ...]:
    """The formats that can be imported."""
    return tuple(_IMPORTERS)


def get(name: str) -> Importer:
    """The importer of a format. Raises UnknownName."""
    if name not in _IMPORTERS:
        close = difflib.get_close_matches(str(name), _IMPORTERS, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownName(f"no import format {shown(name)}: use one of {', '.join(_IMPORTERS)}{hint}")
    module, class_name = _IMPORTERS[name]
    importer: Importer = getattr(import_module(f"{__name__}.{module}"), class_name)()
    return importer


def recognise(given: str | Path | ImportSource) -> Importer:
    """Return the first importer that accepts the source's content.

    Raises InvalidImport, with the formats tried.
    """
    if not isinstance(given, ImportSource):
        with opened_source(given) as source:
            return recognise(source)
    importers = [get(name) for name in _IMPORTERS]
    for importer in importers:
        if importer.files(given):
            return importer
    if given.only is None:
        opening = f"the {given.kind} holds {', '.join(map(repr, given.names[:8])) or 'nothing'}"
    else:
        opening = f"it begins with {head_of(given, given.only).text[:60]!r}"  # raises if it is no text
    tried = "; ".join(f"{importer.name}: no {importer.looks_for}" for importer in importers)
    raise InvalidImport(f"{given.label}: is of no known format: {opening}. {_HINT} Tried {tried}")
