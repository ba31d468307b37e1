"""What of a message is its own author's: no code, quotation, pasted text; statements and questions apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.sentences import Span, sentences

_FOREIGN = lazy_pattern(
    r"```.*?(?:```|\Z)"  # code
    r"|~~~.*?(?:~~~|\Z)"
    r"|`[^`\n]+`"
    r"|^[ \t]*>[^\n]*$"  # a quotation of a mail
    r"|<(?P<tag>\w+)>"  # to where it is closed
    r"|[“«„][^”»“]{1,4000}[”»“]"
    r'|(?<![\p{L}\p{N}])"[^"\n]{1,2000}"(?![\p{L}\p{N}])'
    r"|^[ \t]*(?:Dear|To whom it may concern)\b[^\n]{0,60},[ \t]*$.*\Z",  # a letter, to its end
    regex.DOTALL | regex.MULTILINE,
)
_CLOSED = lazy_pattern(r"</(\w+)>")
# "Here is my draft:", "translate the following:", and what follows is pasted
_ANNOUNCES = lazy_pattern(
    r"(?:\bhere(?:['’]s|\s+is|\s+are)\b|\bfollowing\b|\bbelow\b|\bthis\b[^\n:.]{0,40}|"
    r"\b(?:proofread|translate|rewrite|summari[sz]e|edit|review|correct|paraphrase|critique)\b[^\n.]{0,80})"
    r"[^\n.:?!]{0,80}:[ \t]*\n",
    regex.IGNORECASE,
)
# What follows is told to another program, or in a part that its author plays.
_PLAYS = lazy_pattern(
    r"(?:\b(?:writ\w+|draft|create|make|design|generate|improve|need|want|build)\b[^.!?\n]{0,60}\bprompts?\s+(?:for|to|that)\b"
    r"|\b(?:system|custom)\s+(?:prompts?|instructions)\s+for\s+(?:an?|my|our|the)\b"
    r"|\briddles?\b|\blet['’]?s\s+(?:role-?\s?play|pretend|play\s+(?:a\s+)?(?:scene|game))\b|\bpretend\s+(?:that\s+)?i['’]?\s?(?:a?m)\b"
    r"|(?:^|[.!?]\s+|\n)you(?:['’]re|\s+are|\s+play)\s[^.!?\n]{1,80}?\bi(?:['’]m|\s+am|['’]ll\s+be|\s+will\s+be|\s+play)\s+(?:your|the|an?|(?-i:\p{Lu}))"
    r"|\bi(?:['’]ll|\s+will)\s+(?:be|play)\s[^.!?\n]{1,60}\band\s+you(?:['’]re|\s+are|['’]ll\s+be|\s+play)\b)"
    r"[^.!?\n]*(?:[.!?:]\s+|\n|$)",
    regex.IGNORECASE,
)
_CODE_LINE = lazy_pattern(
    r"[{};]\s*$|^\s*(?:def|class|import|return|function|var|let|const|#include)\b.*[({;:]"
)
_QUOTED = lazy_pattern(r"[“«„][^”»“]*[”»“]|(?<![\p{L}\p{N}])\"[^\"]*\"(?![\p{L}\p{N}])")
_LEFT_OUT = " … "
_ENDS_ASKING = ("?", "？", "؟")
_ASKING_WORDS = (
    r"can|could|would|will|do|does|did|is|are|was|were|should|shall|may|might|have|has|how|what|which|where|when|"
    r"who|whom|whose|why|any|am|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|won['’]t|couldn['’]t|wouldn['’]t"
)
_LINK = r"(?:(?:so|and|but|or|also|then|now|please|like|plus|because)\s+){0,3}"
_TAIL = lazy_pattern(  # where a question begins behind a statement: ", can you help me?"
    rf"\s*(?:[,;:–—]|\s-+\s)\s*{_LINK}(?:(?:you\s+know|i\s+mean)\s*,\s*)?"
    rf"(?:(?:{_ASKING_WORDS})\b|i(?:['’]m|\s+am)\s+(?:wondering|curious|not\s+sure)|(?:right|ok|okay|yeah|you\s+know|huh|"
    r"correct)\s*[?？؟])"
    rf"|\s+(?:(?:so|and|but)\s+)?(?:(?:can|could|would|will)\s+you|what\s+do\s+you|what\s+would\s+you|do\s+you)\b",
    regex.IGNORECASE,
)
_OPENS_ASKING = lazy_pattern(rf"\W*{_LINK}(?:(?:{_ASKING_WORDS})\b)", regex.IGNORECASE)
# Where nobody wrote the mark, only what can be nothing else is a question.
_SURELY = (
    r"(?:(?:can|could|would|will|do|does|did|is|are|should)\s+(?:you|i|we|it|there|this|that)\b"
    r"|(?:how|what|which|where|when|why)\s+(?:can|could|would|do|does|did|is|are|should|about|else)\b)"
)
_SURELY_OPENS = lazy_pattern(rf"\W*{_LINK}{_SURELY}", regex.IGNORECASE)
_SURE_TAIL = lazy_pattern(rf"\s*(?:[,;:–—]|\s-+\s)\s*{_LINK}{_SURELY}", regex.IGNORECASE)
_CONDITION = lazy_pattern(r"\W*(?:when|if|whenever|do\s*n['’]t|do\s+not)\b", regex.IGNORECASE)


def own_statements(content: str) -> Iterator[Span]:
    """Spans of what the author states: sentences, and the statements in front of questions, without these."""
    for start, asking, _ in _own_sentences(content):
        if start < asking:
            yield start, asking


def own_questions(content: str) -> Iterator[Span]:
    """Spans of what the author asks: the rest of the sentences."""
    for _, asking, end in _own_sentences(content):
        if asking < end:
            yield asking, end


def _own_sentences(content: str) -> Iterator[tuple[int, int, int]]:
    """Where each begins, where a question begins in it, and where it ends."""
    foreign = _foreign(content)
    begins = [start for start, _ in foreign]
    for start, end in sentences(content):
        place = bisect_right(begins, start) - 1
        if (place < 0 or start >= foreign[place][1]) and not _CODE_LINE.search(content[start:end]):
            yield start, _without_question(content, start, end), end


def unquoted(sentence: str) -> str:
    """As long as it was, with nothing of what stands in quotation marks."""
    return _QUOTED.sub(lambda match: "_" * len(match.group()), sentence)


def own_text(content: str) -> str:
    """The content with a mark in the place of code, quotations and pasted text; questions stay."""
    kept, at = [], 0
    for start, end in _foreign(content):
        kept += [content[at:start], _LEFT_OUT]
        at = end
    own = "".join([*kept, content[at:]])
    return "\n".join(line for line in own.split("\n") if not _CODE_LINE.search(line))


def _foreign(content: str) -> list[Span]:
    """In order, and apart from each other."""
    closed: defaultdict[str, list[int]] = defaultdict(list)  # where, by tag
    for closing in _CLOSED.finditer(content):
        closed[closing[1]].append(closing.start())
    announced = min(
        (found for pattern in (_ANNOUNCES, _PLAYS) if (found := pattern.search(content))),
        key=lambda found: found.end(),
        default=None,
    )
    last = len(content) if announced is None else announced.end()
    spans: list[Span] = []
    at = 0
    while at < last and (match := _FOREIGN.search(content, at)) is not None and match.start() < last:
        at = match.end()
        if (tag := match["tag"]) is not None:
            ends = closed.get(tag, [])
            place = bisect_left(ends, at)
            if place == len(ends):
                continue
            at = ends[place] + len(f"</{tag}>")
        spans.append((match.start(), at))
    if announced is None:
        return spans
    if spans and spans[-1][1] >= last:
        return [*spans[:-1], (spans[-1][0], len(content))]
    return [*spans, (last, len(content))]


def _without_question(content: str, start: int, end: int) -> int:
    """Where the statement ends in front of a question; `start` where all of it asks."""
    sentence = content[start:end]
    marked = sentence.rstrip("\"'”’) ").endswith(_ENDS_ASKING)
    opens, tail = (_OPENS_ASKING, _TAIL) if marked else (_SURELY_OPENS, _SURE_TAIL)
    if opens.match(sentence) and not _CONDITION.match(sentence):
        return start
    if asking := tail.search(sentence):
        return start + asking.start()
    return start if marked else end
