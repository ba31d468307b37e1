"""Work of a server's processes beside their requests."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable
from functools import partial

from zibaldone.api.memory import Memory
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import clear_caches_if_stale
from zibaldone.errors import ClosedMemory, StorageError

_EVERY_S = 30.0
_logger = logging.getLogger(__name__)


def freeze_objects() -> None:
    """Exclude all present objects, such as code, from garbage collection, which halts everything else."""
    gc.collect()
    gc.freeze()


async def repeatedly(work: Callable[[], object], failure: str, every_s: float = _EVERY_S) -> None:
    """Work in a thread at intervals, until cancelled or the memory is closed; log a failure of storage."""
    while True:
        await asyncio.sleep(every_s)
        try:
            await in_thread(work)
        except ClosedMemory:
            return
        except StorageError as error:
            _logger.warning("%s (%s)", failure, type(error).__name__)


async def sync_caches(memory: Memory, every_s: float = _EVERY_S) -> None:
    """Clear caches after another process has forgotten something.

    Recalls are correct without it, as they read the user's counters. It removes forgotten texts of users who
    never recall again from this process's memory.
    """
    clear = partial(clear_caches_if_stale, memory._database)  # noqa: SLF001 - not public
    await repeatedly(clear, "forgettings of other processes could not be read", every_s)
