"""Templates, their filters, and static files."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from zibaldone import __version__
from zibaldone.core import AGENT, EDITOR, OWNERS_WORDS, Decision, Evidence, Message
from zibaldone.server.page.markdown import highlighter, rendered
from zibaldone.views.topics.library import CURRENT
from zibaldone.views.topics.markdown.document import Document

SHOWN_CHARACTERS = 4000  # of a message in a list
# By what messages' ids begin with, which says through which importer or door they came.
SOURCES = {
    "chatgpt": "ChatGPT",
    "claude": "Claude",
    "claude_code": "Claude Code",
    "codex": "Codex",
    "csv": "Table",
    "discord": "Discord",
    "gateway": "Connected apps",
    "gemini": "Gemini",
    "mail": "Mail",
    "mem0": "mem0",
    "note": "Files",
    "sharegpt": "ShareGPT",
    "slack": "Slack",
    "telegram": "Telegram",
    "whatsapp": "WhatsApp",
}
_OF_GATEWAY = ("turn-", "latest-", "named-")
_ASSISTANTS = frozenset({"chatgpt", "claude", "claude_code", "codex", "gemini"})


def day(time: datetime | None) -> str:
    """Format a date: 8 May 2023."""
    return f"{time.day} {time:%b %Y}" if time else ""


def moment(time: datetime | None) -> str:
    """Format a time: 8 May 2023, 13:56."""
    return f"{day(time)}, {time:%H:%M}" if time else ""


def short(text: object, most: int = 90) -> str:
    """Shorten a text to one line."""
    line = " ".join(str(text)[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def count(number: int, thing: str) -> str:
    """Format a count: "1 message", "2,000 messages"; the first of several words gets the plural."""
    first, _, rest = thing.partition(" ")
    plural = first if number == 1 else f"{first[:-1]}ies" if first.endswith("ry") else f"{first}s"
    return f"{number:,} {plural}{' ' + rest if rest else ''}"


def word_count(tokens: int) -> str:
    """Format a length in tokens as people count it: about 1,500 words."""
    words = tokens * 3 // 4  # of English
    return f"about {round(words, -1 if words < 1000 else -2):,} words" if words >= 10 else "a few words"


def why(decision: Decision) -> str:
    """Say why a passage is in a recall, or is not, without figures of the machine."""
    if not decision.reason.startswith("rank "):
        return decision.reason.partition(" (")[0]
    fit = f"number {decision.rank} by how well it fits"
    return fit if decision.kept else f"{fit}, and no room was left"


def source_of(thing: Message | Evidence) -> str:
    """Return where a message or a passage came from, one of SOURCES; "" where nothing says so."""
    own_id = (thing.ids[0] if thing.ids else "") if isinstance(thing, Evidence) else thing.id or ""
    beginning = "gateway" if own_id.startswith(_OF_GATEWAY) else own_id.partition(":")[0]
    return beginning if beginning in SOURCES else ""


def said_by(thing: Message | Evidence, user: str = "", me: str = "You", scope: str = "") -> str:
    """Return who said a message or a passage: `me` for its owner, else a name, or the assistant's product.

    In a shared memory, `scope`, a user without a name is somebody.
    """
    role = thing.role if isinstance(thing, Evidence) else thing.voice
    name = thing.speaker or ""
    is_owners = thing.metadata.get(OWNERS_WORDS)
    is_unnamed = role in ("user", EDITOR) and name.casefold() in ("" if scope else role, user.casefold())
    if (is_unnamed and is_owners is not False) or (is_owners is True and not scope):
        return me
    if name and name != role:
        return name
    source = source_of(thing)
    if role == "assistant":
        agent = thing.metadata.get(AGENT)
        return SOURCES[source] if source in _ASSISTANTS else str(agent or "Assistant")
    return (role or "Note").capitalize()


def topic_title(document: Document) -> str:
    """Return a topic document's title."""
    return "Not filed yet" if document.id == CURRENT else document.title


_ENVIRONMENT = Environment(
    loader=PackageLoader("zibaldone.server.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_FILTERS = (count, day, moment, said_by, short, source_of, topic_title, why, word_count)
_ENVIRONMENT.filters |= {function.__name__: function for function in _FILTERS} | {"markdown": rendered}
_ENVIRONMENT.filters["marked"] = lambda text, question: highlighter(question)(text)
_ENVIRONMENT.globals |= {"version": __version__, "SHOWN_CHARACTERS": SHOWN_CHARACTERS, "SOURCES": SOURCES}


def render(template: str, **values: Any) -> str:
    """Render a template."""
    return _ENVIRONMENT.get_template(template).render(values)
