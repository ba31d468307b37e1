"""Whatever a caller gives as a message becomes a `Message`, or a typed error. Nothing of its text is lost.

A message is given as a `Message`, as a string, as a mapping in the OpenAI chat shape (`role`, `content`,
`name`) with `time`, `session`, `metadata` and `id` beside it, or as another library has it:

    OpenAI       messages, requests, chat completions, responses and their items
    Anthropic    messages with content blocks
    LangChain    messages, LangGraph's too: objects, mappings, and what `messages_to_dict` and `dumpd` make

These are known by their fields: no library is imported. `content` may be a list of parts: texts are kept
word for word. A tool's result is a message of the role `tool`, with the `tool_call_id` that the `tool_calls`
in the metadata of another message have. A model's thoughts are in the metadata, under `reasoning`. An image
or a file leaves a line such as "[image: cat.png]", and its type, name, caption, sha256 and size in the
metadata, under `attachments`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from hashlib import sha256
from typing import Any, Final, Protocol, TypeGuard, cast

from zibaldone.core import AGENT, DEFAULT_SESSION, EDITOR, MACHINES, WRITTEN_BY, Message
from zibaldone.core.validation import (
    Key,
    key,
    not_too_many,
    one_line,
    shown,
    to_json,
    to_time,
    type_of,
)
from zibaldone.errors import InvalidInput, InvalidMessage

ATTACHMENTS: Final = "attachments"  # in a message's metadata
MOST_FILE_BYTES: Final = 32 * 2**20  # of an attachment whose bytes are kept
Shape = dict[str, Any]  # a message, or a part of one, in the words of a wire format

_ROLES: Final = {"ai": "assistant", "human": "user", "model": "assistant"}
_KNOWN_ROLES: Final = (*sorted(MACHINES), "user", EDITOR)  # another may be anything that is not like one
_LANGCHAIN: Final = {  # types, in small letters and without "message" and "chunk"
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "function",
    "chat": None,  # it has a role beside it
}
_TEXTS: Final = ("text", "input_text", "output_text", "refusal", "summary_text", "text-plain")
_THOUGHTS: Final = ("thinking", "redacted_thinking", "reasoning", "reasoning_text")
_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call")
_FILES: Final = frozenset(
    "image image_url input_image document file input_file audio input_audio video video_url".split()
)
_ITEMS: Final = ("_call", "_output", "_request", "_response", "_list_tools", "reasoning", "compaction")
# Of an object: where it stands elsewhere, or says nothing of what was said.
_READ: Final = frozenset(
    "role content name id tool_calls tool_call_id function_call refusal audio reasoning"
    " reasoning_content".split()
)
_PASSING: Final = frozenset(
    "type status usage usage_metadata response_metadata model stop_reason stop_sequence stop_details"
    " container diagnostics example additional_kwargs invalid_tool_calls tool_call_chunks chunk_position"
    " phase logprobs encrypted_content parsed index object created metadata".split()
)

_KEYS: Final = {"role", "content", "name", "time", "session", "metadata", "id"}
_OURS: Final = {"seq"}  # of a stored message that is added again; a new one is given
_SPOKEN: Final = ("tool_calls", "function_call", "refusal", "audio")  # these may stand in place of content
_TOOL_KEYS: Final = {*_SPOKEN, "tool_call_id", "annotations", "reasoning", "reasoning_content"}


class LibraryObject(Protocol):
    """A message of OpenAI's, Anthropic's or LangChain's, by what all of them can do."""

    def model_dump(self) -> dict[str, Any]:
        """Return the message as a dictionary."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """An image, a file or the like that a message came with."""

    type: str  # such as "image", "file", "audio"
    name: str | None = None  # of the file, or its address
    media_type: str | None = None
    caption: str | None = None
    sha256: str | None = None  # of its bytes; None where the message had only an address
    size_bytes: int | None = None
    data: bytes | None = None  # where they were kept


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """A tool's result inside a message."""

    call_id: object
    content: object
    is_error: bool


