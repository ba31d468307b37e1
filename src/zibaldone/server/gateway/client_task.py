"""Recognition of requests that a client program makes for itself: titles, tags or summaries.

They go to the same model under the same user and session as the conversation, but nobody said their words.
Nothing but these words tells them: headers, metadata, model and session are those of the conversation. They
are recognized by the beginning of an instruction of a known coding agent or chat interface: of the last turn
(summaries, which come after the whole history), or of anything before the first answer (titles and tags).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from starlette.datastructures import Headers

from zibaldone.server.gateway.json_body import mapping, sequence, text
from zibaldone.server.gateway.wire import Wire

_SUBAGENT_HEADERS = ("x-claude-code-agent-id", "x-openai-subagent")
_FIRST = re.compile(
    r"\s*(?:you are a title generator\b"
    r"|(?:please )?(?:generate|write|create|provide|suggest|produce)\b[^.\n]{0,80}\btitle\b[^.]{0,120}"
    r"\b(?:this (?:\w+ )?|the (?:following )?)(?:conversation|session)\s*(?:[.,:\n]|\Z)"
    r"|### Task:\s(?s:.*)(?:<chat_history>|### Chat History))",
    re.IGNORECASE,
)
_LAST = re.compile(  # to summarize a conversation, or to guess the user's next words
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
    turns = [mapping(element) for element in wire.given]
    users = [turn.get("content") for turn in turns if turn.get("role") == "user"]
    if any(map(_LAST.match, _texts(users[-1:]))):
        return True
    goes_on = wire.continues or wire.conversation or any(turn.get("role") == "assistant" for turn in turns)
    if wire.body.get("tools") or goes_on:
        return False
    program = [turn.get("content") for turn in turns if turn.get("role") in ("system", "developer")]
    contents = [wire.body.get("system"), wire.body.get("instructions"), *program, *users[:1]]
    return any(map(_FIRST.match, _texts(contents)))


def is_subagent(headers: Headers) -> bool:
    """True if the user turns are another agent's.

    Task and result are also in the conversation of that agent, as a tool call and its result.
    """
    return any(name in headers for name in _SUBAGENT_HEADERS)


def _texts(contents: list[object]) -> Iterator[str]:
    """Yield the texts of contents, strings or lists of parts."""
    for content in contents:
        if isinstance(content, str):
            yield content
        for part in sequence(content):
            yield text(mapping(part).get("text"))
