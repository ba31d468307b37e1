"""Receipts as files, and the result of a verification.

A receipt's file has the forgotten texts until it is verified; then it is evidence without them.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from zibaldone.engine.forgetting import Receipt, Removed
from zibaldone.errors import InvalidInput
from zibaldone.importers.export import appearing_whole
from zibaldone.views.base import Counted


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A table, file or object that was searched whole."""

    kind: Literal["table", "file", "object", "export"]
    name: str  # of a file of the memory, its path in the folder; of an object, its key
    rows: int  # of a table; 0 of a file
    bytes: int


@dataclass(frozen=True, slots=True)
class Leftover:
    """A remainder of something forgotten."""

    kind: Literal["text", "word", "reference", "key"]
    where: str  # the table and the row's key, or the file and the bytes
    words: str  # of a text: some of its words; of a reference: what refers to what; of a key: its number


@dataclass(frozen=True, slots=True)
class Verification:
    """Result of searching a memory for the messages of a receipt."""

    user: str
    time: datetime
    messages: int
    texts: int  # that were looked for; 0: only references were
    looked_for: int  # every 24 bytes in a row of these, short texts, telling words
    excused: int  # of those, how many stand in messages that are still there, and so prove nothing
    too_short: int  # texts of less than 8 bytes: they stand in any file by chance, and were not looked for
    purge_is_due: bool  # files are still to be purged, by the next opening of the memory
    looked_at: tuple[LookedAt, ...]
    leftovers: tuple[Leftover, ...]

    @property
    def ok(self) -> bool:
        """True if nothing is left."""
        return not self.leftovers and not self.purge_is_due

    @property
    def bytes(self) -> int:
        """Number of bytes searched."""
        return sum(looked.bytes for looked in self.looked_at)


_FORMAT = "zibaldone-receipt-1"
_LONGEST_BYTES = 1 << 30


def write_receipt(path: Path, receipt: Receipt, verified: Verification | None = None) -> None:
    """Write a receipt atomically to a file that only its owner may read. Raises InvalidInput."""
    content = to_object(receipt) | ({} if verified is None else {"verified": summary(verified)})
    with appearing_whole(path) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=1).encode())


def read_receipt(path: Path) -> Receipt:
    """Read a receipt. Raises InvalidInput for a file that is none."""
    try:
        if path.stat().st_size > _LONGEST_BYTES:
            raise InvalidInput(f"{str(path)!r} is too large for a receipt")
        given = json.loads(path.read_bytes())
        return from_object(given)
    except OSError as error:
        raise InvalidInput(f"no receipt can be read from {str(path)!r} ({error.strerror})") from error
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(
            f"{str(path)!r} is no receipt: 'zibaldone forget --receipt FILE' writes one"
        ) from error


def sealed(receipt: Receipt) -> Receipt:
    """Return the receipt without the forgotten texts."""
    return replace(receipt, texts=())


def to_object(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as a JSON object."""
    return {
        "format": _FORMAT,
        "user": receipt.user,
        "time": receipt.time.isoformat() if receipt.time else None,
        "dry_run": receipt.dry_run,
        "seqs": list(receipt.seqs),
        "views": {
            view.view: {counted.kind: counted.rows for counted in view.counts} for view in receipt.views
        },
        "purged": receipt.purged,
        "key": receipt.key,
        "texts": list(receipt.texts),
    }


def from_object(given: dict[str, Any]) -> Receipt:
    """Return the receipt of a JSON object. Raises ValueError, TypeError or KeyError."""
    if given["format"] != _FORMAT or not isinstance(given["user"], str):
        raise ValueError("no receipt")
    seqs, texts = given["seqs"], given["texts"]
    if not all(type(seq) is int for seq in seqs) or not all(isinstance(text, str) for text in texts):
        raise TypeError("no receipt")
    views = tuple(
        Removed(view, tuple(Counted(kind, int(rows)) for kind, rows in counts.items()))
        for view, counts in given["views"].items()
    )
    time = datetime.fromisoformat(given["time"]) if given["time"] else None
    return Receipt(
        given["user"],
        bool(given["dry_run"]),
        tuple(seqs),
        views,
        bool(given["purged"]),
        time=time,
        texts=tuple(texts),
        key=str(given.get("key", "")),
    )


def summary(verified: Verification) -> dict[str, Any]:
    """Return a verification as counts, without any text."""
    looked = Counter(looked.kind for looked in verified.looked_at)
    return {
        "time": verified.time.isoformat(),
        "ok": verified.ok,
        "tables": looked["table"],
        "files": looked["file"],
        "exports": looked["export"],
        "bytes": verified.bytes,
        "texts": verified.texts,
        "looked_for": verified.looked_for,
        "excused": verified.excused,
        "too_short": verified.too_short,
        "leftovers": len(verified.leftovers),
    }
