"""Templates, their filters, and static files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib.resources import files
from itertools import islice
from typing import Any

import regex
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from zibaldone.core import Evidence, Message
from zibaldone.text.words import STOP_WORDS, term_of, terms, words

SHOWN_CHARACTERS = 4000  # of a message in a list
_STATIC = {file.name: file.read_bytes() for file in (files("zibaldone.server.page") / "static").iterdir()}
# Paths that change with the file's content: browsers cache them for a year.
_VERSIONED = {
    name: f"/static/{name}?v={hashlib.blake2b(data, digest_size=6).hexdigest()}"
    for name, data in _STATIC.items()
}
_CACHED = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")


def marked_words(text: str, query: str) -> Iterator[tuple[str, bool]]:
    """Split a text into pieces, each with True if it is a word of the query, compared by stems."""
    wanted = set(terms(query)) or {term for word in words(query) for _, term in term_of(word)}
    end = 0
    for match in _WORD.finditer(text) if wanted else ():
        word = match.group()
        folded = words(word)
        known = {term for part in folded if part not in STOP_WORDS for _, term in term_of(part)}
        if known.isdisjoint(wanted):
            continue
        if match.start() > end:
            yield text[end : match.start()], False
        yield word, True
        end = match.end()
    if end < len(text):
        yield text[end:], False


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


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return the beginning of a text."""
    return text[:most]


def count(number: int, thing: str) -> str:
    """Format a count: "1 message", "2,000 messages"; the first of several words gets the plural."""
    first, _, rest = thing.partition(" ")
    plural = first if number == 1 else f"{first[:-1]}ies" if first.endswith("ry") else f"{first}s"
    return f"{number:,} {plural}{' ' + rest if rest else ''}"


def size(number: int) -> str:
    """Format a size: 1.2 MB."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if number >= unit:
            return f"{number / unit:.1f} {name}"
    return f"{number} bytes"


def marked(text: str, query: str) -> Markup:
    """Escape a text and put the words of a query into <mark>."""
    return Markup("").join(
        Markup("<mark>{}</mark>").format(piece) if is_match else escape(piece)
        for piece, is_match in marked_words(text, query)
    )


def said_by(thing: Message | Evidence) -> str:
    """Return the speaker of a message or a passage."""
    return thing.speaker or "nobody"


def sources(seqs: Iterable[int], most: int = 6) -> Iterator[int]:
    """Return the first few seqs of something's sources."""
    return islice(seqs, most)


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
_ENVIRONMENT.globals |= {"static": _VERSIONED, "SHOWN_CHARACTERS": SHOWN_CHARACTERS}


def render(template: str, **values: Any) -> str:
    """Render a template."""
    return _ENVIRONMENT.get_template(template).render(values)


def static_routes() -> Sequence[Route]:
    """Return the routes /static and /favicon.ico, which need no key."""

    async def static(request: Request) -> Response:
        name = request.path_params.get("name", "mark.svg")
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(_STATIC[name], media_type=_TYPES[name.rpartition(".")[2]], headers=_CACHED)

    return [Route(path, static, methods=["GET"]) for path in ("/static/{name}", "/favicon.ico")]
