"""The border where messages come in: whatever a caller gives becomes a `Message`, or a typed error.

Accepted: a `Message`, a plain string, a mapping in the OpenAI chat shape (`role`, `content`, `name`) with
`time`, `session`, `metadata` and `id` beside it, and what `message_objects` knows of other libraries.
`content` may be a list of parts: texts are kept word for word. What a tool gave back is a message of the
role `tool`, with the `tool_call_id` that the `tool_calls` in the metadata of another message have. What a
model thought aloud is in the metadata, under `reasoning`. An image or a file leaves a line such as "[image:
cat.png]", and its type, name, caption, sha256 and size in the metadata, under `attachments`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from zibaldone.core import AGENT, CORRECTS, DEFAULT_SESSION, EDITOR, Message
from zibaldone.core.validation import (
    Key,
    key,
    members,
    one_line,
    shown,
    surrogate_at,
    to_json,
    to_time,
    type_of,
)
from zibaldone.errors import InvalidInput, InvalidMessage
from zibaldone.log.message_objects import (
    MOST_FILE_BYTES,
    LibraryObject,
    ToolOutput,
    is_object,
    output_content,
    read_audio,
    read_content,
    role_of,
    unfold,
)

MessageLike = Message | Mapping[str, Any] | str | LibraryObject

_KEYS = {"role", "content", "name", "time", "session", "metadata", "id"}
_OURS = {"seq"}  # of a stored message that is added again; a new one is given
_SPOKEN = ("tool_calls", "function_call", "refusal", "audio")  # without content, they are one
_TOOL_KEYS = {*_SPOKEN, "tool_call_id", "annotations", "reasoning", "reasoning_content"}


def to_messages(
    given: MessageLike | Iterable[MessageLike],
    *,
    session: Key | None,
    agent: Key | None = None,
    keep_files: bool = False,
    most: str = "messages",
) -> list[Message]:
    """Every message of one call, checked; `session` and `agent` are for those that name none.

    Raises InvalidMessage that says which message (by position) and which field is wrong, and TooMany for more
    than MOST has for `most`.
    """
    if isinstance(given, Message | Mapping | str) or is_object(given):
        given = cast("list[MessageLike]", [given])
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        raise InvalidInput(f"messages must be a message or an iterable of messages, not {type_of(given)}")
    inherited = DEFAULT_SESSION if session is None else key("session", session)
    places = enumerate(members(most, given))
    messages = [
        _of_kept_size(message, i) if keep_files else replace(message, files=()) if message.files else message
        for i, item in places
        for message in _read(item, f"messages[{i}]", inherited)
    ]
    if agent is None:
        return messages
    own = {AGENT: key("agent", agent)}
    return [replace(message, metadata={**own, **message.metadata}) for message in messages]


def to_question(
    query: str | None, history: MessageLike | Iterable[MessageLike] | None
) -> tuple[str, frozenset[str]]:
    """What is asked, and what need not be recalled since it was said in the history.

    The user's last message asks, unless there is a query. Raises InvalidInput when there is neither.
    """
    if history is None:
        if query is None:
            raise InvalidInput("recall needs a query, or the messages of a chat: recall(messages=[...])")
        return query, frozenset()
    turns = to_messages(history, session=None, most="messages of a chat")
    if query is None:
        query = next((turn.content for turn in reversed(turns) if turn.role == "user"), None)
        if query is None:
            raise InvalidInput("no message of the chat is the user's: give the question as query=")
    return query, frozenset(turn.content for turn in turns if turn.content)


def corrected_ids(message: Message) -> tuple[str, ...]:
    """Ids of the messages that a correction corrects: the same in every memory, as seqs are not."""
    correction = message.metadata.get(CORRECTS) if message.role == EDITOR else None
    ids = correction.get("ids") if isinstance(correction, Mapping) else None
    return tuple(given for given in ids if isinstance(given, str)) if isinstance(ids, list) else ()


def _read(given: object, where: str, session: str) -> list[Message]:
    """The messages that were given at one place."""
    try:
        return [_checked(message) for shape in unfold(given) for message in _to_messages(shape, session)]
    except InvalidInput as error:
        raise InvalidMessage(f"{where}: {error}") from error
    except RecursionError as error:
        raise InvalidMessage(f"{where}: is nested too deeply") from error


def _to_messages(given: object, session: str) -> Iterator[Message]:
    if isinstance(given, str):
        yield Message(given, session=session)
    elif isinstance(given, Message):
        yield given
    elif isinstance(given, Mapping):
        yield from _from_mapping(given, session)
    else:
        raise InvalidInput(f"must be a Message, a mapping or a string, not {type_of(given)}")


def _from_mapping(given: Mapping[Any, Any], session: str) -> Iterator[Message]:
    """The message, and for each result of a tool in its content another one, where it stands."""
    for name in given:
        if name not in _KEYS | _OURS | _TOOL_KEYS:
            raise InvalidInput(
                f"unknown field {shown(name)}: put it into metadata, or use one of {sorted(_KEYS)}"
            )
    if "content" not in given and not any(given.get(name) for name in _SPOKEN):
        raise InvalidInput("has no content")
    metadata = given.get("metadata")
    if not isinstance(metadata, Mapping | None):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(metadata)}")
    if given.get("content") is None and not any(given.get(name) for name in _SPOKEN):
        raise InvalidInput("content must be a string or a list of parts, not None")
    time, own_session, role = given.get("time"), given.get("session"), role_of(given.get("role"))
    kept = sorted((_TOOL_KEYS & set(given)) - {"audio", "reasoning_content"})
    extra = {name: given[name] for name in kept if given[name] not in (None, [])}
    if given.get("reasoning_content"):
        extra["reasoning"] = given["reasoning_content"]
    content = read_content(given.get("content"), given.get("tool_calls"))
    read_audio(given.get("audio"), content)
    whole = Message(
        content=content.text or _spoken(given),
        role="user" if role is None else role,
        name=given.get("name"),
        time=None if time is None else to_time(time),
        session=session if own_session is None else own_session,
        metadata={**extra, **content.metadata, **(metadata or {})},
        id=given.get("id"),
        files=tuple(content.files),
    )
    outputs = [*content.before, *content.after]
    if content.is_nothing and len(outputs) == 1:
        yield _of_tool(outputs[0], whole, whole.id)
        return
    yield from (_of_tool(output, whole, _beside(whole.id, n)) for n, output in enumerate(content.before, 1))
    if not (content.is_nothing and outputs):
        yield whole
    first = len(content.before) + 1
    yield from (
        _of_tool(output, whole, _beside(whole.id, n)) for n, output in enumerate(content.after, first)
    )


def _of_tool(output: ToolOutput, asked_in: Message, message_id: Any) -> Message:
    """What a tool gave back, as a message of its own beside the one that it stood in."""
    content = read_content(output_content(output.content))
    failed = {"is_error": True} if output.is_error else {}
    return replace(
        asked_in,
        content=content.text,
        role="tool",
        name=None,
        metadata={"tool_call_id": output.call_id, **failed, **content.metadata},
        id=message_id,
        files=tuple(content.files),
    )


def _beside(message_id: Any, number: int) -> Any:
    """The id of what a tool gave back, beside a message's own."""
    return None if message_id is None else f"{key('id', message_id)}/{number}"