@dataclass(slots=True)
class MessageContent:
    """The parts of one message's content, sorted by kind."""

    texts: list[str] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)  # of tools, as OpenAI's chat has them
    thoughts: list[str] = field(default_factory=list)
    annotations: list[Any] = field(default_factory=list)
    attachments: list[Shape] = field(default_factory=list)
    files: list[bytes | None] = field(default_factory=list)  # as `attachments`
    before: list[ToolOutput] = field(default_factory=list)  # before the first words
    after: list[ToolOutput] = field(default_factory=list)

    @property
    def is_nothing(self) -> bool:
        """True if there is nothing but tools' results."""
        return not (self.texts or self.calls or self.thoughts or self.attachments)

    @property
    def text(self) -> str:
        """The texts in lines; where there is none, the tools' calls in words."""
        text = "\n".join(self.texts)
        return text or "\n".join(_call_in_words(call) for call in self.calls)

    @property
    def metadata(self) -> Shape:
        """Metadata of the parts that are no text."""
        named = {
            "tool_calls": self.calls,
            "reasoning": "\n".join(self.thoughts),
            "annotations": self.annotations,
            ATTACHMENTS: self.attachments,
        }
        return {name: value for name, value in named.items() if value}


MessageLike = Message | Mapping[str, Any] | str | LibraryObject


def to_messages(
    given: MessageLike | Iterable[MessageLike],
    *,
    session: Key | None,
    agent: Key | None = None,
    by: str | None = None,
    keep_files: bool = False,
    most: str = "messages",
) -> list[Message]:
    """Check the messages of one call; `session` and `agent` are for those that name none.

    All are written `by` a user of a shared memory, whatever they say themselves, and people's have that name.
    Raises InvalidMessage that says which message (by position) and which field is wrong, and TooMany for more
    than MOST has for `most`.
    """
    if isinstance(given, Message | Mapping | str) or _is_object(given):
        given = cast("list[MessageLike]", [given])
    if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
        raise InvalidInput(f"messages must be a message or an iterable of messages, not {type_of(given)}")
    inherited = DEFAULT_SESSION if session is None else key("session", session)
    of_agent = {} if agent is None else {AGENT: key("agent", agent)}
    messages: list[Message] = []
    for position, item in enumerate(given):
        not_too_many(most, position + 1)
        try:
            messages += [
                _signed(_checked(message, of_agent, keep_files=keep_files), by)
                for message in _shaped(item, inherited)
            ]
        except InvalidInput as error:
            raise InvalidMessage(f"messages[{position}]: {error}") from error
        except RecursionError as error:
            raise InvalidMessage(f"messages[{position}]: is nested too deeply") from error
    return messages


def read_chat(messages: MessageLike | Iterable[MessageLike]) -> tuple[str | None, frozenset[str]]:
    """Read a chat: the user's last message, None if there is none, and the contents of all messages."""
    turns = to_messages(messages, session=None, most="messages of a chat")
    question = next((turn.content for turn in reversed(turns) if turn.role == "user"), None)
    return question, frozenset(turn.content for turn in turns if turn.content)


def attachments_of(metadata: Mapping[str, Any], files: Mapping[int, bytes]) -> list[Attachment]:
    """List the attachments of a stored message; `files` has the bytes that were kept, by place."""
    return [
        Attachment(
            type=_first(known, "type") or "",
            name=_first(known, "name"),
            media_type=_first(known, "media_type"),
            caption=_first(known, "caption"),
            sha256=_first(known, "sha256"),
            size_bytes=size if isinstance(size := known.get("bytes"), int) else None,
            data=files.get(place),
        )
        for place, known in enumerate(_listed(metadata.get(ATTACHMENTS)))
        if isinstance(known, Mapping)
    ]


def output_text(output: object) -> str:
    """Write a tool's result, a text, parts or any JSON, as text, word for word."""
    return _read_output(output).text


