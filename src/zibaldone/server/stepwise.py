"""Iteration over the steps of `ask`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from zibaldone.api.aio import AsyncMemory
from zibaldone.recall.ask import Answer, Step


async def stepwise(memory: AsyncMemory, question: str, **options: Any) -> AsyncGenerator[Step | Answer]:
    """Yield the steps of `AsyncMemory.ask`, then its answer. Closing the generator cancels the call."""
    loop = asyncio.get_running_loop()
    steps: asyncio.Queue[Step | None] = asyncio.Queue()

    def tell(step: Step) -> None:
        loop.call_soon_threadsafe(steps.put_nowait, step)

    answering = asyncio.ensure_future(memory.ask(question, on_step=tell, **options))
    answering.add_done_callback(lambda _: steps.put_nowait(None))
    try:
        while (step := await steps.get()) is not None:
            yield step
        yield await answering
    finally:
        answering.cancel()
