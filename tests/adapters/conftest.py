"""A memory that adapters share with a test."""

from collections.abc import Iterator

import anyio
import pytest

from zibaldone import AsyncMemory, Config


@pytest.fixture
def amemory(tmp_path, clock) -> Iterator[AsyncMemory]:
    """An empty memory whose methods are awaited."""
    memory = AsyncMemory(tmp_path / "memory", config=Config(clock=clock))
    yield memory
    anyio.run(memory.close)


@pytest.fixture
def anyio_backend() -> str:
    """The libraries are asyncio's."""
    return "asyncio"
