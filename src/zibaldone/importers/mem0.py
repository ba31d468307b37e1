"""Memories of mem0: the answer of `get_all`, the platform's export, or a list of memories."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from zibaldone.core import AGENT, PROFILE, Message
from zibaldone.importers.base import Item, OfUser
from zibaldone.importers.document import Node
from zibaldone.importers.files import Head, Importer, each, read_elements
from zibaldone.importers.source import ImportSource

_LISTS = ("results", "memories")


class Mem0(Importer):
    """User: the memory's. Session: its run. Each memory is an entry of the profile, with its source."""

    name = "mem0"
    looks_for = "'memory' beside 'id', in a list or under 'results' or 'memories'"
    names_users = True

    def fits(self, head: Head) -> bool:
        """Recognise memories by the key `memory`."""
        keys = set(head.keys)
        return {"id", "memory"} <= keys or bool(keys & set(_LISTS) and '"memory"' in head.text)

    def read_one(self, source: ImportSource, name: str) -> Iterator[Item]:
        """Yield each memory."""
        memories = chain.from_iterable(map(_listed, read_elements(source, name)))
        return each(memories, _memory)


def _listed(node: Node) -> list[Node]:
    """The memories that an object holds; else itself."""
    fields = node.fields() if isinstance(node.value, dict) else {}
    return next((fields[key].items() for key in _LISTS if key in fields), [node])


def _memory(node: Node) -> Iterator[Item]:
    user, message = node.get("user_id"), _message(node)
    yield OfUser(user.label(), message) if user else message


def _message(node: Node) -> Message:
    run, agent, own, kinds = (node.get(n) for n in ("run_id", "agent_id", "metadata", "categories"))
    metadata: dict[str, Any] = dict(own.value) if own and isinstance(own.value, dict) else {}
    metadata |= {"source": "mem0", PROFILE: "fact"}
    metadata |= {"categories": kinds.value} if kinds else {}
    metadata |= {AGENT: agent.label()} if agent else {}
    session, own_id = f"mem0:{run.label()}" if run else "mem0", f"mem0:{node['id'].label()}"
    text, time = node["memory"].text(), node.time_of("created_at")
    return node.message(Message(text, "assistant", None, time, session, metadata, own_id))
