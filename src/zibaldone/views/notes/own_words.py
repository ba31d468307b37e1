"""What of a message is its own author's: no code, quotation, pasted text; statements and questions apart.

It reads what anybody sends, and guards what becomes an instruction: its time rises with the text's length
alone. No pattern looks from many places for what is far away; quotations are found by their marks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

import regex

from zibaldone.text.sentences import Span, sentences

_FOREIGN = regex.compile(  # searched from many places: no lazy one, which looks at the whole text each time
    r"```.*?(?:```|\Z)"  # code
    r"|~~~.*?(?:~~~|\Z)"
    r"|`[^`\n]+`"
    r"|^[ \t]*>[^\n]*$"  # a quotation of a mail
    r"|<(?P<tag>\w+)>"  # to where it is closed
    r'|(?<![\p{L}\p{N}])"[^"\n]{1,2000}"(?![\p{L}\p{N}])'
    r"|^[ \t]*(?:Dear|To whom it may concern)\b[^\n]{0,60},[ \t]*$.*\Z",  # a letter, to its end
    regex.DOTALL | regex.MULTILINE,
)
_CLOSED = regex.compile(r"</(\w+)>")
# "Here is my draft:", "translate the following:", and what follows is pasted
_ANNOUNCES = regex.compile(
    r"(?:\bhere(?:['’]s|\s+is|\s+are)\b|\bfollowing\b|\bbelow\b|\bthis\b[^\n:.]{0,40}|"
    r"\b(?:proofread|translate|rewrite|summari[sz]e|edit|review|correct|paraphrase|critique)\b[^\n.]{0,80})"
    r"[^\n.:?!]{0,80}:[ \t]*\n",
    regex.IGNORECASE,
)
# What follows is told to another program, or in a part that its author plays.
_PLAYS = regex.compile(
    r"(?:\b(?:writ\w+|draft|create|make|design|generate|improve|need|want|build)\b[^.!?\n]{0,60}\bprompts?\s+(?:for|to|that)\b"
    r"|\b(?:system|custom)\s+(?:prompts?|instructions)\s+for\s+(?:an?|my|our|the)\b"
    r"|\briddles?\b|\blet['’]?s\s+(?:role-?\s?play|pretend|play\s+(?:a\s+)?(?:scene|game))\b|\bpretend\s+(?:that\s+)?i['’]?\s?(?:a?m)\b"
    r"|(?:^|[.!?]\s+|\n)you(?:['’]re|\s+are|\s+play)\s[^.!?\n]{1,80}?\bi(?:['’]m|\s+am|['’]ll\s+be|\s+will\s+be|\s+play)\s+(?:your|the|an?|(?-i:\p{Lu}))"
    r"|\bi(?:['’]ll|\s+will)\s+(?:be|play)\s[^.!?\n]{1,60}\band\s+you(?:['’]re|\s+are|['’]ll\s+be|\s+play)\b)",
    regex.IGNORECASE,
)
_STOP = regex.compile(r"[.!?\n]")
_COLON = regex.compile(r"(?r):\s+")
_SPACES = regex.compile(r"\s++")
_OPENS, _CLOSES = regex.compile("[“«„]"), regex.compile("[”»“]")
_LONGEST_QUOTATION = 4000
_CODE_LINE = regex.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|return|function|var|let|const|#include)\b.*[({;:]"
)
_LEFT_OUT = " … "
_ENDS_ASKING = ("?", "？", "؟")
_ASKING_WORDS = (
    r"can|could|would|will|do|does|did|is|are|was|were|should|shall|may|might|have|has|how|what|which|where|when|"
    r"who|whom|whose|why|any|am|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|won['’]t|couldn['’]t|wouldn['’]t"
)
_LINK = r"(?:(?:so|and|but|or|also|then|now|please|like|plus|because)\s+){0,3}"
_TAIL = regex.compile(  # where a question begins behind a statement: ", can you help me?"
    rf"(?<!\s)\s*+(?:[,;:–—]|(?<=\s)-+\s)\s*{_LINK}(?:(?:you\s+know|i\s+mean)\s*,\s*)?"
    rf"(?:(?:{_ASKING_WORDS})\b|i(?:['’]m|\s+am)\s+(?:wondering|curious|not\s+sure)|(?:right|ok|okay|yeah|you\s+know|huh|"
    r"correct)\s*[?？؟])"
    rf"|(?<!\s)\s++(?:(?:so|and|but)\s+)?(?:(?:can|could|would|will)\s+you|what\s+do\s+you|what\s+would\s+you|do\s+you)\b",
    regex.IGNORECASE,
)
_OPENS_ASKING = regex.compile(rf"\W*{_LINK}(?:(?:{_ASKING_WORDS})\b)", regex.IGNORECASE)
# Where nobody wrote the mark, only what can be nothing else is a question.
_SURELY = (
    r"(?:(?:can|could|would|will|do|does|did|is|are|should)\s+(?:you|i|we|it|there|this|that)\b"
    r"|(?:how|what|which|where|when|why)\s+(?:can|could|would|do|does|did|is|are|should|about|else)\b)"
)
_SURELY_OPENS = regex.compile(rf"\W*{_LINK}{_SURELY}", regex.IGNORECASE)
_SURE_TAIL = regex.compile(rf"(?<!\s)\s*+(?:[,;:–—]|(?<=\s)-+\s)\s*{_LINK}{_SURELY}", regex.IGNORECASE)
_CONDITION = regex.compile(r"\W*(?:when|if|whenever|do\s*n['’]t|do\s+not)\b", regex.IGNORECASE)


def own_statements(content: str) -> Iterator[Span]:
    """Spans of what the author states: sentences, and the statements in front of questions, without these."""
    for start, asking, _ in _own_sentences(content):
        if start < asking:
            yield start, asking


def _own_sentences(content: str) -> Iterator[tuple[int, int, int]]:
    """Where each begins, where a question begins in it, and where it ends."""
    foreign = _foreign(content)
    begins = [start for start, _ in foreign]
    for start, end in sentences(content):
        place = bisect_right(begins, start) - 1
        if (place < 0 or start >= foreign[place][1]) and not _CODE_LINE.search(content[start:end]):
            yield start, _without_question(content, start, end), end


def own_text(content: str) -> str:
    """The content with a mark in the place of code, quotations and pasted text; questions stay."""
    kept, at = [], 0
    for start, end in _foreign(content):
        kept += [content[at:start], _LEFT_OUT]
        at = end
    own = "".join([*kept, content[at:]])
    return "\n".join(line for line in own.split("\n") if not _CODE_LINE.search(line))


class _Finder:
    """Finds quotations in marks, and what a pattern finds, from places on that rise."""

    def __init__(self, text: str, pattern: regex.Pattern[str], *, least: int, most: int) -> None:
        """Between its marks a quotation has so many characters at `least`, and at `most`."""
        self._text, self._pattern, self._least, self._most = text, pattern, least, most
        self._match = pattern.search(text)
        self._closing = -1
        self._quotation = self._quoted(0)

    def first(self, at: int) -> tuple[int, int, regex.Match[str] | None] | None:
        """Where the next one begins and ends, and the match, if it is the pattern's."""
        if self._match is not None and self._match.start() < at:
            self._match = self._pattern.search(self._text, at)
        if self._quotation is not None and self._quotation[0] < at:
            self._quotation = self._quoted(at)
        match, quotation = self._match, self._quotation
        if match is not None and (quotation is None or match.start() < quotation[0]):
            return *match.span(), match
        return None if quotation is None else (*quotation, None)

    def _quoted(self, at: int) -> Span | None:
        for opening in _OPENS.finditer(self._text, at):
            begins = opening.end()
            if self._closing < begins:
                closing = _CLOSES.search(self._text, begins)
                if closing is None:
                    return None
                self._closing = closing.start()
            if self._least <= self._closing - begins <= self._most:
                return opening.start(), self._closing + 1
        return None


