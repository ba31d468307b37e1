"""ShareGPT: conversations whose turns say who they are from, a list of them or one a line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from zibaldone.core import NOISE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation, NotImported
from zibaldone.importers.document import Node
from zibaldone.importers.files import gathered, read_objects, refusal, with_keys
from zibaldone.importers.source import ImportSource

_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "function_call": "assistant",
    "observation": "tool",
}
_NOISE = {"system": "hidden", "tool": "result", "function_call": "call", "observation": "result"}


class ShareGPT:
    """Session: the conversation's id, or a digest of it where it has none."""

    name = "sharegpt"
    looks_for = "'conversations' with turns 'from' somebody in the first object"
    names_users = False

    def files(self, source: ImportSource) -> list[str]:
        """By the list of turns."""
        return with_keys(source, source.names, "conversations") if source.only else []

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation each."""
        for node in read_objects(source, source.names[0]):
            if isinstance(node, NotImported):
                yield Conversation(node.where, (), refused=(node,))
                continue
            try:
                turns, own = node["conversations"], node.get("id")
                encoded = json.dumps(turns.value, sort_keys=True, ensure_ascii=True).encode()
                label = own.label() if own else hashlib.sha256(encoded).hexdigest()[:16]
                yield gathered(label, _messages(turns, label))
            except InvalidImport as error:
                yield Conversation(node.at, (), refused=(refusal(error),))


def _messages(turns: Node, label: str) -> Iterator[Message | NotImported]:
    for number, turn in enumerate(turns.items(), 1):
        try:
            speaker, value = turn["from"], turn["value"].text()
            role = _ROLES.get(speaker.text())
            if role is None:
                raise speaker.fault(f"one of {', '.join(_ROLES)}")
            noise = _NOISE.get(speaker.text())
            if value.strip():
                session = f"sharegpt:{label}"
                metadata = {NOISE: noise} if noise else {}
                own_id = f"{session}:{number}"
                yield turn.message(Message(value, role, session=session, metadata=metadata, id=own_id))
        except InvalidImport as error:
            yield refusal(error, label)
