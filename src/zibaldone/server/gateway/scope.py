"""The user, session, agent and options of memory that a request names.

The user is the first of: the key's user, the header X-Memory-User, `memory.user` in the body,
`metadata.user_id`, `safety_identifier`, `user`. Clients send the last three for the upstream; with a key that
is bound to a user they are ignored, except for the session in `metadata.user_id`. A header or `memory.user`
that names another user than the key's is refused, and so for agents.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import Headers

from zibaldone.errors import InvalidInput
from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.server.access import Principal, named_in
from zibaldone.server.gateway.json_body import JsonObject, NotAnObject, mapping, read_object, text
from zibaldone.server.gateway.turns import WireTurn
from zibaldone.server.problems import Problem
from zibaldone.server.settings import MemoryMode, to_mode

MEMBER = "memory"  # member of a request's body and of an answer's
_DEFAULT_BUDGET_TOKENS, _MOST_BUDGET_TOKENS = RECALL_TOKENS, 100_000
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


@dataclass(frozen=True, slots=True)
class MemoryOptions:
    """Options of memory in a request."""

    turn_id: str | None = None
    mode: MemoryMode = MemoryMode.CONTEXT
    enable_retrieval: bool = True
    enable_writeback: bool = True
    report: bool = True  # add a MemoryReport to the answer
    budget_tokens: int = _DEFAULT_BUDGET_TOKENS
    views: tuple[str, ...] | None = None
    roles: tuple[str, ...] | None = None  # of recalled messages; None: all
    shared: tuple[str, ...] | None = None  # memories recalled beside the user's; None: all that are shared


def memory_scope(principal: Principal, headers: Headers, body: JsonObject) -> MemoryScope | None:
    """Return the scope; None if no user is named. Raises a 403 Problem for another user than the key's."""
    named = mapping(body[MEMBER])
    named_user = _header(headers, "x-memory-user") or _name(named, "user")
    for name in (named_user, _name(named, "user")):  # both are checked
        principal.whose(name or principal.user or "-")
    agent = principal.which_agent(_header(headers, "x-memory-agent") or _name(named, "agent"))
    principal.which_agent(_name(named, "agent") or agent)
    session = _header(headers, "x-memory-session") or _name(named, "session")
    user = principal.user or named_user
    client_user, client_session = _user_and_session(text(mapping(body["metadata"]).get("user_id")))
    if user is None:
        user = client_user or text(body["safety_identifier"]) or text(body["user"])
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
        parts = read_object(user_id.encode(errors="replace"))
    except NotAnObject:
        return user_id, None
    session, device, account = (text(parts[name]) for name in ("session_id", "device_id", "account_uuid"))
    if not session or not _is_name(session):
        return user_id, None
    return f"user_{device}_account_{account}" if device or account else "", session


def _session_header(headers: Headers) -> str | None:
    values = (headers.get(name, "") for name in _SESSION_HEADERS)
    return next((value for value in values if value and _is_name(value)), None)


def memory_options(headers: Headers, body: JsonObject, mode: MemoryMode) -> MemoryOptions:
    """Return the options in the body's member `memory` and the headers; `mode` is the default mode.

    Raises a 400 Problem.
    """
    given = body[MEMBER]
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise _refused(f"memory must be an object, not {type(given).__name__}")
    unknown = sorted(set(given) - _KNOWN)
    if unknown:
        raise _refused(f"memory has no {unknown[0]!r}: it has {', '.join(sorted(_KNOWN))}")
    wanted = {name: read(name, given[name]) for name, read in _READ.items() if name in given}
    if headers.get("x-memory-report", "").lower() in ("off", "false", "0"):
        wanted["report"] = False
    if header := named_in(headers, "x-memory-mode"):
        wanted["mode"] = _mode("mode", header)
    return MemoryOptions(**{"mode": mode, **wanted})


def derived_session(turns: Sequence[WireTurn]) -> str:
    """Return the session of a request that names none, derived from the first user turn."""
    first = next((turn for turn in turns if turn.message.role == "user"), None)
    words = " ".join(first.message.content.split()) if first else ""
    return f"chat-{hashlib.sha256(words.encode()).hexdigest()[:16]}"


def _header(headers: Headers, name: str) -> str | None:
    value = named_in(headers, name)
    return _checked(value) if value else None


def _name(given: Mapping[str, Any], name: str) -> str | None:
    """Return a user, session or agent in the body."""
    value = given.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _refused(f"memory.{name} must be a text, not {type(value).__name__}")
    return _checked(value)


def _checked(name: str) -> str:
    if not _is_name(name):
        raise _refused(f"a user, session or agent has at most {_LONGEST_NAME} whole characters")
    return name


def _is_name(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.encode(errors="replace").decode() == name


def _refused(detail: str) -> Problem:
    return Problem(400, "invalid-memory", detail)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _refused(f"memory.{name} must be true or false")
    return value


def _budget(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST_BUDGET_TOKENS:
        raise _refused(f"memory.{name} must be a whole number from 1 to {_MOST_BUDGET_TOKENS}")
    return value


def _names(name: str, value: object) -> tuple[str, ...]:
    some = _some_names(name, value)
    if not some:
        raise _refused(f"memory.{name} must be a list of names")
    return some


def _some_names(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _refused(f"memory.{name} must be a list of names")
    return tuple(value)


def _mode(name: str, value: object) -> MemoryMode:
    try:
        return to_mode(value)
    except InvalidInput as error:
        raise _refused(f"memory.{name}: {error}") from error


def _turn_id(name: str, value: object) -> str | None:
    return _name({name: value}, name)


_READ: dict[str, Callable[[str, object], Any]] = {
    "turn_id": _turn_id,
    "mode": _mode,
    "enable_retrieval": _flag,
    "enable_writeback": _flag,
    "report": _flag,
    "budget_tokens": _budget,
    "views": _names,
    "roles": _names,
    "shared": _some_names,
}
_KNOWN = {"user", "session", "agent", *_READ}
