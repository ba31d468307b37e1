"""The memory as resources: the profile, the sessions, the topic documents."""

from __future__ import annotations

from urllib.parse import quote, unquote

from mcp.types import Resource, ResourceTemplate

from zibaldone.core import Message
from zibaldone.log.filters import Filter
from zibaldone.server.mcp.caller import McpCaller
from zibaldone.text.rendering import line, quotation

SCHEME = "memory://"
PROFILE, SESSIONS, TOPICS = f"{SCHEME}profile", f"{SCHEME}sessions/", f"{SCHEME}topics/"
PLAIN, MARKDOWN = "text/plain", "text/markdown"
_MOST_LISTED = 200  # of sessions; older ones are read by their names
_MOST_MESSAGES = 500  # the newest of a session
_BUDGET_TOKENS = 2000  # of the profile


async def resources_of(caller: McpCaller) -> list[Resource]:
    """List the resources: the profile, the newest sessions, then the topic documents."""
    newest, _ = await caller.memory.user(caller.user).titled_sessions(agent=caller.agent, limit=_MOST_LISTED)
    sessions = [_resource(f"{SESSIONS}{_escaped(one.session)}", one.session, one.title) for one in newest]
    if caller.agent is not None:
        return sessions
    documents = [
        _resource(f"{TOPICS}{_escaped(held.id)}", held.title or held.id, "A topic document.", MARKDOWN)
        for held in await caller.memory.user(caller.user).topics.documents()
    ]
    return [_resource(PROFILE, "profile", "What holds of the user."), *sessions, *documents]


def templates_of(caller: McpCaller) -> list[ResourceTemplate]:
    """Return the addresses of resources that are not listed."""
    sessions = ResourceTemplate(
        uri_template=f"{SESSIONS}{{session}}",
        name="session",
        description="The newest messages of a session.",
        mime_type=PLAIN,
    )
    topics = ResourceTemplate(
        uri_template=f"{TOPICS}{{document}}",
        name="topic document",
        description="A topic document, by its id.",
        mime_type=MARKDOWN,
    )
    return [sessions, topics] if caller.agent is None else [sessions]


def _resource(uri: str, name: str, description: str, media_type: str = PLAIN) -> Resource:
    return Resource(uri=uri, name=name, description=description, mime_type=media_type)


async def read_resource(caller: McpCaller, uri: str) -> tuple[str, str] | None:
    """A resource's text and media type; None where there is none of this address.

    Raises InvalidInput for a topic document that is not there.
    """
    if uri == PROFILE and caller.agent is None:
        return await caller.memory.user(caller.user).profile.text(_BUDGET_TOKENS), PLAIN
    if uri.startswith(SESSIONS) and uri != SESSIONS:
        messages = await caller.memory.messages(
            user=caller.user,
            filter=Filter(agent=caller.agent, session=unquote(uri.removeprefix(SESSIONS))),
            last=_MOST_MESSAGES,
        )
        return (quotation("\n".join(map(_message_line, messages))), PLAIN) if messages else None
    if uri.startswith(TOPICS) and caller.agent is None:
        return await caller.memory.user(caller.user).topics.text(unquote(uri.removeprefix(TOPICS))), MARKDOWN
    return None


def _message_line(message: Message) -> str:
    day = f"{message.time:%Y-%m-%d %H:%M}" if message.time and message.is_dated else "no date"
    return f"[message {message.seq}, {day}] {line(message.speaker, message.content)}"


def _escaped(name: str) -> str:
    return quote(name, safe="")
