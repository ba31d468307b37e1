"""A user's blocks as one safetensors file, and back: no code is run by reading it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sqlalchemy import Connection

from commonplace import log, maintenance
from commonplace.errors import ForeignKV, InvalidImport, InvalidInput
from commonplace.storage.database import Database
from commonplace.views.kv import manifest
from commonplace.views.kv.encoding import Draft
from commonplace.views.kv.manifest import Pool
from commonplace.views.kv.pool import checksum
from commonplace.views.kv.turns import Tile
from commonplace.views.kv.view import KVView, Prepared

_FORMAT = "commonplace-kv-1"


def export(connection: Connection, view: KVView, pool: Pool, path: Path) -> int:
    """Write every block with its boxes and row; returns how many. What was evicted is encoded again."""
    files = view.store.files(pool)
    blocks = manifest.after(connection, pool.generation)
    payloads: list[bytes] = []
    with view.model_lock:
        for block in blocks:
            if block.slot is not None:
                payloads.append(view.store.read(pool, block))
            else:
                remade = {b.number: draft for b, draft in view.fetch(connection, pool, [block]).drafts}
                payloads.append(remade[block.number].payload)
    whole = b"".join(payloads)
    tensors = {"blocks": np.frombuffer(whole, np.uint8).reshape(len(blocks), pool.layout.payload_bytes)}
    for layer in pool.layers:
        data = b"".join(files.read_boxes(layer, [block.number - 1 for block in blocks]))
        tensors[f"boxes.{layer}"] = np.frombuffer(data, np.uint8).reshape(len(blocks), -1)
    described = [
        {
            "session": block.session,
            "segment": block.segment,
            "time_us": block.time_us,
            "crc": checksum(payload),
            "boxes_crc": block.boxes_crc,
            **asdict(block.tile),
        }
        for block, payload in zip(blocks, payloads, strict=True)
    ]
    seqs = sorted({seq for block in blocks for seq in block.tile.seqs})
    contents = log.fetch(connection, pool.generation.user, seqs)
    attended = manifest.attended(connection, pool.generation)
    facts = {
        "format": _FORMAT,
        "fingerprint": pool.generation.fingerprint,
        "blocks": json.dumps(described),
        "messages": json.dumps({str(seq): checksum(m.content.encode()) for seq, m in contents.items()}),
        "attended": json.dumps({str(seq): seen for seq, seen in attended.items()}),
    }
    try:
        save_file(tensors, path, metadata=facts)
    except (OSError, SafetensorError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be written: {error}") from error
    return len(blocks)


def import_(database: Database, view: KVView, user: str, path: Path) -> int:
    """Take the blocks of messages that the log has, from seq 1 on without a gap, into an empty pool."""
    try:
        with safe_open(path, framework="numpy") as file:
            facts = file.metadata() or {}
            if facts.get("format") != _FORMAT:
                raise InvalidImport(f"{path.name!r} is no export of KV blocks")
            if facts["fingerprint"] != view.fingerprint:
                raise ForeignKV(
                    f"the blocks of {path.name!r} were made by another model ({facts['fingerprint']}), not by"
                    f" this one ({view.fingerprint}): remember() encodes the log instead"
                )
            described, contents = json.loads(facts["blocks"]), json.loads(facts["messages"])
            attended = {int(seq): tuple(seen) for seq, seen in json.loads(facts["attended"]).items()}
            payloads = file.get_tensor("blocks")
            boxes = [file.get_tensor(f"boxes.{layer}") for layer in view.encoder.layers]
        drafts = []
        for place, row in enumerate(described):
            payload = payloads[place].tobytes()
            if checksum(payload) != row["crc"]:
                raise InvalidImport(f"block {place} of {path.name!r} is damaged: its checksum is wrong")
            runs = tuple((int(seq), int(tokens)) for seq, tokens in row["runs"])
            tile = Tile(int(row["position"]), tuple(int(i) for i in row["ids"]), runs)
            one = tuple(per_layer[place].tobytes() for per_layer in boxes)
            if checksum(b"".join(one)) != row["boxes_crc"]:
                raise InvalidImport(f"the boxes of block {place} of {path.name!r} are damaged")
            drafts.append(Draft(row["session"], int(row["segment"]), tile, int(row["time_us"]), payload, one))
    except (SafetensorError, OSError, KeyError, ValueError, TypeError, IndexError) as error:
        raise InvalidImport(f"{path.name!r} cannot be read as an export of KV blocks: {error}") from error
    with database.write() as connection:
        if maintenance.serving(connection, user, view) is not None:
            raise InvalidInput(f"user {user!r} has blocks already: importing is for a pool that is empty")
        every = log.read(connection, user)
        named = {seq for draft in drafts for seq in draft.tile.seqs}
        known = {m.seq: checksum(m.content.encode()) for m in every}
        if odd := sorted(seq for seq in named if known.get(seq) != contents.get(str(seq))):
            raise InvalidImport(
                f"message {odd[0]} of user {user!r} is not what the blocks of {path.name!r} were made of:"
                " import the log that they belong to first"
            )
        if not drafts:
            return 0
        behind = [message for message in every if message.seq in named]
        if [message.seq for message in every[: len(behind)]] != [message.seq for message in behind]:
            raise InvalidImport(
                f"{path.name!r} lacks blocks of earlier messages: remember() encodes the log instead"
            )
        maintenance.commit_first(connection, user, view, behind, Prepared(tuple(drafts), (), attended))
        log.touch(connection, user, deleted=True)
    return len(drafts)
