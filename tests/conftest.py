"""For all tests: no network, and a memory of one's own whose clock stands still."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from pytest_socket import disable_socket

from talk import NOW, Talk
from zibaldone import Memory
from zibaldone.testing import FrozenClock

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # tests fork: without it the tokenizer warns of its threads


def pytest_runtest_setup() -> None:
    """Block the network, also where pytest is run without this project's options."""
    disable_socket(allow_unix_socket=True)


@pytest.fixture
def clock() -> FrozenClock:
    """Noon of 1 March 2024, UTC."""
    return FrozenClock()


@pytest.fixture
def opened(tmp_path, clock) -> Iterator[Callable[..., Memory]]:
    """Opens a folder below the test's own ("memory" unless named) as often as is wished."""
    memories: list[Memory] = []

    def opened(name: str = "memory", **options) -> Memory:
        memories.append(Memory(tmp_path / name, **{"clock": clock, **options}))
        return memories[-1]

    yield opened
    for memory in memories:
        memory.close()


@pytest.fixture
def memory(opened) -> Memory:
    """An empty memory."""
    return opened()


@pytest.fixture
def talk(tmp_path) -> Iterator[Talk]:
    """An empty memory to talk to."""
    with Memory(tmp_path / "memory", clock=lambda: NOW) as memory:
        yield Talk(memory)
