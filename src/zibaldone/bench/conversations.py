"""Reads a benchmark's file: its conversations by the project's importers, its questions as plain JSON."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.files import read_json
from zibaldone.importers.importing import read_file


def read_benchmark(path: Path, kind: str) -> tuple[list[Any], dict[str, tuple[Message, ...]]]:
    """The file's JSON objects, and each user's messages in the file's order, numbered from 1.

    Raises InvalidImport when the importer of this kind cannot read it, or finds no conversation.
    """
    raw = read_json(path).value
    entries = raw if isinstance(raw, list) else [raw]
    messages = {
        str(conversation.user_hint): tuple(
            replace(message, seq=seq) for seq, message in enumerate(conversation.messages, start=1)
        )
        for conversation in read_file(path, kind).conversations
    }
    if not messages:
        raise InvalidImport(f"{path}: has no conversation: give a {kind} file with at least one")
    return entries, messages


def read_plain_json(path: Path) -> Any:
    """The content of a JSON file that is no conversation. Raises InvalidImport."""
    return read_json(path).value
