"""Notes without a model: the few forms in which people state a rule, an allergy or a fact of themselves.

Only a person's own sentences are read: nothing that a machine says, and nothing in code, quotations or pasted
text. English. In doubt it is no note.

This guards what becomes an instruction, and reads what anybody sends: its time grows with the text's length
alone. No pattern looks from many places for what is far away; quotations are found by their marks.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from zibaldone.core import EDITOR, MACHINES, OWNERS_WORDS, PROFILE, Message
from zibaldone.text.patterns import late
from zibaldone.text.sentences import Span, sentences
from zibaldone.text.spellings import base_form
from zibaldone.text.statements import statements
from zibaldone.text.words import words
from zibaldone.views.notes import hand
from zibaldone.views.notes.note import Kind, kind_of

_FOREIGN = late(  # searched from many places: no lazy one, which looks at the whole text each time
    r"```.*?(?:```|\Z)"  # code
    r"|~~~.*?(?:~~~|\Z)"
    r"|`[^`\n]+`"
    r"|^[ \t]*>[^\n]*$"  # a quotation of a mail
    r"|<(?P<tag>\w+)>"  # to where it is closed
    r'|(?<![\p{L}\p{N}])"[^"\n]{1,2000}"(?![\p{L}\p{N}])'
    r"|^[ \t]*(?:Dear|To whom it may concern)\b[^\n]{0,60},[ \t]*$.*\Z",  # a letter, to its end
    regex.DOTALL | regex.MULTILINE,
)
_CLOSED = late(r"</(\w+)>")
# "Here is my draft:", "translate the following:", and what follows is pasted
_ANNOUNCES = late(
    r"(?:\bhere(?:['’]s|\s+is|\s+are)\b|\bfollowing\b|\bbelow\b|\bthis\b[^\n:.]{0,40}|"
    r"\b(?:proofread|translate|rewrite|summari[sz]e|edit|review|correct|paraphrase|critique)\b[^\n.]{0,80})"
    r"[^\n.:?!]{0,80}:[ \t]*\n",
    regex.IGNORECASE,
)
# What follows is told to another program, or in a part that its author plays.
_PLAYS = late(
    r"(?:\b(?:writ\w+|draft|create|make|design|generate|improve|need|want|build)\b[^.!?\n]{0,60}\bprompts?\s+(?:for|to|that)\b"
    r"|\b(?:system|custom)\s+(?:prompts?|instructions)\s+for\s+(?:an?|my|our|the)\b"
    r"|\briddles?\b|\blet['’]?s\s+(?:role-?\s?play|pretend|play\s+(?:a\s+)?(?:scene|game))\b|\bpretend\s+(?:that\s+)?i['’]?\s?(?:a?m)\b"
    r"|(?:^|[.!?]\s+|\n)you(?:['’]re|\s+are|\s+play)\s[^.!?\n]{1,80}?\bi(?:['’]m|\s+am|['’]ll\s+be|\s+will\s+be|\s+play)\s+(?:your|the|an?|(?-i:\p{Lu}))"
    r"|\bi(?:['’]ll|\s+will)\s+(?:be|play)\s[^.!?\n]{1,60}\band\s+you(?:['’]re|\s+are|['’]ll\s+be|\s+play)\b)",
    regex.IGNORECASE,
)
_STOP = late(r"[.!?\n]")
_COLON = late(r"(?r):\s+")
_SPACES = late(r"\s++")
_OPENS, _CLOSES = late("[“«„]"), late("[”»“]")
_LONGEST_QUOTATION = 4000
_CODE_LINE = late(r"[{};]\s*$|^\s*(?:def|class|import|return|function|var|let|const|#include)\b.*[({;:]")
_LEFT_OUT = " … "
_ENDS_ASKING = ("?", "？", "؟")
_ASKING_WORDS = (
    r"can|could|would|will|do|does|did|is|are|was|were|should|shall|may|might|have|has|how|what|which|where|when|"
    r"who|whom|whose|why|any|am|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|won['’]t|couldn['’]t|wouldn['’]t"
)
_LINK = r"(?:(?:so|and|but|or|also|then|now|please|like|plus|because)\s+){0,3}"
_TAIL = late(  # where a question begins behind a statement: ", can you help me?"
    rf"(?<!\s)\s*+(?:[,;:–—]|(?<=\s)-+\s)\s*{_LINK}(?:(?:you\s+know|i\s+mean)\s*,\s*)?"
    rf"(?:(?:{_ASKING_WORDS})\b|i(?:['’]m|\s+am)\s+(?:wondering|curious|not\s+sure)|(?:right|ok|okay|yeah|you\s+know|huh|"
    r"correct)\s*[?？؟])"
    rf"|(?<!\s)\s++(?:(?:so|and|but)\s+)?(?:(?:can|could|would|will)\s+you|what\s+do\s+you|what\s+would\s+you|do\s+you)\b",
    regex.IGNORECASE,
)
_OPENS_ASKING = late(rf"\W*{_LINK}(?:(?:{_ASKING_WORDS})\b)", regex.IGNORECASE)
# Where nobody wrote the mark, only what can be nothing else is a question.
_SURELY = (
    r"(?:(?:can|could|would|will|do|does|did|is|are|should)\s+(?:you|i|we|it|there|this|that)\b"
    r"|(?:how|what|which|where|when|why)\s+(?:can|could|would|do|does|did|is|are|should|about|else)\b)"
)
_SURELY_OPENS = late(rf"\W*{_LINK}{_SURELY}", regex.IGNORECASE)
_SURE_TAIL = late(rf"(?<!\s)\s*+(?:[,;:–—]|(?<=\s)-+\s)\s*{_LINK}{_SURELY}", regex.IGNORECASE)
_CONDITION = late(r"\W*(?:when|if|whenever|do\s*n['’]t|do\s+not)\b", regex.IGNORECASE)


def own_statements(content: str, may_be: regex.Pattern[str] | None = None) -> Iterator[Span]:
    """Spans of the author's statements: sentences, and statements in front of questions.

    With `may_be`, of sentences in which it is found.
    """
    foreign = _foreign(content)
    begins = [start for start, _ in foreign]
    for start, end in sentences(content):
        if may_be is not None and may_be.search(content, start, end) is None:
            continue
        place = bisect_right(begins, start) - 1
        if (place < 0 or start >= foreign[place][1]) and not _CODE_LINE.search(content[start:end]):
            asking = _without_question(content, start, end)
            if start < asking:
                yield start, asking


def own_text(content: str) -> str:
    """The content with code, quotations and pasted text replaced by a mark; questions stay."""
    kept, at = [], 0
    for start, end in _foreign(content):
        kept += [content[at:start], _LEFT_OUT]
        at = end
    own = "".join([*kept, content[at:]])
    return "\n".join(line for line in own.split("\n") if not _CODE_LINE.search(line))


class _Finder:
    """Finds quotation marks and matches of a pattern, from rising positions on."""

    def __init__(self, text: str, pattern: regex.Pattern[str], *, least: int, most: int) -> None:
        """A quotation has at least `least` and at most `most` characters between its marks."""
        self._text, self._pattern, self._least, self._most = text, pattern, least, most
        self._match = pattern.search(text)
        self._closing = -1
        self._quotation = self._quoted(0)

    def first(self, at: int) -> tuple[int, int, regex.Match[str] | None] | None:
        """(start, end, match) of the next one; the match is None for a quotation."""
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
    """End of the sentence by which the author begins to play a part, or to write for another program."""
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
    """Start of the text behind a stop; None for a stop inside of a word."""
    if content[stop] == "\n":
        return stop + 1
    spaces = _SPACES.match(content, stop + 1)
    return spaces.end() if spaces is not None else None


def _foreign(content: str) -> list[Span]:
    """Spans that are not the author's own words, in order and disjoint."""
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
    """End of the statement in front of a question; `start` if all of it asks."""
    sentence = content[start:end]
    marked = sentence.rstrip("\"'”’) ").endswith(_ENDS_ASKING)
    opens, tail = (_OPENS_ASKING, _TAIL) if marked else (_SURELY_OPENS, _SURE_TAIL)
    if opens.match(sentence) and not _CONDITION.match(sentence):
        return start
    if asking := tail.search(sentence):
        return start + asking.start()
    return start if marked else end