def _checked(message: Message, of_agent: Mapping[str, str], *, keep_files: bool) -> Message:
    """Check every field; without `keep_files` the bytes of attachments are left out."""
    one_line("role", message.role)
    if message.role not in _KNOWN_ROLES and (close := get_close_matches(message.role, _KNOWN_ROLES, 1, 0.8)):
        raise InvalidInput(f"role {shown(message.role)} is no role: did you mean {close[0]!r}?")
    if message.name is not None:
        one_line("name", message.name)
    if not isinstance(message.content, str):
        raise InvalidInput(f"content must be a string, not {type_of(message.content)}")
    try:
        message.content.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"content has a lone surrogate (half of a character) at character {error.start}: repair it with"
            " text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        ) from error
    if not isinstance(message.metadata, Mapping):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(message.metadata)}")
    files = message.files
    if not isinstance(files, tuple) or not all(isinstance(file, bytes | None) for file in files):
        raise InvalidInput(f"files must be a tuple of bytes, not {type_of(files)}")
    if keep_files and any(file and len(file) > MOST_FILE_BYTES for file in files):
        raise InvalidInput(f"has a file of more than {MOST_FILE_BYTES // 2**20} MiB: keep it elsewhere")
    metadata = to_json(message.metadata)
    return replace(
        message,
        session=key("session", message.session),
        id=None if message.id is None else key("id", message.id),
        time=None if message.time is None else to_time(message.time),
        metadata={**of_agent, **(json.loads(metadata) if metadata else {})},
        seq=0,
        files=files if keep_files else (),
    )


def _signed(message: Message, by: str | None) -> Message:
    """The message with who wrote it into a shared memory, whoever it says has spoken."""
    if by is None:
        return message
    name = message.name
    if message.role not in MACHINES and name != by:
        name = f"{name} (by {by})" if name else by
    return replace(message, name=name, metadata={**message.metadata, WRITTEN_BY: by})


def _shaped(given: object, session: str) -> list[Message]:
    """Read the messages, not checked yet, of one thing that was given; a completion is its first choice."""
    if isinstance(given, Message):
        return [given]
    if isinstance(given, str):
        return [Message(given, session=session)]
    shape = _plain(given)
    if not isinstance(shape, Mapping):
        raise InvalidInput(f"must be a Message, a mapping or a string, not {type_of(given)}")
    if (inner := _unwrapped(shape)) is not None:
        return [message for item in inner for message in _shaped(item, session)]
    if (role := _langchain_role(shape)) is not None:
        shape = _of_object(_of_langchain(shape, role))
    elif isinstance(item := shape.get("type"), str) and "role" not in shape and item.endswith(_ITEMS):
        shape = _of_item(shape, item)
    elif shape.get("type") == "message" or shape is not given:
        shape = _of_object(shape)
    return _from_chat(shape, session)


def _from_chat(given: Mapping[Any, Any], session: str) -> list[Message]:
    """Read a mapping in the chat shape; each tool's result in its content is a message beside it."""
    for name in given:
        if name not in _KEYS | _OURS | _TOOL_KEYS:
            raise InvalidInput(
                f"unknown field {shown(name)}: put it into metadata, or use one of {sorted(_KEYS)}"
            )
    if given.get("content") is None and not any(given.get(name) for name in _SPOKEN):
        says_none = "content must be a string or a list of parts, not None"
        raise InvalidInput(says_none if "content" in given else "has no content")
    metadata = given.get("metadata")
    if not isinstance(metadata, Mapping | None):
        raise InvalidInput(f"metadata must be a mapping, not {type_of(metadata)}")
    time, role = given.get("time"), given.get("role")
    kept = sorted((_TOOL_KEYS & set(given)) - {"audio", "reasoning_content"})
    extra = {name: given[name] for name in kept if given[name] not in (None, [])}
    if given.get("reasoning_content"):
        extra["reasoning"] = given["reasoning_content"]
    content = _read_content(given.get("content"), given.get("tool_calls"))
    _read_audio(given.get("audio"), content)
    message = Message(
        content=content.text or _spoken(given),
        role="user" if role is None else _ROLES.get(role, role) if isinstance(role, str) else role,
        name=given.get("name"),
        time=None if time is None else to_time(time),
        session=session if given.get("session") is None else given["session"],
        metadata={**extra, **content.metadata, **(metadata or {})},
        id=given.get("id"),
        files=tuple(content.files),
    )
    outputs = [*content.before, *content.after]
    if content.is_nothing and len(outputs) == 1:
        return [_of_tool(outputs[0], message, message.id)]
    results = [
        _of_tool(output, message, None if message.id is None else f"{key('id', message.id)}/{number}")
        for number, output in enumerate(outputs, 1)
    ]
    first = len(content.before)
    return [*results[:first], *([] if content.is_nothing and outputs else [message]), *results[first:]]


