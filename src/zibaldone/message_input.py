"""The border where messages come in: whatever a caller gives becomes a `Message`, or a typed error.

Accepted: a `Message`, a plain string, or a mapping in the OpenAI chat shape (`role`, `content`, `name`)
with `time`, `session`, `metadata` and `id` beside it. `content` may be OpenAI's list of parts: text parts
are kept word for word, any other part becomes a placeholder that describes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from zibaldone.core import DEFAULT_SESSION, Message
from zibaldone.errors import InvalidInput, InvalidMessage
from zibaldone.validation import key, one_line, shown, surrogate_at, to_json, to_time, type_of

MessageLike = Message | Mapping[str, Any] | str

_KEYS = {"role", "content", "name", "time", "session", "metadata", "id"}
_OURS = {"seq"}  # of a stored message that is added again; a new one is given
_TOOL_KEYS = {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations"}


def to_messages(given: MessageLike | Iterable[MessageLike], *, session: str | None) -> list[Message]:
    """Every message of one call, checked; `session` is for those that name none.

    Raises InvalidMessage that says which message (by position) and which field is wrong.
    """
    if isinstance(given, Message | Mapping | str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        raise InvalidInput(f"messages must be a message or an iterable of messages, not {type_of(given)}")
    if session is not None:
        key("session", session)
    inherited = session or DEFAULT_SESSION
    return [_to_message(message, f"messages[{i}]", inherited) for i, message in enumerate(given)]


def _to_message(given: object, where: str, session: str) -> Message:
    try:
        if isinstance(given, str):
            given = Message(given, session=session)
        elif isinstance(given, Mapping):
            given = _from_mapping(given, session)
        if not isinstance(given, Message):
            raise InvalidInput(f"must be a Message, a mapping or a string, not {type_of(given)}")
        return _checked(given)
    except InvalidInput as error:
        raise InvalidMessage(f"{where}: {error}") from error
    except RecursionError as error:
        raise InvalidMessage(f"{where}: is nested too deeply") from error


def _from_mapping(given: Mapping[Any, Any], session: str) -> Message:
    for name in given:
        if name not in _KEYS | _OURS | _TOOL_KEYS:
            raise InvalidInput(
                f"unknown field {shown(name)}: put it into metadata, or use one of {sorted(_KEYS)}"
            )
    if "content" not in given and not given.get("tool_calls"):
        raise InvalidInput("has no content")
    metadata = given.get("metadata")
    if not isinstance(metadata, Mapping | None):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(metadata)}")
    extra = {name: given[name] for name in sorted(_TOOL_KEYS & set(given)) if given[name] is not None}
    time = given.get("time")
    own_session = given.get("session")
    role = given.get("role")
    return Message(
        content=_content(given.get("content"), given.get("tool_calls")),
        role="user" if role is None else role,
        name=given.get("name"),
        time=None if time is None else to_time(time),
        session=session if own_session is None else own_session,
        metadata={**extra, **(metadata or {})},
        id=given.get("id"),
    )


def _content(content: object, tool_calls: object) -> str:
    if isinstance(content, str):
        return content
    if content is None and tool_calls:
        if not isinstance(tool_calls, Sequence) or isinstance(tool_calls, str | bytes):
            raise InvalidInput(f"tool_calls must be a list, not {type_of(tool_calls)}")
        return "\n".join(_tool_call(call) for call in tool_calls)
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        raise InvalidInput(f"content must be a string or a list of parts, not {type_of(content)}")
    return "\n".join(_part(part, i) for i, part in enumerate(content))


def _part(part: object, index: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput(f"content[{index}] must be a mapping with a string 'type', not {shown(part)}")
    part_type = part["type"]
    text = part.get("text", part.get("refusal"))
    if part_type in ("text", "input_text", "output_text", "refusal"):
        if not isinstance(text, str):
            raise InvalidInput(f"content[{index}].text must be a string, not {type_of(text)}")
        return text
    detail = part.get(part_type)
    name: str | None = detail.get("filename") if isinstance(detail, Mapping) else None
    url = detail.get("url") if isinstance(detail, Mapping) else detail
    if name is None and isinstance(url, str) and not url.startswith("data:"):
        name = url
    label = part_type.removeprefix("input_").removesuffix("_url").replace("_", " ")
    return f"[{label}: {name}]" if name else f"[{label}]"


def _tool_call(call: object) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return "[tool call]"
    return f"[tool call: {function.get('name')}({function.get('arguments', '')})]"


def _checked(message: Message) -> Message:
    one_line("role", message.role)
    key("session", message.session)
    if message.name is not None:
        one_line("name", message.name)
    if message.id is not None:
        key("id", message.id)
    if not isinstance(message.content, str):
        raise InvalidInput(f"content must be a string, not {type_of(message.content)}")
    if (at := surrogate_at(message.content)) is not None:
        raise InvalidInput(
            f"content has a lone surrogate (half of a character) at character {at}: repair it with"
            " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    if not isinstance(message.metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(message.metadata)}")
    metadata = to_json(message.metadata)
    return replace(
        message,
        time=None if message.time is None else to_time(message.time),
        metadata=json.loads(metadata) if metadata else {},
        seq=0,
    )
