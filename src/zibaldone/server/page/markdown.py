"""Messages as HTML: their Markdown rendered, the words of a question marked, and nothing else let through."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import chain

import nh3
import regex
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from zibaldone.text.words import STOP_WORDS, term_of, terms, words

_DEEPEST = 60  # levels of quotes and lists; what is below is left out by the parser
_OPTIONS = {"html": False, "breaks": True, "maxNesting": _DEEPEST}
# Tags stay text. Indented lines, and lines above dashes, are people's own more often than they are Markdown.
_MARKDOWN = MarkdownIt("commonmark", _OPTIONS).disable(["code", "lheading", "reference"])
_MARKDOWN.enable(["table", "strikethrough"])
_TAGS = "a blockquote br code em hr li mark ol p pre s strong table tbody td th thead tr ul"
_CLEANER = nh3.Cleaner(
    tags=set(_TAGS.split()),
    attributes={"*": set(), "a": {"href"}, "ol": {"start"}, "table": {"tabindex"}},
    allowed_classes={"p": {"heading"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",  # it would be a path of ours
    link_rel="noopener noreferrer nofollow",
)
_SIGNS, _MOST_SIGNS = "*_[!~`|<&", 1500  # with more of them the parser takes long
_MOST_CELLS = 1500  # of a text's tables, whose lines are all made as wide as the widest
_BETWEEN_BLOCKS = re.compile(r"\n[ \t]*\n")
_WORD = regex.compile(r"([\p{L}\p{M}\p{N}]+)")


def highlighter(question: str) -> Callable[[str], Markup]:
    """Return a function that escapes a text and marks the words of a question, compared by stems."""
    wanted = set(terms(question)) or {term for word in words(question) for _, term in term_of(word)}

    @cache  # texts repeat their words
    def is_wanted(word: str) -> bool:
        known = {term for part in words(word) if part not in STOP_WORDS for _, term in term_of(part)}
        return not known.isdisjoint(wanted)

    def marked(text: str) -> Markup:
        pieces = _WORD.split(text) if wanted else [text]
        return Markup("").join(
            Markup("<mark>{}</mark>").format(piece) if place % 2 and is_wanted(piece) else escape(piece)
            for place, piece in enumerate(pieces)
        )

    return marked


def rendered(text: str, question: str = "") -> Markup:
    """Render the Markdown of a text, with the words of a question in <mark>.

    A heading is a paragraph, as the page has its own; an image is a link, so that nothing is loaded from
    elsewhere. A text full of signs or cells, or nested too deeply, is shown as it is.
    """
    marked = highlighter(question)
    takes_long = sum(map(text.count, _SIGNS)) > _MOST_SIGNS or _cells(text) > _MOST_CELLS
    tokens = [] if takes_long else _MARKDOWN.parse(text)
    if not tokens or any(token.level >= _DEEPEST - 2 for token in tokens):
        return Markup("<p>{}</p>").format(Markup("<br>\n").join(map(marked, text.strip().splitlines())))
    for token in chain(tokens, *(token.children or () for token in tokens)):
        if token.type in ("heading_open", "heading_close"):
            token.tag, token.attrs = "p", {"class": "heading"}
        elif token.type == "table_open":
            token.attrs = {"tabindex": "0"}  # it scrolls sideways, by keys too
        elif token.type == "text":
            token.type, token.content = "html_inline", marked(token.content)
        elif token.type == "code_inline":
            token.type, token.content = "html_inline", f"<code>{marked(token.content)}</code>"
        elif token.type == "fence":
            token.type, token.content = "html_block", f"<pre><code>{marked(token.content)}</code></pre>\n"
        elif token.type == "image":
            caption, address = marked(token.content.strip() or "image"), escape(token.attrs.get("src", ""))
            token.type, token.content = "html_inline", f'<a href="{address}">{caption}</a>'
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    return Markup(_CLEANER.clean(html))  # noqa: S704 - cleaned


def _cells(text: str) -> int:
    """Count the cells that the tables of a text may have, at most: a line of one cell is filled up."""
    blocks = (block.splitlines() for block in _BETWEEN_BLOCKS.split(text) if "|" in block)
    return sum(len(lines) * (1 + max(line.count("|") for line in lines)) for lines in blocks)
