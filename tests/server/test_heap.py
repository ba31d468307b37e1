"""Memory that was freed goes back to the system."""

import asyncio
import platform

import pytest

from zibaldone.server import heap


class Library:
    """Notes what it is told."""

    def __init__(self):
        self.told = []

    def mallopt(self, *given):
        self.told.append(("mallopt", *given))

    def malloc_trim(self, *given):
        self.told.append(("malloc_trim", *given))


@pytest.fixture
def library(monkeypatch):
    """In the place of the C library."""
    made = Library()
    monkeypatch.setattr(heap, "_glibc", lambda: made)
    return made


def test_it_is_given_back_again_and_again(library):
    """Until the server ends."""

    async def serve():
        giving = asyncio.create_task(heap.trim_heaps(0.0))
        while len(library.told) < 3:
            await asyncio.sleep(0)
        giving.cancel()

    asyncio.run(serve())
    heap.share_heaps()
    assert library.told[:3] == [("malloc_trim", 0)] * 3
    assert library.told[-1] == ("mallopt", -8, 2)


def test_another_c_library_is_left_alone(monkeypatch):
    """It has no such calls."""
    monkeypatch.setattr(platform, "libc_ver", lambda: ("", ""))
    heap.share_heaps()
    asyncio.run(asyncio.wait_for(heap.trim_heaps(0.0), 20))


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_the_calls_are_there():
    """By their names."""
    assert heap._glibc().malloc_trim(0) in (0, 1)