def _of_tool(output: ToolOutput, asked_in: Message, message_id: Any) -> Message:
    """Make a message of a tool's result, with the time and session of the one that it stood in."""
    content = _read_output(output.content)
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


def _spoken(given: Mapping[Any, Any]) -> str:
    """Find the text of a message without content: its refusal, or its call in the old form."""
    refusal, function = given.get("refusal"), given.get("function_call")
    if isinstance(refusal, str):
        return refusal
    return _call_in_words({"function": function}) if isinstance(function, Mapping) else ""


def _is_object(given: object) -> TypeGuard[LibraryObject]:
    """True if it is a library's object; some can be iterated over, and are no list of messages."""
    return not isinstance(given, type) and callable(getattr(given, "model_dump", None))


def _plain(given: object) -> object:
    """Dump a library's object as a mapping; anything else is returned as it is."""
    if not _is_object(given):
        return given
    dump: Any = given.model_dump
    for options in ({"mode": "json", "warnings": False}, {}):
        # A library's own code, over values that JSON may not have.
        with suppress(Exception):
            if isinstance(dumped := dump(**options), Mapping):
                return dumped
    raise InvalidInput(f"a {type(given).__name__} cannot be read: give its text in a mapping")


def _unwrapped(shape: Mapping[str, Any]) -> Sequence[Any] | None:
    """Return the messages in a container or wrapper (of `choices`, the first); None if it is neither."""
    if "role" in shape or "content" in shape:
        return None
    choices, output, messages = shape.get("choices"), shape.get("output"), shape.get("messages")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        return [{"type": "message", **message}] if isinstance(message, Mapping) else None
    if isinstance(output, list) and shape.get("object") == "response":
        return output
    if isinstance(messages, list | tuple):  # a request, or the state of a graph
        return messages
    data, arguments, names = shape.get("data"), shape.get("kwargs"), shape.get("id")
    if isinstance(data, Mapping) and isinstance(shape.get("type"), str):
        return [{**data, "type": shape["type"]}]
    if isinstance(arguments, Mapping) and isinstance(names, list) and names:
        return [{**arguments, "type": str(names[-1])}]
    return None


def _langchain_role(shape: Mapping[str, Any]) -> str | None:
    """Find the role by LangChain's `type`; None where it is no message of LangChain's."""
    kind = shape.get("type")
    if not isinstance(kind, str) or "content" not in shape:
        return None
    name = kind.lower().removesuffix("chunk").removesuffix("message")
    role = _LANGCHAIN.get(name) or (shape.get("role") if name == "chat" else None)
    return role if isinstance(role, str) else None


def _of_langchain(shape: Mapping[str, Any], role: str) -> Shape:
    further = shape.get("additional_kwargs")
    broken = shape.get("invalid_tool_calls") or []
    calls = shape.get("tool_calls") or []
    made = {**(further if isinstance(further, Mapping) else {}), **shape, "role": role}
    if isinstance(calls, list) and isinstance(broken, list) and (calls or broken):
        made["tool_calls"] = [*calls, *broken]
    elif not made.get("tool_calls"):
        made.pop("tool_calls", None)
    return {**made, "is_error": True} if shape.get("status") == "error" else made


def _of_object(shape: Mapping[str, Any]) -> Shape:
    """Keep the fields of a message; further fields that are not passing go into the metadata."""
    made = {name: shape[name] for name in sorted(_READ) if shape.get(name) is not None}
    made.setdefault("content", "")
    own = shape.get("metadata")
    further = {
        name: _json(value)
        for name, value in shape.items()
        if name not in _READ | _PASSING and value not in (None, [], {}, "")
    }
    return {**made, "metadata": {**further, **(own if isinstance(own, Mapping) else {})}}


