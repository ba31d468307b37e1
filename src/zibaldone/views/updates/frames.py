"""The same words with something else in one place, said with a word of change.

"I'll paint the bookcase green" no longer holds after "actually I'll paint the bookcase yellow instead". What
stands in that place need not be a number, a day or a name.
"""

from __future__ import annotations

from dataclasses import dataclass

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS, term_of, words
from zibaldone.views.updates.clauses import StatedClause, Value, light
from zibaldone.views.updates.cues import FLAGS, MISTAKEN, NEWS

_LONGEST = 25  # words of a sentence; a longer one shares words with many
_MOST_NEW = 4  # words that may stand in the place
_ENOUGH = 2  # words of content around it
_MANY = 3  # the same, where these words stand in many sentences
_CUE = lazy_pattern(
    r"""(?<!\b(?:right|until|by|till)\s)\bnow\b(?!\s+that\b)|\bthese\s+days\b|\bnowadays\b|\binstead\b(?!\s+of)
    |\bfrom\s+(?:now|today|tomorrow|(?:this|next)\s+\w+)(?:\s+on)?\b|\bas\s+of\b
    |\bsince\s+(?:last|this|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b""",
    FLAGS,
)
_OPENING = lazy_pattern(
    r"""\W*(?:(?:ok|okay|oh|so|hm+|well|and|but|no|wait|big|small|quick|good|bad)\W+)*
    (?:(?:actually|correction|on\s+second\s+thoughts?|scratch\s+that|forget\s+that|i\s+changed\s+my\s+mind)\s*[,:]?
    |(?:news|update|heads\s+up|sorry|wait|change\s+of\s+plans?|(?:[\p{L}-]+\s+){0,2}changes?|new\s+[\p{L}-]+)\s*[,:]
    |(?:i\s+)?(?:just\s+)?(?:saw|heard|noticed|found\s+out|learned)(?:\s+that)?)\s+""",
    FLAGS,
)
# What is replaced need not be a value after one of these.
_REPLACES = lazy_pattern(
    r"""\binstead\b(?!\s+of)|\bfrom\s+now\s+on\b|\bthese\s+days\b|\bnowadays\b|^\W*(?:\p{L}+\W+){0,2}(?:actually|correction
    |on\s+second\s+thoughts?|scratch\s+that|forget\s+that|change\s+of\s+plans?)\b|\bchanged\s+(?:my|our)\s+minds?\b""",
    FLAGS,
)
_SINCE = lazy_pattern(
    r"\W*(?:since|because\s+of|due\s+to|thanks\s+to)\s+(?!i\b|we\b)[^,]{2,40}?,?\s+(?=(?:i|we|my|our)\b)",
    FLAGS,
)
_COMMA = lazy_pattern(r",\s")
_MIND = lazy_pattern(r"\bchanged\s+(?:my|our)\s+minds?\b", FLAGS)
_WORD = lazy_pattern(r"[\p{L}\p{M}\p{N}]+(?:[.,:]\d+)*")
_CUE_WORDS = frozenset(
    """now instead actually finally currently days nowadays already just only really today please going
    gonna""".split()
)
# How somebody stands to a thing says nothing of which thing it is.
_ATTITUDES = frozenset(
    term
    for word in "feel feeling ready sure worried trouble confident clear curious hope love hate".split()
    for _, term in term_of(word)
)
_MINE = lazy_pattern(r"\b(?:my|our)\s+$", FLAGS)
_PREPOSITIONS = frozenset(
    "in on at with to from for by of about under over near into as than like until after before since".split()
)


@dataclass(frozen=True, slots=True)
class FrameWord:
    """A word of a clause that is no stop word."""

    term: str
    start: int  # in the clause's text
    preposition: str  # the one before it, "" for none
    is_owned: bool = False  # "my" or "our" stands before it


def has_cue(clause: StatedClause) -> bool:
    """Whether a clause says that something is so from now on."""
    return bool(
        _CUE.search(clause.text)
        or _OPENING.match(clause.text)
        or _SINCE.match(clause.text)
        or (clause.before and (NEWS.search(clause.before) or _MIND.search(clause.before)))
        or (clause.before and MISTAKEN.search(clause.before))
    )


def may_replace(clause: StatedClause) -> bool:
    """Whether a clause may say what stands in another's place now."""
    if len(clause.sentence.split()) > _LONGEST:
        return False
    return bool(clause.values and clause.before) or has_cue(clause)


def frame_words(clause: StatedClause) -> list[FrameWord]:
    """The words of what is stated, without its opening, its words of change and a comment behind a comma."""
    return _frame(*_stated(clause))


