"""What mem0 remembers: the answer of `get_all`, the platform's export, or a list of memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from zibaldone.core import AGENT, PROFILE, Message
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Branches, Conversation
from zibaldone.importers.document import Node
from zibaldone.importers.files import read_value, refusal, try_head
from zibaldone.importers.source import ImportSource

_LISTS = ("results", "memories")


class Mem0:
    """User: the memory's. Session: its run. Each memory is an entry of the profile, with its source."""

    name = "mem0"
    looks_for = "'memory' beside 'id', in a list or under 'results' or 'memories'"
    names_users = True

    def files(self, source: ImportSource) -> list[str]:
        """By the memory."""
        head = try_head(source, source.only) if source.only else None
        if head is None or not head.is_json:
            return []
        inside = set(head.keys) & set(_LISTS) and '"memory"' in head.text
        return source.names if {"id", "memory"} <= set(head.keys) or inside else []

    def read(self, source: ImportSource, branches: Branches = "current") -> Iterator[Conversation]:  # noqa: ARG002
        """One conversation a memory."""
        root = read_value(source, source.names[0])
        listed = root
        if isinstance(root.value, dict):
            listed = next(
                (node for name in _LISTS if (node := root.get(name))), Node([root.value], "$", root.path)
            )
        for node in listed.items():
            try:
                user = node.get("user_id")
                hint = user.label() if user else None
                yield Conversation("mem0", (_message(node),), hint)
            except InvalidImport as error:
                yield Conversation(node.at, (), refused=(refusal(error),))


def _message(node: Node) -> Message:
    made, run, agent, own, kinds = (
        node.get(name) for name in ("created_at", "run_id", "agent_id", "metadata", "categories")
    )
    metadata: dict[str, Any] = dict(own.value) if own and isinstance(own.value, dict) else {}
    metadata |= {"source": "mem0", PROFILE: "fact"}
    metadata |= {"categories": kinds.value} if kinds else {}
    metadata |= {AGENT: agent.label()} if agent else {}
    return node.message(
        Message(
            node["memory"].text(),
            "assistant",
            time=made.time() if made else None,
            session=f"mem0:{run.label()}" if run else "mem0",
            metadata=metadata,
            id=f"mem0:{node['id'].label()}",
        )
    )
