"""What other processes have forgotten is looked for: a server keeps no words of it, though nobody asks."""

from __future__ import annotations

import asyncio
import logging

from zibaldone.api.memory import Memory
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import let_go_where_forgotten
from zibaldone.errors import ClosedMemory, StorageError

LOOK_S = 30.0
_logger = logging.getLogger(__name__)


async def let_go_of_what_others_forget(memory: Memory, every_s: float = LOOK_S) -> None:
    """Again and again, until it is cancelled or the memory is closed.

    What is recalled is right without: a recall looks at the user's counters. This is for what lies in memory
    of users who do not come again.
    """
    while True:
        await asyncio.sleep(every_s)
        try:
            await in_thread(let_go_where_forgotten, memory._database)  # noqa: SLF001 - no method of a library
        except ClosedMemory:
            return
        except StorageError as error:
            _logger.warning("what others have forgotten could not be read (%s)", type(error).__name__)
