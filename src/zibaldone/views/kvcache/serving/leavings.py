"""Keys that an engine leaves of what a request computed, until the log's owner makes blocks of them.

One file per tensor-parallel rank, in a folder of the user's that goes when something of the user's is
forgotten: keys can be inverted to text.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from zibaldone.views.kvcache.model.tap import Raw, RawKV
from zibaldone.views.kvcache.storage.block_files import left_folder

_FORMAT = "zibaldone-left-1"
_KEPT_S = 3600.0  # what nobody took by then is removed


@dataclass(frozen=True, slots=True)
class LeftKeys:
    """Of the tokens behind the memory: the question, and the answer but for its last token."""

    ids: tuple[int, ...]  # of question and answer, the last token of the answer included
    raw: Raw  # of the first of these, as many as went through the model


def write_left(
    root: Path,
    user: str,
    name: str,
    ids: Sequence[int],
    layers: dict[int, RawKV],
    head: int,
    files: int,
) -> None:
    """One rank's heads, from `head` on, of some layers, all or nothing; `files` is how many there will be.

    Raises OSError.
    """
    folder = left_folder(root, user)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {}
    for number, kv in layers.items():
        tensors[f"{number}.keys"] = kv.keys.cpu().contiguous()
        tensors[f"{number}.values"] = kv.values.cpu().contiguous()
    facts = {"format": _FORMAT, "ids": list(ids), "head": head, "files": files}
    path = folder / f"{name}-{min(layers)}-{head}.safetensors"
    beside = path.with_suffix(f".{os.getpid()}.part")
    save_file(tensors, beside, {"left": json.dumps(facts)})
    beside.chmod(0o600)
    beside.replace(path)


def take_left(root: Path, user: str, name: str, layers: int) -> LeftKeys | None:
    """What all ranks left under a name, which then is gone; None when it is not whole, or not readable."""
    folder = left_folder(root, user)
    parts = sorted(folder.glob(f"{name}-*.safetensors")) if folder.is_dir() else []
    try:
        return _joined([_read(path) for path in parts], layers)
    except Exception:  # noqa: BLE001 - whatever a damaged file makes the library raise: it is encoded later
        return None
    finally:
        _remove([*parts, *_stale(folder)])


def _read(path: Path) -> tuple[dict[str, Any], dict[int, RawKV]]:
    with safe_open(path, "pt") as file:
        facts = json.loads(file.metadata()["left"])
        if facts["format"] != _FORMAT:
            raise ValueError(f"its format is {facts['format']!r}")
        numbers = sorted({int(name.split(".")[0]) for name in file.keys()})  # noqa: SIM118 - not a mapping
        layers = {n: RawKV(file.get_tensor(f"{n}.keys"), file.get_tensor(f"{n}.values")) for n in numbers}
    return facts, layers


def _joined(parts: Sequence[tuple[dict[str, Any], dict[int, RawKV]]], layers: int) -> LeftKeys | None:
    """Heads beside heads, layer by layer."""
    if not parts or len(parts) < parts[0][0]["files"]:
        return None
    raw = []
    for number in range(layers):
        having = sorted((facts["head"], place) for place, (facts, kv) in enumerate(parts) if number in kv)
        heads = [parts[place][1][number] for _, place in having]
        raw.append(RawKV(torch.cat([kv.keys for kv in heads]), torch.cat([kv.values for kv in heads])))
    return LeftKeys(tuple(int(token) for token in parts[0][0]["ids"]), tuple(raw))


def _stale(folder: Path) -> list[Path]:
    before = time.time() - _KEPT_S
    with suppress(OSError):
        return [path for path in folder.iterdir() if path.stat().st_mtime < before]
    return []


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