def _spoken(given: Mapping[Any, Any]) -> str:
    """What a message without content says: why it says nothing, or in the old form whom it calls."""
    refusal, function = given.get("refusal"), given.get("function_call")
    if isinstance(refusal, str):
        return refusal
    return read_content(None, [{"function": function}]).text if isinstance(function, Mapping) else ""


def _of_kept_size(message: Message, place: int) -> Message:
    if any(file and len(file) > MOST_FILE_BYTES for file in message.files):
        most = MOST_FILE_BYTES // 2**20
        raise InvalidMessage(f"messages[{place}]: has a file of more than {most} MiB: keep it elsewhere")
    return message


def _checked(message: Message) -> Message:
    one_line("role", message.role)
    if message.name is not None:
        one_line("name", message.name)
    if not isinstance(message.content, str):
        raise InvalidInput(f"content must be a string, not {type_of(message.content)}")
    if (at := surrogate_at(message.content)) is not None:
        raise InvalidInput(
            f"content has a lone surrogate (half of a character) at character {at}: repair it with"
            " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
    if not isinstance(message.metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(message.metadata)}")
    if not isinstance(message.files, tuple) or not all(isinstance(f, bytes | None) for f in message.files):
        raise InvalidInput(f"files must be a tuple of bytes, not {type_of(message.files)}")
    metadata = to_json(message.metadata)
    return replace(
        message,
        session=key("session", message.session),
        id=None if message.id is None else key("id", message.id),
        time=None if message.time is None else to_time(message.time),
        metadata=json.loads(metadata) if metadata else {},
        seq=0,
    )