_LONGEST = 300  # characters of a sentence that is read
_LEAST_WORDS = 3  # "Never again." is no rule
_POLITE = r"(?:(?:please|and|also|ok|okay|so|hey|oh)\b[,\s]*)*"
_RULE = late(
    rf"\W*{_POLITE}(?:you\s+(?:should|must|need\s+to|have\s+to)\s+)?(?:always|never)\s+(?P<verb>\p{{L}}+)\b",
    regex.IGNORECASE,
)
_FROM_NOW_ON = late(
    rf"\W*{_POLITE}from\s+now\s+on\b[,:]?\s*(?P<rest>.+)|(?P<rest>.+?),?\s+from\s+now\s+on\W*",
    regex.IGNORECASE,
)
# "Remember that night when ..." asks for nothing to be kept.
_REMEMBER = late(
    rf"\W*{_POLITE}remember\s+that\s+(?!\p{{L}}+\s+(?:i|we|you|when|where)\b)(?P<rest>.+)", regex.IGNORECASE
)
_ALLERGY = late(
    r"\b(?:(?:I|we)\b|(?:my|our)\s+\p{L}+).*\b(?:allergic\s+to\s+\p{L}|\p{L}+\s+allergy\b|allergy\s+to\s+\p{L})",
    regex.IGNORECASE,
)
_PREFERS = late(r"\bI\s+(?:\p{L}+ly\s+)?prefer\s+\p{L}", regex.IGNORECASE)
# A word of each of these patterns and of those of `statements`: most text has none, and is soon read.
_MAY_STATE = late(r"\b(?:I|we|my|our|always|never|remember|from)\b", regex.IGNORECASE)
_HEDGES = frozenset("not no never if maybe might would could used was were isn aren don doesn didn".split())
_NO_ORDERS = frozenset("been seen done had said told mind fear happy nice good again".split())
_MYSELF = frozenset("i we my our".split())


