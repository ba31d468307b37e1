"""Return of a server's freed memory to the system, where the C library is glibc.

Arrays of recalls are allocated in many threads between small objects that stay. glibc keeps a heap per
thread, up to eight per core, and the free pieces stay resident: tens of kilobytes more with each turn.
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
    """Let all threads share a few heaps. Call before starting any thread."""
    if (library := _glibc()) is not None:
        library.mallopt(_M_ARENA_MAX, _HEAPS)


def freeze_objects() -> None:
    """Exclude all present objects, such as code, from garbage collection, which halts everything else."""
    gc.collect()
    gc.freeze()


async def trim_heaps(every_s: float = _EVERY_S) -> None:
    """Return free memory to the system at intervals, until cancelled."""
    while (library := _glibc()) is not None:
        await asyncio.sleep(every_s)
        await in_thread(library.malloc_trim, 0)


def _glibc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None
