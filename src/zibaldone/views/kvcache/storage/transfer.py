"""A user's blocks as one safetensors file, and back: no code is run by reading it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.errors import BlockMissing, ForeignKV, InvalidImport, InvalidInput
from zibaldone.views.kvcache.model.encoding import BlockDraft
from zibaldone.views.kvcache.model.turns import Tile
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.block_files import checksum
from zibaldone.views.kvcache.storage.pool_reader import PoolReader
from zibaldone.views.kvcache.storage.store import whole_boxes
from zibaldone.views.kvcache.view import KVView, PreparedBlocks

_FORMAT = "zibaldone-kv-1"
_READABLE = (_FORMAT, "commonplace-kv-1")  # the project's earlier name


def export(view: KVView, reader: PoolReader, path: Path) -> int:
    """Write every block with its boxes and row; returns how many. What was evicted is encoded again.

    Raises BlockMissing when something is damaged, or has just changed.
    """
    pool, user = reader.pool, reader.pool.generation.user
    with reader.read() as connection:
        blocks = manifest.after(connection, pool.generation)
        contents = log.fetch(connection, user, sorted({seq for block in blocks for seq in block.tile.seqs}))
        attended = manifest.attended(connection, pool.generation)
        deletions = log.state(connection, user).deletions
    files = view.store.files(pool)
    if odd := [b.number for b in blocks if b.boxes_crc is not None and not whole_boxes(files, b)]:
        raise BlockMissing(f"the boxes of KV block {odd[0]} are not there any more, or are damaged")
    with view.model_lock:
        fetched = view.fetcher.fetch(reader, [block for block in blocks if block.slot is None])
    remade = {block.number: draft for block, draft in fetched.drafts}
    with reader.read() as connection:
        if log.state(connection, user).deletions != deletions:
            raise BlockMissing(f"something of user {user!r} was forgotten meanwhile")
    payloads = [
        remade[block.number].payload if block.slot is None else view.store.read(pool, block)
        for block in blocks
    ]
    whole = b"".join(payloads)
    tensors = {"blocks": np.frombuffer(whole, np.uint8).reshape(len(blocks), pool.layout.payload_bytes)}
    for layer in pool.layers:
        data = b"".join(files.read_boxes(layer, [block.number - 1 for block in blocks]))
        tensors[f"boxes.{layer}"] = np.frombuffer(data, np.uint8).reshape(len(blocks), -1)
    described = [
        [
            block.session,
            block.segment,
            block.time_us,
            checksum(payload),
            block.boxes_crc,
            block.tile.position,
            block.tile.ids,
            block.tile.runs,
        ]
        for block, payload in zip(blocks, payloads, strict=True)
    ]
    rows = {
        "blocks": described,
        "messages": [[seq, checksum(m.content.encode())] for seq, m in sorted(contents.items())],
        "attended": sorted(attended.items()),
    }
    written = json.dumps(rows)
    facts = {
        "format": _FORMAT,
        "fingerprint": pool.generation.fingerprint,
        "rows": written,
        "crc": str(checksum(written.encode())),
    }
    try:
        save_file(tensors, path, metadata=facts)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be written: {error}") from error
    return len(blocks)


@dataclass(frozen=True, slots=True)
class ImportedBlocks:
    """What a file holds."""

    prepared: PreparedBlocks
    contents: dict[int, int]  # by seq, the checksum of the message that its blocks were made of

    @property
    def seqs(self) -> set[int]:
        """Of the messages that it has blocks of."""
        return {seq for draft in self.prepared.drafts for seq in draft.tile.seqs}


def read(view: KVView, path: Path) -> ImportedBlocks:
    """Read and check a file. Raises InvalidImport, and ForeignKV for another model's."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = file.metadata() or {}
            if facts.get("format") not in _READABLE:
                raise InvalidImport(f"{path.name!r} is no export of KV blocks")
            if facts["fingerprint"] != view.fingerprint:
                raise ForeignKV(
                    f"the blocks of {path.name!r} were made by another model ({facts['fingerprint']}), not by"
                    f" this one ({view.fingerprint}): remember() encodes the log instead"
                )
            if str(checksum(facts["rows"].encode())) != facts["crc"]:
                raise InvalidImport(f"{path.name!r} is damaged: the checksum of its rows is wrong")
            rows = json.loads(facts["rows"])
            payloads = file.get_tensor("blocks")
            boxes = [file.get_tensor(f"boxes.{layer}") for layer in view.encoder.layers]
        drafts = []
        for place, (session, segment, time_us, crc, boxes_crc, position, ids, runs) in enumerate(
            rows["blocks"]
        ):
            payload = payloads[place].tobytes()
            block_boxes = tuple(per_layer[place].tobytes() for per_layer in boxes)
            if checksum(payload) != crc or checksum(b"".join(block_boxes)) != boxes_crc:
                raise InvalidImport(f"block {place} of {path.name!r} is damaged: its checksum is wrong")
            tile = Tile(int(position), tuple(map(int, ids)), tuple((int(s), int(n)) for s, n in runs))
            if not tile.ids or sum(tokens for _, tokens in tile.runs) != len(tile.ids):
                raise InvalidImport(f"block {place} of {path.name!r} does not say whose its tokens are")
            drafts.append(BlockDraft(str(session), int(segment), tile, int(time_us), payload, block_boxes))
        ends: dict[tuple[str, int], int] = {}
        for draft in sorted(drafts, key=lambda draft: (draft.session, draft.segment, draft.tile.position)):
            if draft.tile.position != ends.get((draft.session, draft.segment), 0):
                raise InvalidImport(f"{path.name!r} has a gap in a session's blocks")
            ends[draft.session, draft.segment] = draft.tile.position + len(draft.tile.ids)
        attended = {int(seq): tuple(map(int, seen)) for seq, seen in rows["attended"]}
        contents = {int(seq): int(crc) for seq, crc in rows["messages"]}
    except (SafetensorError, OSError, LookupError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidImport):
            raise
        raise InvalidImport(f"{path.name!r} cannot be read as an export of KV blocks: {error}") from error
    return ImportedBlocks(PreparedBlocks(tuple(drafts), (), attended), contents)


def messages_of(connection: Connection, user: str, imported: ImportedBlocks) -> list[Message]:
    """The messages of the log that these blocks are of. Raises InvalidImport when they do not fit it."""
    every = log.read(connection, user)
    known = {message.seq: checksum(message.content.encode()) for message in every}
    if odd := sorted(seq for seq in imported.seqs if known.get(seq) != imported.contents.get(seq)):
        raise InvalidImport(
            f"message {odd[0]} of user {user!r} is not what the blocks were made of: import the log that they"
            " belong to first"
        )
    behind = every[: len(imported.seqs)]
    if {message.seq for message in behind} != imported.seqs:
        raise InvalidImport("the file lacks blocks of earlier messages: remember() encodes the log instead")
    return behind
