"""A user's index is read in while that user looks at the first page, not when the first word is typed."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from weakref import WeakKeyDictionary

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import ZibaldoneError

_warmed: WeakKeyDictionary[AsyncMemory, set[str]] = WeakKeyDictionary()
_tasks: set[asyncio.Task[None]] = set()


def warm(memory: AsyncMemory, user: str) -> None:
    """Once per user, in the background."""
    users = _warmed.setdefault(memory, set())
    if user in users:
        return
    users.add(user)
    task = asyncio.create_task(_warm(memory, user))
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


async def _warm(memory: AsyncMemory, user: str) -> None:
    with suppress(ZibaldoneError):  # whoever asks in earnest is told
        await memory.user(user).preload()
