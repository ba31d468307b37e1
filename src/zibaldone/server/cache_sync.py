"""Clearing of caches after another process has forgotten something."""

from __future__ import annotations

import asyncio
import logging

from zibaldone.api.memory import Memory
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import clear_caches_if_stale
from zibaldone.errors import ClosedMemory, StorageError

_POLL_S = 30.0
_logger = logging.getLogger(__name__)


async def sync_caches(memory: Memory, poll_s: float = _POLL_S) -> None:
    """Poll for forgettings until cancelled or the memory is closed.

    Recalls are correct without it, as they read the user's counters. It removes forgotten texts of users who
    never recall again from this process's memory.
    """
    while True:
        await asyncio.sleep(poll_s)
        try:
            await in_thread(clear_caches_if_stale, memory._database)  # noqa: SLF001 - not public
        except ClosedMemory:
            return
        except StorageError as error:
            _logger.warning("forgettings of other processes could not be read (%s)", type(error).__name__)
