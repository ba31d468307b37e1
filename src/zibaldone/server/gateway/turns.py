"""Turns of requests and answers, in any wire format, and keys that identify equal turns.

Clients send their history as they keep it: a turn's text may come back as a string or as parts, with other
white space, or with a tool call's arguments reformatted. `turn_key` is equal for all of these.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zibaldone.core import EDITOR, Message
from zibaldone.errors import InvalidMessage
from zibaldone.log.message_input import to_messages
from zibaldone.text.client_text import own_words

UNSAID = frozenset({"system", "developer", EDITOR})  # roles that are no speakers
_SPEAKERS = ("user", "assistant")
PARTIAL = "partial"  # in metadata: True if the client hung up or the upstream broke off
_KEY_BYTES = 16
# Some models think aloud before they answer; most clients leave it out of the history.
_THOUGHTS = re.compile(r"\A(?:\s*<think>.*?</think>)+\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WireTurn:
    """A turn of one speaker, or one result of a tool."""

    message: Message
    place: int  # index of its element in the request's list; -1 in an answer
    key: bytes  # see turn_key


def wire_turns(shape: Mapping[str, Any], place: int = -1) -> list[WireTurn]:
    """Return the turns of an element in a shape that `to_messages` reads: itself, and results of tools.

    None for instructions and unreadable ones.
    """
    role = shape.get("role")
    if role in UNSAID if isinstance(role, str) else "type" not in shape:
        return []
    if role == "assistant" and isinstance(shape.get("content"), str):
        shape = {**shape, "content": _without_thoughts(shape["content"])}
    elif role == "user":
        shape = {**shape, "content": _own(shape.get("content"))}
    content = shape.get("content")
    if role in _SPEAKERS and isinstance(content, str) and len(shape) == 2:
        messages = [
            Message(_whole(content), role)
        ]  # as below, in a third of the time: a history has hundreds
    else:
        try:
            messages = to_messages(_whole(shape), session=None)
        except (InvalidMessage, RecursionError):  # the upstream will say what is wrong with it
            return []
    kept = [message for message in messages if message.content.strip() or message.metadata.get("tool_calls")]
    return [WireTurn(message, place, turn_key(message)) for message in kept]


def _without_thoughts(words: str) -> str:
    """Return a model's text without its thoughts."""
    return _THOUGHTS.sub("", words)


def as_partial(turn: WireTurn) -> WireTurn:
    """Return the turn marked as broken off."""
    metadata = {**turn.message.metadata, PARTIAL: True}
    return replace(turn, message=replace(turn.message, metadata=metadata))


def turn_key(message: Message) -> bytes:
    """Return a 16-byte key, equal for messages with the same content in one role."""
    parts: list[object] = [message.role, " ".join(message.content.split())]
    calls = message.metadata.get("tool_calls")
    if isinstance(calls, Sequence) and not isinstance(calls, str):
        parts = [message.role, "calls", *(_call_key(call) for call in calls)]
    elif message.role == "tool":
        parts.append(message.metadata.get("tool_call_id"))
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=_KEY_BYTES).digest()


def _own(content: object) -> object:
    """Return the content of a user's turn without the client's insertions."""
    if isinstance(content, str):
        return own_words(content)
    if not isinstance(content, Sequence):
        return content
    return [part for given in content if (part := _own_part(given)) is not None]


def _own_part(part: object) -> object:
    if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
        return part
    own = own_words(part["text"])
    return {**part, "text": own} if own or not part["text"] else None


def _call_key(call: object) -> list[object]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        return [repr(call)]
    arguments = function.get("arguments")
    try:
        arguments = json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        arguments = str(arguments)
    return [call.get("id"), function.get("name"), arguments]


def _whole(value: Any) -> Any:
    """Replace lone surrogates, which JSON can spell and nothing can store."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    return value
