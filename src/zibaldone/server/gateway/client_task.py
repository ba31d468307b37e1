"""Recognition of requests that a client program makes for itself: titles, tags or summaries.

They go to the same model under the same user and session as the conversation, but nobody said their words.
They are recognized by their beginning: an instruction of a known coding agent or chat interface, or a first
turn that asks for a title before any answer; later a person may have asked for one. Nothing else tells them:
headers, metadata, model and session are those of the conversation; a title is asked for beside its first
turn, before anything is stored; and a summary comes after the whole history, with all tools, as a turn does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from starlette.datastructures import Headers

from zibaldone.server.gateway.json_body import mapping, sequence, text
from zibaldone.server.gateway.wire import Wire

_PROGRAMS = ("system", "developer")
_SUBAGENT_HEADERS = ("x-claude-code-agent-id", "x-openai-subagent")
_TITLE = (
    r"\s*(?:you are a title generator\b"
    r"|(?:please )?(?:generate|write|create|provide|suggest|produce)\b[^.\n]{{0,80}}\btitle\b[^.]{{0,120}}"
    r"\b{what}\s*(?:[.,:\n]|\Z))"
)
_PROGRAM_S_TITLE = re.compile(
    _TITLE.format(what=r"(?:this|the|our) (?:\w+ )?(?:conversation|session|chat|thread)"), re.IGNORECASE
)
_FIRST_TURN_S_TITLE = re.compile(
    _TITLE.format(what=r"(?:this|the) (?:following )?conversation"), re.IGNORECASE
)
_CHORE = re.compile(r"\s*### Task:\s.*(?:<chat_history>|### Chat History)", re.DOTALL)
_LAST_TURN = re.compile(  # to summarize a conversation, or to guess the user's next words
    r"\s*(?:(?:critical: respond with text only\b(?s:.{0,2000}?))?"
    r"your task is to create a detailed summary of"
    r" (?:the conversation so far|this conversation\.|the recent portion of the conversation)"
    r"|you are performing a context checkpoint compaction\b"
    r"|provide a detailed prompt for continuing our conversation above\b"
    r"|\[suggestion mode\b)",
    re.IGNORECASE,
)


def is_client_task(wire: Wire) -> bool:
    """True if a request is a task of the client program."""
    elements = [mapping(element) for element in wire.given]
    turns = [list(_texts(element.get("content"))) for element in elements if element.get("role") == "user"]
    last = turns[-1] if turns else []
    if any(_LAST_TURN.match(words) for words in last):
        return True
    goes_on = wire.continues or wire.conversation
    if wire.body.get("tools") or goes_on or any(element.get("role") == "assistant" for element in elements):
        return False
    program = [*_texts(wire.body.get("system")), *_texts(wire.body.get("instructions"))]
    for element in elements:
        if element.get("role") in _PROGRAMS:
            program += _texts(element.get("content"))
    first = turns[0] if turns else []
    return any(map(_PROGRAM_S_TITLE.match, program)) or any(
        _FIRST_TURN_S_TITLE.match(words) or _CHORE.match(words) for words in first
    )


def is_subagent(headers: Headers) -> bool:
    """True if the user turns are another agent's.

    Task and result are also in the conversation of that agent, as a tool call and its result.
    """
    return any(name in headers for name in _SUBAGENT_HEADERS)


def _texts(content: object) -> Iterator[str]:
    """Yield the texts of a content, a string or a list of parts."""
    if isinstance(content, str):
        yield content
    for part in sequence(content):
        yield text(mapping(part).get("text"))
