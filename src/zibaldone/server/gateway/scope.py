"""The user, session, agent and options of memory that a request names.

The user is the first of: the key's user, the header X-Memory-User, `memory.user` in the body,
`metadata.user_id`, `safety_identifier`, `user`. Clients send the last three for the upstream; with a key that
is bound to a user they are ignored, except for the session in `metadata.user_id`. A header or `memory.user`
that names another user than the key's is refused, and so for agents.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from starlette.datastructures import Headers

from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.server.access import Principal, named_in
from zibaldone.server.gateway.json_body import NotAnObject, mapping, read_object, text
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.server.problems import Problem
from zibaldone.server.settings import MemoryMode, to_mode

MEMBER = "memory"  # member of a request's body and of an answer's
_MOST_BUDGET_TOKENS = 100_000
_LONGEST_NAME = 512
# metadata.user_id of coding agents: user and session; newer ones write JSON.
_WITH_SESSION = re.compile(r"(?P<user>.+)_session_(?P<session>[0-9a-fA-F-]{8,})")
# Session headers of Claude Code, opencode, Codex and its older versions.
_SESSION_HEADERS = ("x-claude-code-session-id", "x-session-id", "session-id", "session_id")


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """User, session and agent of a request."""

    user: str
    session: str | None  # named for the memory, or in metadata.user_id
    agent: str | None
    client_session: str | None = None  # from a coding agent's own header


def _to_name(value: object) -> object:
    """A number is its digits, and an empty text no name."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None if value == "" else value


_Given = Annotated[
    Annotated[str, Field(max_length=_LONGEST_NAME)] | None, BeforeValidator(_to_name)
]  # a user, session or agent
_Names = list[Annotated[str, Field(min_length=1)]]


class MemoryOptions(BaseModel):
    """The member `memory` of a request."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    user: _Given = None
    session: _Given = None
    agent: _Given = None
    mode: Annotated[MemoryMode, BeforeValidator(to_mode)]
    enable_retrieval: bool = True
    enable_writeback: bool = True
    report: bool = True  # add a MemoryReport to the answer
    budget_tokens: Annotated[int, Field(ge=1, le=_MOST_BUDGET_TOKENS)] = RECALL_TOKENS
    views: Annotated[_Names, Field(min_length=1)] | None = None
    roles: Annotated[_Names, Field(min_length=1)] | None = None  # of recalled messages; None: all
    shared: _Names | None = None  # memories recalled beside the user's; None: all that are shared


def memory_scope(
    principal: Principal, headers: Headers, body: Mapping[str, Any], options: MemoryOptions
) -> MemoryScope | None:
    """Return the scope; None if no user is named. Raises a 403 Problem for another user than the key's."""
    named_user = _header(headers, "x-memory-user") or options.user
    for name in (named_user, options.user):  # both are checked
        principal.whose(name or principal.user or "-")
    agent = principal.which_agent(_header(headers, "x-memory-agent") or options.agent)
    principal.which_agent(options.agent or agent)
    session = _header(headers, "x-memory-session") or options.session
    user = principal.user or named_user
    client_user, client_session = _user_and_session(text(mapping(body.get("metadata")).get("user_id")))
    if user is None:
        user = client_user or text(body.get("safety_identifier")) or text(body.get("user"))
        if not _is_name(user):  # for the upstream to judge
            return None
    if not user:
        return None
    return MemoryScope(user, session or client_session, agent, _session_header(headers))


def _user_and_session(user_id: str) -> tuple[str, str | None]:
    """Return the user and the session in a metadata.user_id."""
    if match := _WITH_SESSION.fullmatch(user_id):
        return match["user"], match["session"]
    try:
        parts = read_object(user_id)
    except NotAnObject:
        return user_id, None
    session, device, account = (text(parts.get(name)) for name in ("session_id", "device_id", "account_uuid"))
    if not session or not _is_name(session):
        return user_id, None
    return f"user_{device}_account_{account}" if device or account else "", session


def _session_header(headers: Headers) -> str | None:
    values = (headers.get(name, "") for name in _SESSION_HEADERS)
    return next((value for value in values if value and _is_name(value)), None)


def memory_options(headers: Headers, body: Mapping[str, Any], mode: MemoryMode) -> MemoryOptions:
    """Return the options in the body's member `memory` and the headers; `mode` is the default mode.

    Raises a 400 Problem.
    """
    given = {} if body.get(MEMBER) is None else body[MEMBER]
    if not isinstance(given, Mapping):
        raise _refused(f"memory must be an object, not {type(given).__name__}")
    wanted = {"mode": mode, **given}
    if headers.get("x-memory-report", "").lower() in ("off", "false", "0"):
        wanted["report"] = False
    if header := named_in(headers, "x-memory-mode"):
        wanted["mode"] = header
    try:
        return MemoryOptions.model_validate(wanted)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        at = ".".join(map(str, ("memory", *fault["loc"])))
        known = ", ".join(sorted(MemoryOptions.model_fields))
        raise _refused(f"{at}: {fault['msg']}; memory has {known}") from error


def derived_session(turns: Sequence[WireTurn]) -> str:
    """Return the session of a request that names none, derived from the first user turn."""
    first = next((turn for turn in turns if turn.message.role == "user"), None)
    words = " ".join(first.message.content.split()) if first else ""
    return f"chat-{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def _header(headers: Headers, name: str) -> str | None:
    value = named_in(headers, name)
    if value and not _is_name(value):
        raise _refused(f"a user, session or agent has at most {_LONGEST_NAME} whole characters")
    return value


def _is_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.encode(errors="replace").decode() == name


def _refused(detail: str) -> Problem:
    return Problem(400, "invalid-memory", detail)
