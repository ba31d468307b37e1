"""The templates, and how times, texts and numbers look in them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from zibaldone.core import Evidence, Message
from zibaldone.server.page.highlighting import marked_words

SHOWN_CHARACTERS = 4000  # of one message, in a list; the rest is a link away
_STATIC = files("zibaldone.server.page") / "static"


def day(time: datetime | None) -> str:
    """Such as 8 May 2023."""
    return f"{time.day} {time:%b %Y}" if time else ""


def moment(time: datetime | None) -> str:
    """Such as 8 May 2023, 13:56."""
    return f"{day(time)}, {time:%H:%M}" if time else ""


def short(text: object, most: int = 90) -> str:
    """The first words, in one line."""
    line = " ".join(str(text)[: most * 4].split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """The beginning of a text, whole where it is not long."""
    return text if len(text) <= most else text[:most]


def count(number: int, thing: str) -> str:
    """A number of things: "1 message", "2,000 messages"; of several words the first is counted."""
    first, _, rest = thing.partition(" ")
    plural = first if number == 1 else f"{first[:-1]}ies" if first.endswith("ry") else f"{first}s"
    return f"{number:,} {plural}{' ' + rest if rest else ''}"


def size(number: int) -> str:
    """Such as 1.2 MB."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} bytes"


def marked(text: str, query: str) -> Markup:
    """A text with the words of a query in <mark>; all of it escaped."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if is_match else escape(piece)
        for piece, is_match in marked_words(text, query)
    )


def said_by(thing: Message | Evidence) -> str:
    """Who speaks."""
    return thing.speaker or "nobody"


def sources(seqs: Iterable[int], most: int = 6) -> Iterator[int]:
    """The first of the messages that something was made from."""
    for place, seq in enumerate(seqs):
        if place == most:
            return
        yield seq


def _versions() -> dict[str, str]:
    """A static file's path, with what changes when it does: browsers keep it for a year."""
    known = {}
    for file in _STATIC.iterdir():
        mark = hashlib.blake2b(file.read_bytes(), digest_size=6).hexdigest()
        known[file.name] = f"/static/{file.name}?v={mark}"
    return known


_ENVIRONMENT = Environment(
    loader=PackageLoader("zibaldone.server.page"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters |= {
    "count": count,
    "cut": cut,
    "day": day,
    "marked": marked,
    "moment": moment,
    "said_by": said_by,
    "short": short,
    "size": size,
    "sources": sources,
}
_ENVIRONMENT.globals |= {"static": _versions(), "SHOWN_CHARACTERS": SHOWN_CHARACTERS}


def render(template: str, **values: Any) -> str:
    """A template's HTML."""
    return _ENVIRONMENT.get_template(template).render(values)
