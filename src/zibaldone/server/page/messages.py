"""Sessions and messages: read, corrected, forgotten."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from starlette.datastructures import FormData, QueryParams
from starlette.responses import Response

from zibaldone.core import EDITOR, Message
from zibaldone.engine.ingest import Progress
from zibaldone.engine.verification.receipts import to_object
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.log.message_input import ATTACHMENTS
from zibaldone.server.page.environment import source_of
from zibaldone.server.page.jobs import Report
from zibaldone.server.page.page_auth import HEADERS, PageCall, action, field
from zibaldone.server.problems import Problem

_SESSIONS, _MESSAGES = 40, 40  # on a page
_TITLED = 3  # sessions beside the passages of a search
_BEFORE = 5  # messages before the one that a link leads to
_LONGEST_METADATA = 4000  # characters shown


@action("/sessions")
async def sessions(call: PageCall) -> Response:
    """List sessions, the newest first."""
    words, skip = call.text("words"), call.number("skip")
    held, total = await call.memory.user(call.user).titled_sessions(limit=skip + _SESSIONS, words=words)
    template = "session_list.html" if call.is_fragment else "sessions.html"
    if call.is_fragment and call.text("beside"):  # a search's passages, which do not wait for this
        template, held = "titled.html", held[:_TITLED]
    return call.page(template, sessions=held[skip:], total=total, words=words, skip=skip, step=_SESSIONS)


@action("/session", shares=True)
async def session(call: PageCall) -> Response:
    """Show a part of a session: from its beginning, around a message, after one, or before one."""
    name = call.request.query_params.get("name", "")
    of_session = partial(call.memory.messages, user=call.whose, filter=Filter(session=name))
    at, before, after = call.number("at"), call.number("before"), call.number("after")
    first = await of_session(limit=1) if name else []
    if not first:
        raise Problem(404, "no-session", "there is no session of this name")
    if before:
        messages = await of_session(before=before, last=_MESSAGES)
    elif at:
        earlier = await of_session(before=at, last=_BEFORE)
        messages = [*earlier, *await of_session(after=at - 1, limit=_MESSAGES)]
    else:
        messages = await of_session(after=after, limit=_MESSAGES)
    last = await of_session(last=1)
    return call.page(
        "session.html",
        name=name,
        title=await _title(call, name),
        source=source_of(first[0]),
        messages=messages,
        at=at,
        earlier=messages[0].seq if messages and messages[0].seq > first[0].seq else None,
        later=messages[-1].seq if messages and last and messages[-1].seq < last[0].seq else None,
        editor=EDITOR,
    )


@action("/message/{seq:int}", shares=True)
async def message(call: PageCall) -> Response:
    """Show a message with its versions, attachments and metadata."""
    held = await message_of(call)
    versions = await call.memory.user(call.whose).versions(held.seq)
    attachments = await call.memory.user(call.whose).attachments(held.seq)
    metadata = {name: value for name, value in held.metadata.items() if name != ATTACHMENTS}
    written = json.dumps(metadata, ensure_ascii=False, indent=2) if metadata else ""
    return call.page(
        "message.html",
        message=held,
        title=await _title(call, held.session),
        versions=versions,
        attachments=attachments,
        metadata=written[:_LONGEST_METADATA],
        editor=EDITOR,
    )


@action("/message/{seq:int}/text", shares=True)
async def text(call: PageCall) -> Response:
    """Return a message as plain text."""
    held = await message_of(call)
    return Response(held.content, media_type="text/plain; charset=utf-8", headers=HEADERS)


async def message_of(call: PageCall) -> Message:
    """Return the message of the path. Raises a 404 Problem."""
    held = await call.memory.get(call.request.path_params["seq"], user=call.whose)
    if held is None:
        raise Problem(404, "no-message", "there is no message of this number")
    return held


@action("/message/{seq:int}", posts=True)
async def correct(call: PageCall) -> Response:
    """Correct a message; the log keeps both versions."""
    held = await message_of(call)
    await call.memory.update(held.seq, field(await call.form(), "text"), user=call.user)
    return call.see(f"/message/{held.seq}")


async def _title(call: PageCall, session: str) -> str:
    """Return a session's title; "" if it has no messages."""
    return (await call.titles([session], call.scope)).get(session, "")


_SHOWN = 8  # messages of a dry run


@action("/forget")
async def preview_forget(call: PageCall) -> Response:
    """Show a dry run of what is chosen; or the form to choose."""
    chosen = _selected(call.request.query_params)
    if not chosen:
        return call.page("forget.html")
    receipt = await call.memory.forget(user=call.user, dry_run=True, **chosen)
    shown = [await call.memory.get(seq, user=call.user) for seq in receipt.seqs[:_SHOWN]]
    return call.page(
        "forget_look.html",
        chosen=chosen,
        title=await _title(call, chosen["session"]) if "session" in chosen else "",
        receipt=receipt,
        messages=[message for message in shown if message],
    )


@action("/forget", posts=True)
async def forget(call: PageCall) -> Response:
    """Forget what is chosen, in a job whose page is the receipt; everything only if the name was typed."""
    form = await call.form()
    chosen = _selected(form)
    if not chosen:
        raise InvalidInput("choose what is to be forgotten")
    if "everything" in chosen and field(form, "name").strip() != call.user:
        raise InvalidInput(f"nothing was forgotten: go back, and type the name {call.user}")

    async def work(_: Progress) -> Report:
        receipt = await call.memory.forget(user=call.user, **chosen)
        return Report("forgotten.html", receipt, to_object(receipt))

    return await call.to_job("Forgetting", "/", work)


def _selected(given: QueryParams | FormData) -> Mapping[str, Any]:
    """Return the selector of `forget` in a form; empty if nothing is chosen."""
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