def _plays_from(content: str) -> int | None:
    """Where the sentence ends by which its author begins to play a part, or to write for another program."""
    read_from, stop, colon = 0, -1, -1  # what was looked for last: its sentence's end, and its last colon
    for play in _PLAYS.finditer(content, overlapped=True):
        end = play.end()
        if end < read_from and (nearer := _STOP.search(content, end, read_from)) is not None:
            after = _after_stop(content, nearer.start())
        elif end <= stop:
            after = None
        else:
            if (next_stop := _STOP.search(content, end)) is None:
                return len(content)
            read_from, stop = end, next_stop.start()
            after = _after_stop(content, stop)
            colon = -1 if (last := _COLON.search(content, end, stop)) is None else last.end()
        if after is None and colon > end:
            after = colon
        if after is not None:
            return after
    return None


def _after_stop(content: str, stop: int) -> int | None:
    """Where what follows begins; None for a mark inside of a word."""
    if content[stop] == "\n":
        return stop + 1
    spaces = _SPACES.match(content, stop + 1)
    return spaces.end() if spaces is not None else None


def _foreign(content: str) -> list[Span]:
    """In order, and apart from each other."""
    closed: defaultdict[str, list[int]] = defaultdict(list)  # where, by tag
    for closing in _CLOSED.finditer(content):
        closed[closing[1]].append(closing.start())
    pasted = _ANNOUNCES.search(content)
    ends = [end for end in (pasted and pasted.end(), _plays_from(content)) if end is not None]
    announced = min(ends, default=None)
    last = len(content) if announced is None else announced
    spans: list[Span] = []
    at = 0
    finder = _Finder(content, _FOREIGN, least=1, most=_LONGEST_QUOTATION)
    while at < last and (span := finder.first(at)) is not None and span[0] < last:
        start, at, match = span
        if match is not None and (tag := match["tag"]) is not None:
            closings = closed.get(tag, [])
            place = bisect_left(closings, at)
            if place == len(closings):
                continue
            at = closings[place] + len(f"</{tag}>")
        spans.append((start, at))
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
