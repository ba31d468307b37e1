"""What the gateway keeps of a recall."""

import asyncio

from zibaldone import AsyncMemory
from zibaldone.server.gateway.loops import LoopRecalls


def test_a_loop_keeps_what_is_shown_and_no_trace(tmp_path):
    """A trace says something of every message of the user: hundreds of them would be gigabytes."""

    async def kept():
        async with AsyncMemory(tmp_path / "memory") as memory:
            await memory.add("My dentist is Dr. Moss.", user="ann")
            recalled = await memory.recall("Who is my dentist?", user="ann")
            loops = LoopRecalls(memory)
            loops.keep(b"loop", "ann", recalled)
            return recalled, await loops.find(b"loop")

    recalled, again = asyncio.run(kept())
    assert recalled.trace.views
    assert (again.quoted(), again.citations, again.tokens) == (
        recalled.quoted(),
        recalled.citations,
        recalled.tokens,
    )
    assert (again.trace.views, again.trace.decisions) == ((), ())
