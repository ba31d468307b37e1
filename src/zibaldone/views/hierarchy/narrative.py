"""How an episode is told without a model (appendix C.1): its title, and its messages with dates resolved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from types import MappingProxyType

import regex

from zibaldone.core import Message
from zibaldone.text.dates import Days, find_days
from zibaldone.text.keywords import idf, term_forms
from zibaldone.text.periods import month_of, period
from zibaldone.text.salience import PHATIC, names
from zibaldone.text.sentences import sentences
from zibaldone.text.words import STOP_WORDS, as_written, term_of, words

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TITLE_WORDS = 12
_SPEAKERS = 3  # named in a title
_NOTHING: Mapping[str, int] = MappingProxyType({})
CAPTION = regex.compile(r"\[[^\[\]]*\]")  # such as of an image: not what was spoken of
_YEAR = regex.compile(r"(?<!\d)\d{4}(?!\d)")


def speaker_of(message: Message) -> str:
    """How the narrative calls who speaks: by name, or "the user", "the assistant"."""
    return message.name or f"the {message.role}"


def resolved(text: str, said: date) -> str:
    """The text, with the days that its relative dates mean in parentheses after each."""
    pieces, at = [], 0
    for days in find_days(text, said):
        phrase = text[days.start : days.end].rstrip(" .,")
        end = days.start + len(phrase)
        explained = text[end:].lstrip(" .,").startswith("(")
        if not explained and not _YEAR.search(phrase):
            pieces += [text[at:end], f" ({told(days)})"]
            at = end
    return "".join([*pieces, text[at:]])


def told(days: Days | tuple[date, date]) -> str:
    """A range of days in words, no more precise than it is: "7 May 2023", "June 2023", "2022"."""
    first, last = (days.first, days.last) if isinstance(days, Days) else days
    if first == last:
        return _day(first)
    if (first, last) == period("year", first):
        return str(first.year)
    if (first, last) == month_of(first.year, first.month):
        return f"{_MONTHS[first.month - 1]} {first.year}"
    if first.day == 1 and last == month_of(last.year, last.month)[1]:
        return _months(first, last)
    if first.year != last.year:
        return f"{_day(first)} to {_day(last)}"
    opening = f"{first.day}" if first.month == last.month else f"{first.day} {_MONTHS[first.month - 1]}"
    return f"{opening} to {_day(last)}"


def dated(day: date) -> str:
    """With its weekday."""
    return f"{_WEEKDAYS[day.weekday()]}, {_day(day)}"


def _months(first: date, last: date) -> str:
    """Whole months or years, from the first day to the last."""
    if first.month == 1 and last.month == 12:
        return f"{first.year} to {last.year}"
    opening = _MONTHS[first.month - 1] + (f" {first.year}" if first.year != last.year else "")
    return f"{opening} to {_MONTHS[last.month - 1]} {last.year}"


def title(messages: Sequence[Message], df: Mapping[str, int] = _NOTHING, n: int = 0) -> str:
    """At most twelve words: the day, who speaks, and what the episode speaks of most.

    `df` says in how many of the user's `n` earlier messages each term occurs: what is said in all of them
    tells little of this one. Without it every word weighs the same.
    """
    opening = f"{_day(_said(messages[0]))}, {_speakers(messages)}"
    texts = [CAPTION.sub(" ", message.content) for message in messages]
    subjects = telling(texts, parties_of(messages), _TITLE_WORDS - len(opening.split()), df, n)
    return f"{opening}: {', '.join(subjects)}" if subjects else opening


def narrative(messages: Sequence[Message]) -> str:
    """Who talked when, and then what each said, a line per message, with relative dates resolved.

    Nothing is left out but messages of white space. The time is given to the minute and in the zone in
    which it was stored.
    """
    lines = [f"On {_clock(messages[0])}, {_speakers(messages, most=len(messages))} talked."]
    before = _said(messages[0])
    for message in messages:
        content = " ".join(message.content.split())
        if not content:
            continue
        if (day := _said(message)) != before:
            lines.append(f"On {_clock(message)}:")
            before = day
        lines.append(f"{message.name or message.role.capitalize()}: {resolved(content, day)}")
    return "\n".join(lines)


def is_party(word: str, parties: frozenset[str]) -> bool:
    """Whether the word names one of those who talk, or is short for it, as "Mel" is for Melanie.

    `parties`: the words of their names, in lower case.
    """
    least = 2 if word[:1].isupper() else 3  # "Jo" may be Joanna, "jo" is somebody's word
    word = word.lower()
    return word in parties or (len(word) >= least and any(one.startswith(word) for one in parties))


def parties_of(messages: Sequence[Message]) -> frozenset[str]:
    """The words of the names of those who talk, in lower case."""
    return frozenset(word for message in messages for word in words(message.speaker))


def telling(
    texts: Sequence[str], parties: frozenset[str], room: int, df: Mapping[str, int] = _NOTHING, n: int = 0
) -> list[str]:
    """The words that most texts speak of, the commonest first; of such as are as common, names first.

    At most `room` words, without the names of `parties`. A word is shown with its neighbour where most
    texts that have the one have the other beside it. `df` and `n` as for `title`.
    """
    written = [[word for word in as_written(text) if not is_party(word, parties)] for text in texts]
    said_in = [[word.lower() for word in some] for some in written]
    spoken: Counter[str] = Counter()
    beside: Counter[tuple[str, str]] = Counter()
    for said in said_in:
        spoken.update({term for word in said for term in _weighty(word)})
        pairs = {(a, b) for left, right in pairwise(said) for a in _weighty(left) for b in _weighty(right)}
        beside.update(pairs)
    _, forms = term_forms(" ".join(said) for said in said_in)
    lower = {term for some in written for word in some if word.islower() for term in _weighty(word)}
    # Often said and never in lower case: a name, also where it only opens sentences.
    capital = {
        term: word
        for some in written
        for word in some
        for term in _weighty(word.lower())
        if term not in lower and spoken[term] > 1
    }
    capital |= {term: name for text in texts for name in _names(text) for term in _terms_of(name)}
    # A word read again as a text may come out as other terms ("yd²" as "yd", "2"): those cannot be shown.
    spoken = Counter({term: count for term, count in spoken.items() if term in forms})
    beside = Counter({pair: count for pair, count in beside.items() if forms.keys() >= set(pair)})
    order = {term: place for place, term in enumerate(forms)}
    weight = {
        term: round(count * (idf(df.get(term, 0), n) if n else 1.0), 6) for term, count in spoken.items()
    }
    best = sorted(spoken, key=lambda term: (-weight[term], term not in capital, order[term]))
    chosen: list[str] = []
    used: set[str] = set()
    for term in best:
        pair = max((pair for pair in beside if term in pair), key=lambda pair: beside[pair], default=None)
        together = (
            pair is not None and beside[pair] > 1 and 2 * beside[pair] > max(spoken[one] for one in pair)
        )
        phrase = pair if pair and together else (term,)
        if used.isdisjoint(phrase) and len(phrase) <= room:
            chosen.append(" ".join(capital.get(one, forms[one]) for one in phrase))
            used.update(phrase)
            room -= len(phrase)
    return chosen


def _weighty(word: str) -> list[str]:
    if word in STOP_WORDS or word.isdecimal():
        return []
    return [term for _, term in term_of(word) if term not in PHATIC and len(term) > 1]


def _names(text: str) -> list[str]:
    """The single words of the names in a text, as written."""
    found = [name for start, end in sentences(text) for name in names(text[start:end])]
    return [word for name in found for word in name.split() if word[0].isupper()]


def _terms_of(word: str) -> list[str]:
    return [term for part in words(word) for _, term in term_of(part)]


def _speakers(messages: Sequence[Message], most: int = _SPEAKERS) -> str:
    found = list(dict.fromkeys(speaker_of(message) for message in messages))
    shown = found[:most] if len(found) <= most else [*found[: most - 1], "others"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _said(message: Message) -> date:
    assert message.time is not None  # what is stored has one
    return message.time.date()


def _clock(message: Message) -> str:
    assert message.time is not None
    return f"{_WEEKDAYS[message.time.weekday()]} {_day(message.time.date())} at {message.time:%H:%M}"


def _day(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