@dataclass(frozen=True, slots=True)
class StatedNote:
    """A note that a message states word for word: content[start:end]."""

    kind: Kind
    start: int
    end: int
    by_hand: bool = False


def stated(message: Message) -> list[StatedNote]:
    """Notes that a message states, in order; a person's edit is one as a whole."""
    if message.role == EDITOR and (edit := hand.read(message)) is not None:
        return [StatedNote(edit.kind, 0, len(message.content), by_hand=True)] if edit.text else []
    if message.is_noise:
        return []
    if (kind := kind_of(message.metadata.get(PROFILE))) is not None:  # of a program that keeps notes, too
        return [StatedNote(kind, start, end) for start, end in sentences(message.content)]
    return list(_own(message)) if is_owners(message) else []


def is_persons(message: Message) -> bool:
    """True if a person says it: no machine, no tool traffic, no edit of notes or documents."""
    return message.voice not in MACHINES and message.voice != EDITOR and not message.is_noise


def is_owners(message: Message) -> bool:
    """True if a person says it who may be the owner of the memory: nobody has marked it as another's."""
    return is_persons(message) and message.metadata.get(OWNERS_WORDS) is not False


def _own(message: Message) -> Iterator[StatedNote]:
    if _MAY_STATE.search(message.content) is None:
        return
    for start, end in own_statements(message.content, _MAY_STATE):
        if end - start <= _LONGEST:
            kind = kind_stated(message.content[start:end], message.speaker, among_people=bool(message.name))
            if kind is not None:
                yield StatedNote(kind, start, end)


def kind_stated(sentence: str, speaker: str = "user", *, among_people: bool = False) -> Kind | None:
    """Kind of note that a sentence states; None for most. Between people nothing is an instruction."""
    spoken = words(sentence)
    if len(spoken) < _LEAST_WORDS:
        return None
    if match := _REMEMBER.fullmatch(sentence):
        return kind_stated(match["rest"], speaker, among_people=among_people) or "fact"
    if match := _FROM_NOW_ON.fullmatch(sentence):
        if _MYSELF.isdisjoint(words(match["rest"])[:1]):
            return None if among_people else "instruction"
    elif (match := _RULE.match(sentence)) and _is_told(match["verb"]):
        return None if among_people else "instruction"
    if _HEDGES.isdisjoint(spoken):
        if _ALLERGY.search(sentence):
            return "constraint"
        if _PREFERS.search(sentence):
            return "preference"
    return "fact" if statements(sentence, speaker) else None


def _is_told(verb: str) -> bool:
    """True for a verb as in "always answer": not "never seen", "always wanted", "always happening"."""
    lower = verb.lower()
    return lower not in _NO_ORDERS and base_form(lower) == lower and not lower.endswith(("ed", "ing"))
