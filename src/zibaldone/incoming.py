"""The border where messages come in: whatever a caller gives becomes a `Message`, or a typed error.

Accepted: a `Message`, a plain string, or a mapping in the OpenAI chat shape (`role`, `content`, `name`)
with `time`, `session`, `metadata` and `id` beside it. `content` may be OpenAI's list of parts: text parts
are kept word for word, any other part becomes a placeholder that describes it.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from zibaldone.core import DEFAULT_SESSION, Message
from zibaldone.errors import InvalidInput, InvalidMessage

MessageLike = Message | Mapping[str, Any] | str
TimeLike = datetime | str | float | int

_KEYS = {"role", "content", "name", "time", "session", "metadata", "id"}
_OURS = {"seq"}  # of a stored message that is added again; a new one is given
_TOOL_KEYS = {"tool_calls", "tool_call_id", "function_call", "refusal", "audio", "annotations"}
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
_SHORT.maxlevel = 3
_YEAR_MIN, _YEAR_MAX = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def to_messages(given: MessageLike | Iterable[MessageLike], *, session: str | None) -> list[Message]:
    """Every message of one call, checked; `session` is for those that name none.

    Raises InvalidMessage that says which message (by position) and which field is wrong.
    """
    if isinstance(given, Message | Mapping | str):
        given = [given]
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        raise InvalidInput(f"messages must be a message or an iterable of messages, not {_kind(given)}")
    if session is not None:
        key("session", session)
    return [_to_message(one, f"messages[{i}]", session or DEFAULT_SESSION) for i, one in enumerate(given)]


def key(what: str, value: object) -> str:
    """Check a user, session or id: any non-empty text without surrogates; it is never a path or SQL."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} must be a non-empty string, not {shown(value)}")
    if (at := _surrogate(value)) is not None:
        raise InvalidInput(
            f"{what} {shown(value)} has a lone surrogate at character {at}: it is not valid text"
        )
    return value


def file_path(what: str, value: object) -> Path:
    """Check a path."""
    if not isinstance(value, str | Path) or not str(value) or "\0" in str(value):
        raise InvalidInput(f"{what} must be a path, not {shown(value)}")
    if _surrogate(str(value)) is not None:
        raise InvalidInput(f"{what} {shown(value)} has a lone surrogate: it is not valid text")
    return Path(value)


def count(what: str, value: object, *, least: int) -> int:
    """Check a whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 2**63:
        raise InvalidInput(f"{what} must be a whole number of at least {least}, not {shown(value)}")
    return value


def to_time(value: TimeLike, what: str = "time") -> datetime:
    """An aware datetime from a datetime, an ISO 8601 string or epoch seconds; naive means UTC."""
    if isinstance(value, bool) or not isinstance(value, datetime | str | float | int):
        raise InvalidInput(
            f"{what} must be a datetime, an ISO 8601 string or epoch seconds, not {_kind(value)}"
        )
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError as error:
            raise InvalidInput(
                f"{what} {shown(value)} is not an ISO 8601 date and time, such as '2023-05-08T13:56'"
            ) from error
    elif not isinstance(value, datetime):
        if not _YEAR_MIN.timestamp() <= value <= _YEAR_MAX.timestamp():  # a NaN is not, either
            raise InvalidInput(
                f"{what} {shown(value)} is not epoch seconds: if it is milliseconds, divide by 1000"
            )
        value = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    offset = value.utcoffset() or timedelta()
    value = value.replace(tzinfo=timezone(offset) if offset else UTC)
    if not _YEAR_MIN <= value <= _YEAR_MAX:
        raise InvalidInput(f"{what} {value!s} is outside the years 1 to 9999")
    return value


def _to_message(given: object, where: str, session: str) -> Message:
    try:
        if isinstance(given, str):
            given = Message(given, session=session)
        elif isinstance(given, Mapping):
            given = _from_mapping(given, session)
        if not isinstance(given, Message):
            raise InvalidInput(f"must be a Message, a mapping or a string, not {_kind(given)}")
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
        raise InvalidInput(f"metadata must be a mapping, not {_kind(metadata)}")
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
            raise InvalidInput(f"tool_calls must be a list, not {_kind(tool_calls)}")
        return "\n".join(_tool_call(call) for call in tool_calls)
    if not isinstance(content, Sequence) or isinstance(content, bytes | bytearray):
        raise InvalidInput(f"content must be a string or a list of parts, not {_kind(content)}")
    return "\n".join(_part(part, i) for i, part in enumerate(content))


def _part(part: object, index: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput(f"content[{index}] must be a mapping with a string 'type', not {shown(part)}")
    kind = part["type"]
    text = part.get("text", part.get("refusal"))
    if kind in ("text", "input_text", "output_text", "refusal"):
        if not isinstance(text, str):
            raise InvalidInput(f"content[{index}].text must be a string, not {_kind(text)}")
        return text
    detail = part.get(kind)
    name: str | None = detail.get("filename") if isinstance(detail, Mapping) else None
    url = detail.get("url") if isinstance(detail, Mapping) else detail
    if name is None and isinstance(url, str) and not url.startswith("data:"):
        name = url
    label = kind.removeprefix("input_").removesuffix("_url").replace("_", " ")
    return f"[{label}: {name}]" if name else f"[{label}]"


def _tool_call(call: object) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return "[tool call]"
    return f"[tool call: {function.get('name')}({function.get('arguments', '')})]"


def _checked(message: Message) -> Message:
    _one_line("role", message.role)
    key("session", message.session)
    if message.name is not None:
        _one_line("name", message.name)
    if message.id is not None:
        key("id", message.id)
    if not isinstance(message.content, str):
        raise InvalidInput(f"content must be a string, not {_kind(message.content)}")
    if (at := _surrogate(message.content)) is not None:
        raise InvalidInput(
            f"content has a lone surrogate (half of a character) at character {at}: repair it with"
            " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    if not isinstance(message.metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {_kind(message.metadata)}")
    metadata = to_json(message.metadata)
    return replace(
        message,
        time=None if message.time is None else to_time(message.time),
        metadata=json.loads(metadata) if metadata else {},
        seq=0,
    )


def to_json(metadata: Mapping[str, Any]) -> str | None:
    """Metadata as JSON text; None when empty. Raises InvalidInput when it is not JSON."""
    if not metadata:
        return None
    try:
        encoded = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        encoded.encode()
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata is not JSON ({error})") from error
    return encoded


def _one_line(what: str, value: object) -> None:
    """Check what stands before the colon of a rendered line: with a line break it could forge another."""
    if key(what, value).splitlines() != [value]:
        raise InvalidInput(f"{what} {shown(value)} has a line break: a {what} stands in one line")


def _surrogate(text: str) -> int | None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def shown(value: object) -> str:
    """A short repr of anything, however large, deep or broken, for an error's sentence."""
    try:
        return _SHORT.repr(value)
    except Exception:  # noqa: BLE001 - a repr is anybody's code, and an int of 5000 digits has none
        return object.__repr__(value)


def _kind(value: object) -> str:
    return f"{type(value).__name__} ({shown(value)})" if value is not None else "None"
