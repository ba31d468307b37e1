"""A receipt as a file of the user's: with the texts until it is verified, without them as evidence."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from zibaldone.engine.forgetting import Receipt, Removed
from zibaldone.engine.verification.result import Verification
from zibaldone.errors import InvalidInput
from zibaldone.views.base import Counted

_FORMAT = "zibaldone-receipt-1"
_LONGEST_BYTES = 1 << 30


def write_receipt(path: Path, receipt: Receipt, verified: Verification | None = None) -> None:
    """Write it so that only its owner may read it; whole, or not at all. Raises InvalidInput."""
    content = to_object(receipt) | ({} if verified is None else {"verified": summary(verified)})
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # of mode 0600
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                json.dump(content, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise InvalidInput(f"no receipt can be written to {str(path)!r} ({error.strerror})") from error


def read_receipt(path: Path) -> Receipt:
    """The receipt of a file. Raises InvalidInput for a file that is none."""
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
    """Without the texts."""
    return replace(receipt, texts=())


def to_object(receipt: Receipt) -> dict[str, Any]:
    """It as JSON."""
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
    """The inverse. Raises ValueError, TypeError or KeyError for what is no receipt."""
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
    """What was looked at and what was found, in figures: no word of any text."""
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
        "unreadable": verified.unreadable,
        "leftovers": len(verified.leftovers),
    }