def _of_item(shape: Mapping[str, Any], kind: str) -> Shape:
    """Read an item of the Responses API; an unknown one is kept whole in the metadata."""
    known = {"id": shape["id"]} if shape.get("id") is not None else {}
    if kind in ("function_call", "custom_tool_call"):
        call = _call(shape.get("call_id"), shape.get("name"), shape.get("arguments", shape.get("input")))
        return {"role": "assistant", "content": "", "tool_calls": [call], **known}
    if kind in ("function_call_output", "custom_tool_call_output"):
        result = {"type": "tool_result", "tool_use_id": shape.get("call_id"), "content": shape.get("output")}
        return {"role": "tool", "content": [result], **known}
    if kind == "reasoning":
        parts = [*_listed(shape.get("summary")), *_listed(shape.get("content"))]
        texts = [part.get("text") for part in map(_plain, parts) if isinstance(part, Mapping)]
        thought = "\n".join(text for text in texts if isinstance(text, str))
        return {"role": "assistant", "content": [{"type": "thinking", "thinking": thought}], **known}
    metadata = {"item": _json(shape)}
    return {"role": "assistant", "content": f"[{kind.replace('_', ' ')}]", "metadata": metadata, **known}


def _read_content(content: object, calls: object = None) -> MessageContent:
    """Read a text, or parts in any of the wire formats. Raises InvalidInput."""
    if calls is not None and (not isinstance(calls, Sequence) or isinstance(calls, str | bytes)):
        raise InvalidInput(f"tool_calls must be a list, not {type_of(calls)}")
    read = MessageContent(calls=[_as_call(call) for call in calls or ()])
    known_ids = {_first(call, "id") for call in read.calls if isinstance(call, Mapping)} - {None}
    if isinstance(content, str):
        content = [content] if content else []
    if content is not None and (not isinstance(content, Sequence) or isinstance(content, bytes | bytearray)):
        raise InvalidInput(f"content must be a string or a list of parts, not {type_of(content)}")
    for position, part in enumerate(content or ()):
        _read_part(_plain(part), position, read, known_ids)
    return read


def _read_output(output: object) -> MessageContent:
    """Read a tool's result: a text, parts, or any JSON, which becomes a text."""
    if output is None or (isinstance(output, Sequence) and not isinstance(output, bytes | bytearray)):
        with suppress(InvalidInput):
            return _read_content(output)
    return _read_content(_written(output))


def _read_audio(audio: object, content: MessageContent) -> None:
    """Add the speech of OpenAI's models to `content`: the words are the text, the sound is attached."""
    if not isinstance(audio, Mapping):
        return
    spoken = MessageContent()
    _read_file({"type": "audio", "audio": audio}, "audio", spoken)
    content.attachments += spoken.attachments
    content.files += spoken.files
    if not content.texts and (transcript := _first(audio, "transcript")):
        content.texts.append(transcript)


def _read_part(part: object, position: int, content: MessageContent, known_ids: set[str | None]) -> None:
    if isinstance(part, str):
        content.texts.append(part)
        return
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        raise InvalidInput(f"content[{position}] must be a mapping with a string 'type', not {shown(part)}")
    kind = part["type"]
    if kind in _TEXTS:
        text = part.get("text", part.get("refusal"))
        if not isinstance(text, str):
            raise InvalidInput(f"content[{position}].text must be a string, not {type_of(text)}")
        content.texts.append(text)
        content.annotations += _listed(part.get("annotations")) + _listed(part.get("citations"))
    elif kind in _THOUGHTS:
        thought = next((part[name] for name in ("thinking", "reasoning", "text") if part.get(name)), None)
        if isinstance(thought, str):
            content.thoughts.append(thought)
    elif kind in _CALLS:
        if _first(part, "id") not in known_ids:  # LangChain has some of them twice
            content.calls.append(_call(part.get("id"), part.get("name"), part.get("input", part.get("args"))))
    elif kind.endswith("tool_result") or kind in ("function_response", "server_tool_call_result"):
        output = part.get("content", part.get("output"))
        call_id = part.get("tool_use_id", part.get("tool_call_id"))
        (content.before if content.is_nothing else content.after).append(
            ToolOutput(call_id, output, part.get("is_error") is True)
        )
    elif kind == "search_result":
        content.texts += [text for text in (part.get("title"), output_text(part.get("content"))) if text]
    else:
        _read_file(part, kind, content)


