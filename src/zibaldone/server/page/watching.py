"""Live view: what the gateway's last requests recalled and stored."""

from __future__ import annotations

from starlette.responses import Response

from zibaldone.core import Message
from zibaldone.server.live import SHOWN
from zibaldone.server.page.page_auth import HEADERS, PageAction, PageCall


async def live(call: PageCall) -> Response:
    """Show the newest requests; to a part of the page that has seen them all, nothing."""
    watched = call.live
    mark = watched.mark(call.user) if watched else ""
    if call.is_fragment and call.text("mark") == mark:
        return Response(status_code=204, headers=HEADERS)
    requests = watched.of(call.user) if watched else []
    held: dict[int, Message | None] = {}
    for request in requests:
        for seq in (*request.recalled, *request.searched[:SHOWN], *request.stored[-SHOWN:]):
            if seq not in held:
                held[seq] = await call.memory.get(seq, user=call.user)
    template = "live_requests.html" if call.is_fragment else "live.html"
    return call.page(
        template, requests=requests, held=held, shown=SHOWN, mark=mark, is_on=watched is not None
    )


ACTIONS = (PageAction("/live", live),)
