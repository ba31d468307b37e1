"""A task to ask, and a server to ask it of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from colours_task import NameColours

from misbehaving_server import MisbehavingServer


@pytest.fixture
def task() -> NameColours:
    """One question."""
    return NameColours("A red ball, ”quoted” and 犬")


@pytest.fixture
def server() -> Iterator[MisbehavingServer]:
    """A server that answers the task."""
    with MisbehavingServer(lambda _: {"colours": ["red"]}) as server:
        yield server
