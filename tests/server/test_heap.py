"""All threads of a server share a few heaps."""

import ctypes
import platform

import pytest

from zibaldone.server.heap import share_heaps


@pytest.mark.parametrize(("library", "told"), [("glibc", [(-8, 2)]), ("", [])])
def test_threads_share_heaps_where_the_c_library_can(monkeypatch, library, told):
    """M_ARENA_MAX of glibc's mallopt; another library has no such call."""
    given = []

    class Library:
        def __init__(self, _):
            self.mallopt = lambda *options: given.append(options)

    monkeypatch.setattr(ctypes, "CDLL", Library)
    monkeypatch.setattr(platform, "libc_ver", lambda: (library, ""))
    share_heaps()
    assert given == told
