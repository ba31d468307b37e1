"""Forgetting: first what would go, then, once that was read, a receipt for what went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from zibaldone.errors import InvalidInput
from zibaldone.server.page.page_auth import PageAction, PageCall, field

_SHOWN = 8  # messages of what would go


async def look(call: PageCall) -> Response:
    """A dry run of what is chosen; or what there is to choose from."""
    chosen = _selected(call.request.query_params)
    if not chosen:
        return call.page("forget.html")
    receipt = await call.memory.forget(user=call.user, dry_run=True, **chosen)
    shown = [await call.memory.get(seq, user=call.user) for seq in receipt.seqs[:_SHOWN]]
    return call.page(
        "forget_look.html",
        chosen=chosen,
        receipt=receipt,
        views=_touched(receipt),
        messages=[message for message in shown if message],
        fault="",
    )


async def forget(call: PageCall) -> Response:
    """For good. All of it goes only where the name was typed."""
    form = await call.form()
    chosen = _selected(form)
    if not chosen:
        raise InvalidInput("choose what is to be forgotten")
    if "everything" in chosen and field(form, "name").strip() != call.user:
        receipt = await call.memory.forget(user=call.user, dry_run=True, **chosen)
        return call.page(
            "forget_look.html",
            status=422,
            chosen=chosen,
            receipt=receipt,
            views=_touched(receipt),
            messages=[],
            fault=f"Type the name {call.user} to forget everything.",
        )
    receipt = await call.memory.forget(user=call.user, **chosen)
    return call.page("receipt.html", receipt=receipt, views=_touched(receipt))


def _selected(given: QueryParams | FormData) -> Mapping[str, Any]:
    """The selector of `Memory.forget` that a form means; none where nothing is chosen."""
    seqs = [value for value in given.getlist("seq") if isinstance(value, str) and value]
    if seqs:
        if not all(seq.isdecimal() and len(seq) < 19 for seq in seqs):
            raise InvalidInput("messages are chosen by their numbers")
        return {"seqs": [int(seq) for seq in seqs]}
    session, before = given.get("session", ""), given.get("before", "")
    if isinstance(session, str) and session:
        return {"session": session}
    if isinstance(before, str) and before:
        return {"before": before}
    return {"everything": True} if given.get("everything") == "yes" else {}


def _touched(receipt: Any) -> list[tuple[str, str]]:
    """What each view loses, in words."""
    lost = (
        (view.view, ", ".join(f"{counted.rows:,} {counted.kind}" for counted in view.counts if counted.rows))
        for view in receipt.views
    )
    return [(view, words) for view, words in lost if words]


ACTIONS = (PageAction("/forget", look), PageAction("/forget", forget, posts=True))