def _read_file(part: Mapping[str, Any], kind: str, content: MessageContent) -> None:
    """Add a line that names an image or a file to `content`, and its description to the attachments."""
    detail = part.get(kind)
    source = part.get("source")
    inner = {
        **part,
        **(detail if isinstance(detail, Mapping) else {"url": detail}),
        **(source if isinstance(source, Mapping) else {}),
    }
    label = kind.removeprefix("input_").removesuffix("_url").replace("_", " ")
    encoded = _first(inner, "base64", "data", "file_data", "image_url", "url", "file_url")
    if inner.get("type") == "text" and isinstance(inner.get("data"), str):  # a document in plain words
        encoded = None
    data, media_type = _decoded(encoded)
    url = encoded if encoded and data is None and "://" in encoded[:12] else None
    name = _first(inner, "filename", "title", "name") or url or _first(inner, "file_id")
    caption = _first(inner, "caption", "alt", "context", "transcript")
    described = ": ".join(text for text in (label, ", ".join(t for t in (name, caption) if t)) if text)
    content.texts.append(f"[{described}]")
    known = {
        "part": None if kind in _FILES else _json(part),  # nobody knows what it is
        "type": label,
        "name": name,
        "media_type": _first(inner, "media_type", "mime_type", "format") or media_type,
        "caption": caption,
        "sha256": sha256(data).hexdigest() if data is not None else None,
        "bytes": len(data) if data is not None else None,
    }
    content.attachments.append({key: value for key, value in known.items() if value is not None})
    content.files.append(data)
    if inner.get("type") == "text" and isinstance(inner.get("data"), str):
        content.texts.append(inner["data"])
    elif isinstance(inner.get("content"), list | str):
        content.texts.append(output_text(inner["content"]))


def _decoded(encoded: str | None) -> tuple[bytes | None, str | None]:
    """Decode base64 text or a data URL to bytes and media type; None for anything else."""
    if not encoded or "://" in encoded[:12]:
        return None, None
    media_type = None
    if encoded.startswith("data:"):
        head, _, encoded = encoded.partition(",")
        media_type = head.removeprefix("data:").partition(";")[0] or None
        if not head.endswith(";base64"):
            return None, media_type
    try:
        return base64.b64decode(encoded, validate=True), media_type
    except (binascii.Error, ValueError):
        return None, media_type


def _as_call(call: object) -> Any:
    """Turn a tool's call of any wire format into that of OpenAI's chat."""
    call = _plain(call)
    if not isinstance(call, Mapping) or isinstance(call.get("function"), Mapping) or "name" not in call:
        return call
    return _call(call.get("id"), call["name"], call.get("args", call.get("arguments", call.get("input"))))


def _call(call_id: object, name: object, arguments: object) -> Shape:
    text = arguments if isinstance(arguments, str) else _written({} if arguments is None else arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def _call_in_words(call: object) -> str:
    named = call.get("function", call.get("custom")) if isinstance(call, Mapping) else None
    if not isinstance(named, Mapping):
        return "[tool call]"
    return f"[tool call: {named.get('name')}({named.get('arguments', named.get('input', ''))})]"


def _first(values: Mapping[str, Any], *names: str) -> str | None:
    return next((values[name] for name in names if isinstance(values.get(name), str) and values[name]), None)


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _written(value: object) -> str:
    """Write a value as JSON; values that JSON lacks are written as strings."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{type_of(value)} is not JSON ({error})") from error


def _json(value: object) -> Any:
    return json.loads(_written(value))
