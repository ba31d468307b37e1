"""What a server does about its memory: what was freed goes back to the system, what stands is left alone.

A recall's arrays come and go in threads, between small things that stay. What is free lies in pieces, in as
many heaps as there are threads, up to eight for each core; left alone, a server's resident memory grows by
tens of kilobytes a turn of which nobody holds any. Only glibc is so, and can be told otherwise.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import platform

from zibaldone.core.threads import in_thread

_M_ARENA_MAX = -8  # malloc.h
_HEAPS = 2
_EVERY_S = 30.0


def share_heaps() -> None:
    """Have all threads share a few heaps: to be called before there are any."""
    if (library := _glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, _HEAPS)


def keep_what_stands() -> None:
    """Look no more through what there is now, such as code: it stays as long as the process.

    Python looks through all objects now and then, for circles that nobody holds: all else waits meanwhile.
    """
    gc.collect()
    gc.freeze()


async def give_back_free_memory(every_s: float = _EVERY_S) -> None:
    """Again and again, until it is cancelled."""
    while (library := _glibc()) is not None:
        await asyncio.sleep(every_s)
        await in_thread(library.malloc_trim, 0)


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
