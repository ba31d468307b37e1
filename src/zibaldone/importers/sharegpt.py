"""ShareGPT: conversations whose turns say who they are from, a list of them or one a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count

from zibaldone.core import NOISE, Message
from zibaldone.importers.base import Item
from zibaldone.importers.document import Node
from zibaldone.importers.files import Importer, each, read_objects
from zibaldone.importers.source import ImportSource

_ROLES = dict.fromkeys(("gpt", "chatgpt", "bing", "bard", "assistant", "model", "function_call"), "assistant")
_ROLES |= {"human": "user", "user": "user", "system": "system", "tool": "tool", "observation": "tool"}
_NOISE = {"system": "hidden", "tool": "result", "function_call": "call", "observation": "result"}


class ShareGPT(Importer):
    """Session: the conversation's id, or a digest of it where it has none."""

    name = "sharegpt"
    looks_for = "'conversations' with turns 'from' somebody in the first object"
    first_keys = frozenset({"conversations"})

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield the messages of each conversation."""
        return each(read_objects(source, name), _conversation)


def _conversation(node: Node) -> Iterator[Item]:
    turns, own = node["conversations"], node.get("id")
    encoded = json.dumps(turns.value, sort_keys=True, ensure_ascii=True).encode()
    label = own.label() if own else hashlib.sha256(encoded).hexdigest()[:16]
    session, number = f"sharegpt:{label}", count(1)
    return each(turns.items(), lambda turn: _message(turn, session, next(number)), label)


def _message(turn: Node, session: str, number: int) -> Iterator[Message]:
    speaker, value = turn["from"], turn["value"].text()
    if speaker.text() not in _ROLES:
        raise speaker.fault(f"one of {', '.join(_ROLES)}")
    if value.strip():
        noise = _NOISE.get(speaker.text())
        metadata = {NOISE: noise} if noise else {}
        message = Message(value, _ROLES[speaker.text()], session=session, metadata=metadata)
        yield turn.message(replace(message, id=f"{session}:{number}"))
