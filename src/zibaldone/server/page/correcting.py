"""Correcting a message: another one takes its place, and the log keeps both."""

from __future__ import annotations

from starlette.responses import Response

from zibaldone.server.page.door import PageAction, PageCall
from zibaldone.server.page.forms import field
from zibaldone.server.page.reading import message_of


async def correct(call: PageCall) -> Response:
    """Keep what it says now."""
    message = await message_of(call)
    corrected = field(await call.form(), "text")
    await call.memory.update(message.seq, corrected, user=call.user)
    return call.see(f"/message/{message.seq}")


ACTIONS = (PageAction("/message/{seq:int}", correct, posts=True),)
