"""A server of one's own, and keys of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from doors import Doors, doors
from loopback import Serving, servers

from zibaldone import Memory
from zibaldone.server.keys import KeyStore
from zibaldone.testing import ScriptedModel

TALK = [
    {
        "id": "chat-7/1",
        "session": "chat-7",
        "content": "I moved to Lisbon in May.",
        "time": "2024-06-01T09:00:00Z",
    },
    {"id": "chat-7/2", "session": "chat-7", "role": "assistant", "content": "How do you like Lisbon?"},
    {"session": "rules", "content": "Always answer in French."},
    {"session": "rules", "content": "Now I live in Lisbon, by the river."},
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here may use the loopback, and nothing else."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.enable_socket)
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]))


@pytest.fixture
def memory_path(tmp_path) -> Path:
    """Where the served memory is, unless a test says otherwise."""
    return tmp_path / "memory"


@pytest.fixture
def make_key(memory_path) -> Callable[..., str]:
    """Makes a key of the served memory, as `zibaldone keys create` does; gives its token."""

    def make_key(user: str | None = None, **options: Any) -> str:
        keys = KeyStore(memory_path)
        try:
            return keys.create(user=user, **options).token
        finally:
            keys.close()

    return make_key


@pytest.fixture
def serving(memory_path) -> Iterator[Serving]:
    """Serves a memory, `memory_path` unless another is given; gives the base URL, without a path.

    Keywords that ServerSettings has are settings, others go to AsyncMemory.
    """
    with servers(memory_path) as serving:
        yield serving


@pytest.fixture
def client(serving) -> Iterator[httpx2.Client]:
    """A client of a server without keys."""
    with httpx2.Client(base_url=serving()) as client:
        yield client


@pytest.fixture(scope="module")
def shared_client(tmp_path_factory) -> Iterator[httpx2.Client]:
    """The same for tests that leave nothing behind."""
    with (
        servers(tmp_path_factory.mktemp("shared")) as serving,
        httpx2.Client(base_url=serving()) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def house(tmp_path_factory) -> Iterator[Doors]:
    """Something of every kind, of ann and the same of cid, with a model that tells what it was shown."""
    folder = tmp_path_factory.mktemp("house")
    with Memory(folder) as memory:
        for user in ("ann", "cid"):
            memory.add(TALK, user=user)
        memory.add("I play chess.", user="bob")
        for user, scope in (("ann", "team:design"), ("cid", "team:design"), ("cid", "team:ops")):
            memory.admin.grant(scope, user=user)
        memory.maintain(views=["topics", "hierarchy", "notes"])
    model = ScriptedModel(lambda request: {"answer": request.turns[1].content, "known": True})
    with doors(folder, chat=model, audit=True) as house:
        house.rest("ann", "POST", "search", {"query": "Lisbon"})  # which is in the audit
        yield house
