"""A task to ask, and a server to ask it of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from colours_task import NameColours

from zibaldone.testing import FakeOpenAIServer


@pytest.fixture
def task() -> NameColours:
    """One question."""
    return NameColours("A red ball, ”quoted” and 犬")


@pytest.fixture
def server() -> Iterator[FakeOpenAIServer]:
    """A server that answers the task."""
    with FakeOpenAIServer(lambda _: {"colours": ["red"]}) as server:
        yield server