def frame_fits(older: StatedClause, newer: StatedClause, *, general: bool) -> float:
    """The number of words of content that both share, where they differ in one place alone; else 0.

    Less has to agree where what stood in the place is named beside what stands there now: "Kaya is ill, so
    Joost waters the plants".
    """
    if newer.denies != older.denies or older.past or len(older.sentence.split()) > _LONGEST:
        return 0
    theirs, ours = _frame(*_stated(older)), _frame(*_stated(newer))
    shared = {word.term for word in theirs} & {word.term for word in ours}
    if not shared:
        return 0
    theirs, ours = _from_owned(older, theirs, shared), _from_owned(newer, ours, shared)
    shared = {word.term for word in theirs} & {word.term for word in ours}
    content = sum(_says_of_what(word.term) or word.is_owned for word in ours if word.term in shared)
    place = _place_of_new(ours, shared)
    if place is None:
        return 0
    first, last = place
    if (old_place := _place_of_old(theirs, ours, place, shared)) is None:
        return 0
    begin, end = old_place
    if any(_says_of_what(word.term) and word.term not in shared for word in theirs[:begin]):
        return 0
    old_values, new_values = _values_in(older, theirs[begin:end]), _values_in(newer, ours[first : last + 1])
    old_kinds = {value.kind for value in old_values}
    if not first and not old_kinds and older.text[theirs[begin].start].isupper():
        old_kinds = {"name"}  # which is not known for one where a sentence begins
    new_kinds = {value.kind for value in new_values}
    if new_kinds != old_kinds or len(new_kinds) < len(new_values):
        return 0  # of two names one says of what the other is
    if new_values:
        inside = [
            any(value.start <= word.start < value.end for value in new_values)
            for word in ours[first : last + 1]
        ]
        if not inside[0] or not (all(inside) or new_values[0].kind == "name"):
            return 0  # something else has this value
    elif not first or not (_REPLACES.search(newer.text) or _REPLACES.search(newer.before)):
        return 0
    if "since" in (theirs[begin].preposition, ours[first].preposition):
        return 0
    if first and theirs[begin].preposition != ours[first].preposition and not new_values:
        return 0
    rest = [word for word in theirs[end:] if word.term not in shared and _says_of_what(word.term)]
    if new_values and _names(newer, old_values):
        return float(content + 1)
    beside = [
        {word.term for word in words[a:b] if not any(v.start <= word.start < v.end for v in values)}
        for words, a, b, values in ((theirs, begin, end, old_values), (ours, first, last + 1, new_values))
    ]
    if new_values and all(beside) and beside[0].isdisjoint(beside[1]):
        return 0  # each says what its value is of: "for my knee", "about my teeth"
    if not content or not has_cue(newer):
        return 0
    exact = bool(new_values) and not rest
    if content < (1 if exact and not general else _MANY if general else _ENOUGH):
        return 0
    return float(content)


def _says_of_what(term: str) -> bool:
    return not light(term) and not term[0].isdigit() and term not in _ATTITUDES


def _from_owned(clause: StatedClause, words: list[FrameWord], shared: set[str]) -> list[FrameWord]:
    """The words from "my blood pressure" on, where both speak of what is owned."""
    for place, word in enumerate(words):
        if word.term in shared and _MINE.search(clause.text, 0, word.start):
            return words[place:]
    return words


def _place_of_new(ours: list[FrameWord], shared: set[str]) -> tuple[int, int] | None:
    """(first, last) of the words that only the newer clause has; None unless they stand together."""
    new = [place for place, word in enumerate(ours) if word.term not in shared]
    if not new or len(new) > _MOST_NEW or new[-1] - new[0] != len(new) - 1 or len(new) == len(ours):
        return None
    return new[0], new[-1]


def _place_of_old(
    theirs: list[FrameWord], ours: list[FrameWord], place: tuple[int, int], shared: set[str]
) -> tuple[int, int] | None:
    """(begin, end) of the words of the older clause that stand where these of the newer one do."""
    first, last = place
    if first:
        begin = max(at for at, word in enumerate(theirs) if word.term == ours[first - 1].term) + 1
        end = begin
        while end < len(theirs) and theirs[end].term not in shared:
            end += 1
    else:
        end = min(at for at, word in enumerate(theirs) if word.term == ours[last + 1].term)
        begin = end
        while begin and theirs[begin - 1].term not in shared:
            begin -= 1
    return (begin, end) if begin < end else None


def _names(newer: StatedClause, old_values: list[Value]) -> bool:
    """Whether the sentence says, beside what holds now, what stood in its place."""
    elsewhere = newer.sentence.replace(newer.text, " ", 1)
    stated, start = _stated(newer)
    beside = set(words(f"{elsewhere} {newer.text[:start]} {newer.text[start + len(stated) :]}"))
    return any(
        beside.intersection(word for word in words(value.norm) if len(word) > 1)
        for value in old_values
        if value.kind in ("name", "day")
    )


def opening_end(text: str) -> int:
    """Where what is stated begins behind "heads up, " or "since the reorg "."""
    start = 0
    for pattern in (_OPENING, _SINCE):
        if match := pattern.match(text, start):
            start = match.end()
    return start


def _stated(clause: StatedClause) -> tuple[str, int]:
    """The text that states something, and where in the clause's it starts."""
    start = opening_end(clause.text)
    text = clause.text[start:]
    for comma in _COMMA.finditer(text):
        if len(_frame(text[: comma.start()], start)) > 1:
            return text[: comma.start()], start
    return text, start


def _frame(text: str, start: int) -> list[FrameWord]:
    without = _CUE.sub(lambda match: " " * len(match[0]), text)
    kept: list[FrameWord] = []
    preposition = ""
    for match in _WORD.finditer(without):
        low = match[0].casefold()
        if low in _PREPOSITIONS:
            preposition = low
        elif low not in STOP_WORDS and low not in _CUE_WORDS:
            stemmed = term_of(low)
            owned = bool(_MINE.search(without, 0, match.start()))
            term = stemmed[0][1] if stemmed else low
            kept.append(FrameWord(term, start + match.start(), preposition, owned))
            preposition = ""
    return kept


def _values_in(clause: StatedClause, words: list[FrameWord]) -> list[Value]:
    places = [word.start for word in words]
    return [value for value in clause.values if any(value.start <= at < value.end for at in places)]
