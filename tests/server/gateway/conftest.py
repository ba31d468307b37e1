"""Clients of a gateway, and what its memory holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import openai
import pytest
from upstream import FakeUpstream, shared_upstream, upstream
from wires import CHAT, WIRES, Wire

from zibaldone import Config, Filter, Memory, Message

__all__ = ["shared_upstream", "upstream"]


@pytest.fixture
def gateway(serving, upstream: FakeUpstream) -> str:
    """The address of a server without keys before the upstream."""
    return serving(upstream=upstream.url, recall_timeout_ms=20_000)


@pytest.fixture(params=WIRES)
def wire(request) -> type[Wire]:
    """One of the formats."""
    return WIRES[request.param]


@pytest.fixture(params=[False, True], ids=["whole", "streamed"])
def stream(request) -> bool:
    """Whether an answer comes in pieces."""
    return request.param


@pytest.fixture
def as_ann() -> Iterator[Callable[..., Wire]]:
    """Makes a client of a format, as Ann in session s unless a header says another."""
    with ExitStack() as clients:

        def as_ann(wire: type[Wire], address: str, **headers: str) -> Wire:
            made = wire(address, **{"X-Memory-User": "ann", "X-Memory-Session": "s", **headers})
            clients.enter_context(made.client)
            return made

        yield as_ann


@pytest.fixture
def chat(as_ann, gateway) -> openai.OpenAI:
    """OpenAI's client, as Ann in session s."""
    return as_ann(CHAT, gateway).client


@pytest.fixture
def logged(memory_path) -> Callable[..., list[Message]]:
    """What the log holds of a user."""

    def logged(user: str = "ann", session: str | None = None) -> list[Message]:
        with Memory(memory_path) as memory:
            return memory.messages(user=user, filter=Filter(session=session))

    return logged


@pytest.fixture
def told(memory_path, clock) -> Callable[..., None]:
    """Puts something into memory before, in a session of another day."""

    def told(*texts: str, user: str = "ann", session: str = "earlier", **fields) -> None:
        with Memory(memory_path, config=Config(clock=clock)) as memory:
            memory.add([{"content": text, **fields} for text in texts], user=user, session=session)
            memory.maintain()

    return told
