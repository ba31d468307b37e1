"""The bytes of attachments, where an export holds the files: found by what its messages call them.

Exports name files by the id that a message has for one (ChatGPT: `file-AbC123-cat.png` for the pointer
`file-service://file-AbC123`), by their own name (WhatsApp), by their path (Telegram), or by a digest of
what is in them (our own).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from zibaldone.core import Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import NotImported
from zibaldone.importers.source import ImportSource
from zibaldone.log.message_input import ATTACHMENTS, MOST_FILE_BYTES

_TOGETHER_BYTES = 32 * 2**20  # of files that are in memory, unless one message has more
_ID = re.compile(r"[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|file[-_][0-9A-Za-z]{6,}")


@dataclass(frozen=True, slots=True)
class WithFiles:
    """Messages with the bytes that the source has of their attachments."""

    messages: list[Message]
    files: int  # whose bytes are there
    refused: tuple[NotImported, ...]  # files that are there, and cannot be kept


class AttachedFiles:
    """The files of a source that may be attachments."""

    def __init__(self, source: ImportSource, read: Sequence[str]) -> None:
        """`read` are those that an importer reads itself."""
        self._source = source
        self._by_name: dict[str, list[str]] = {}
        self._by_id: dict[str, list[str]] = {}
        for name in () if source.only else set(source.names).difference(read):
            self._by_name.setdefault(PurePosixPath(name).name, []).append(name)
            for own_id in set(_ID.findall(name)):
                self._by_id.setdefault(own_id, []).append(name)

    def find(self, attachment: Mapping[str, Any]) -> str | None:
        """Return the name of an attachment's file; None if there is none, or it is ambiguous."""
        called = str(attachment.get("name") or "")
        for given in (attachment.get("sha256"), attachment.get("id"), called.rpartition("://")[2]):
            meant = self._by_id.get(str(given), [])
            if len(meant) == 1:
                return meant[0]
        alike = [called] if called in self._by_name.get(PurePosixPath(called).name, []) else []
        alike = alike or self._by_name.get(called, [])
        size = attachment.get("bytes")
        alike = [name for name in alike if size in (None, self._source.entries[name].size_bytes)]
        return alike[0] if len(alike) == 1 else None

    def parts(self, messages: Sequence[Message]) -> Iterator[WithFiles]:
        """Yield messages with their files' bytes, in order, in parts that fit in memory."""
        some: list[Message] = []
        refused: list[NotImported] = []
        files = size = 0
        for message in messages:
            whole = self._with_files(message, refused)
            some.append(whole)
            lengths = [len(data) for data in whole.files if data is not None]
            files, size = files + len(lengths), size + sum(lengths)
            if size >= _TOGETHER_BYTES:
                yield WithFiles(some, files, tuple(refused))
                some, refused, files, size = [], [], 0, 0
        if some:
            yield WithFiles(some, files, tuple(refused))

    def _with_files(self, message: Message, refused: list[NotImported]) -> Message:
        known = message.metadata.get(ATTACHMENTS)
        if not isinstance(known, list) or not self._by_name:
            return message
        listed: list[Any] = []
        files: list[bytes | None] = []
        for attachment in known:
            data = self._data(attachment, refused) if isinstance(attachment, dict) else None
            files.append(data)
            seen = {} if data is None else {"sha256": sha256(data).hexdigest(), "bytes": len(data)}
            listed.append({**attachment, **seen} if seen else attachment)
        if not any(data is not None for data in files):
            return message
        return replace(message, metadata={**message.metadata, ATTACHMENTS: listed}, files=tuple(files))

    def _data(self, attachment: dict[str, Any], refused: list[NotImported]) -> bytes | None:
        name = self.find(attachment)
        if name is None:
            return None
        where, most = self._source.where(name), MOST_FILE_BYTES // 2**20
        try:
            data = self._source.beginning(name, MOST_FILE_BYTES + 1)
        except InvalidImport as error:
            refused.append(NotImported(where, str(error).removeprefix(f"{where}: ")))
            return None
        if len(data) > MOST_FILE_BYTES:
            refused.append(NotImported(where, f"has more than {most} MiB: its bytes are not kept"))
            return None
        return data
