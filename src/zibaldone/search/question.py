"""What a question says about where its answer is: its words, the people and the days that it names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import regex

from zibaldone.search.asking import asks_elsewhere
from zibaldone.search.lexical import LexicalIndex
from zibaldone.search.request import Aim, Request, read_request
from zibaldone.text.attributes import Attribute, asked_attribute
from zibaldone.text.codes import codes
from zibaldone.text.dates import find_days
from zibaldone.text.foreign_dates import with_english_dates
from zibaldone.text.kinds import asked_kinds
from zibaldone.text.remembered import remembered
from zibaldone.text.unaccented import unaccented
from zibaldone.text.words import (
    FOREIGN_FUNCTION_WORDS,
    STOP_WORDS,
    as_written,
    has_foreign_function_words,
    is_english,
    term_of,
    words,
)

_ASKS_WHEN = regex.compile(
    r"^\s*when\b|\b(?:what|which)\s+(?:date|day|month|year|time)\b|\bhow\s+long\b", regex.IGNORECASE
)

_ASKS_WHERE = regex.compile(
    r"\bwhere\b|\b(?:what|which)\s+(?:\p{L}+\s+)?(?:cit(?:y|ies)|countr(?:y|ies)|places?|states?|towns?|"
    r"villages?|locations?|areas?|parks?|streets?)\b",
    regex.IGNORECASE,
)
_ASKS_HOW_MANY = regex.compile(
    r"\bhow\s+(?:many|much|old|far|tall|big|often)\b|"
    r"\bwhat\s+(?:number|percentage|percent|amount|price|score|age|size)\b",
    regex.IGNORECASE,
)
_ASKS = regex.compile(r"[?？؟]\s*$")  # keywords have no function words either
_MOST_TERMS = 64
_LONGEST = 1000  # characters of a question that asks for a kind of things
_OF_MEMORY = 0.3  # of a question's words, function words included: memory has more of its own language's
_LANGUAGE = 100  # different words of a memory, among which the function words of its language are
_LITTLE = 3  # letters of most function words of most languages
_OF_ANOTHER = (
    0.15  # German, French, Spanish, Portuguese and Dutch have .2 to .3, English talk, notes and code .05
)
_OF_ENGLISH_ALONE = frozenset(
    "what which who whose when where how why did does would should could the this that with".split()
)
_OWN = frozenset(  # of who asks, in some languages; "tell me" and "show us" are no signs
    """i my mine we our ours i'm i've i'd im ive ich mein meine meinen meinem meiner wir unser unsere je j mon
    ma mes notre nos yo mi mis nuestro nuestra mio mia miei mie nostro nostra eu meu minha
    meus minhas""".split()
)
_SEVERAL = 4  # words of a question that tell its language; fewer may be names
_COGNATE = 6  # letters of a word that may be English but for its ending
_LETTERS, _LATIN = regex.compile(r"\p{L}+"), regex.compile(r"\p{Latin}+")
_MOST_CODES = 8
_MOST_DAYS = 16  # times that one question can ask for
_NEUTRAL = frozenset({"partner", "spouse"})  # whichever of the partners it is
_OF_A_COUPLE = frozenset({"relationship", "marriage", "couple"})
_PARTNERS = frozenset(
    {"wife", "husband", "spouse", "partner", "girlfriend", "boyfriend", "fiance", "fiancee"}
)
_COMMON = STOP_WORDS | {"may"}


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """Somebody whom the user calls by what they are to him or her, and memory by a name."""

    relation: frozenset[str]  # words in lower case, such as {"best", "friend"}
    name: str


@dataclass(frozen=True, slots=True)
class Question:
    """A query, taken apart."""

    terms: tuple[tuple[str, str], ...]  # (form, term) of its content words, without the speakers' names
    speakers: tuple[str, ...]  # names of this user's speakers that it mentions
    asks_when: bool
    asks_where: bool
    asks_how_many: bool  # or how much, how old: for a number
    asks_assistant: bool  # what the assistant said, not the user
    asks_list: bool  # all there is of something
    asks_overview: bool  # an order, a history, a summary
    asks_everything: bool  # it has no subject, and its terms are what only says how to answer
    days: tuple[tuple[int, int], ...]  # ordinals of the days that it names, inclusive
    names_of: tuple[tuple[str, str], ...] = ()  # (term, term of a name that stands for it)
    asks_own: bool = False  # about who asks: "my", "I"
    codes: tuple[str, ...] = ()  # identifiers that it names, see text/codes; their words are terms too
    attribute: Attribute | None = None  # of who asks, or of the one speaker that it names
    attribute_terms: frozenset[str] = frozenset()  # those of `terms` by which it asks for that
    kinds: tuple[str, ...] = ()  # that it may ask for, the narrowest reading first: see text/kinds
    is_foreign: bool = False  # in another language than memory, as far as can be told: see is_foreign

    @property
    def subject(self) -> str:
        """Its content words alone: what is embedded. The other words only blur a mean of word vectors."""
        return " ".join(form for form, _ in self.terms)


def take_apart(
    text: str,
    speakers: Iterable[str],
    today: date,
    knows_of: Callable[[int, int], bool],
    newest: date,
    spelled: Callable[[str], str] = str,
    people: Sequence[Acquaintance] = (),
    request: Request | None = None,
    *,
    foreign: bool = False,
) -> Question:
    """Read a question against the names of those who spoke; `spelled` mends its words.

    Of one in a `foreign` language only long words are mended: they may be cognates ("dentiste").

    Where it says "my sister" of one of the `people`, the name is looked for as well. A `request` is what
    somebody else has read in it; where it names days, those that are found in the text come first.

    "In May" is asked as of today; but when memory knows nothing of those days (`knows_of`, of ordinals), the
    question means an earlier time that it does know, and is read as of the `newest` message.
    """
    written = as_written(text)
    plain = {form for word in written if (form := word.casefold()) not in _COMMON}
    # "will" and "may" name somebody only when they are written as names, and not as the first word.
    inside = written if written[1:2] == ["s"] else written[1:]  # "Will's dog" begins with a name
    common = {form for word in inside if (form := word.casefold()) in _COMMON and word != form}
    candidates = plain | common
    named = []
    of_names: set[str] = set()
    for speaker in speakers:
        if seen := candidates & _parts(speaker):
            named.append(speaker)
            of_names |= seen
    request = request or read_request(text)
    elsewhere = has_foreign_function_words(words(text))
    idle = of_names | (STOP_WORDS | FOREIGN_FUNCTION_WORDS if elsewhere else STOP_WORDS)
    content = [word for word in words(request.subject) if word not in idle]
    asks_own = not _OWN.isdisjoint(words(text))
    person = named[0] if len(named) == 1 and not asks_own else ""
    sought = asked_attribute(text, person)
    if sought is not None and not content:
        content = [sought.attribute.name]  # "who am I?"
    asks_everything = not content
    if asks_everything:
        content = [word for word in words(text) if word not in STOP_WORDS and word not in of_names]
    mended = (spelled(word) if not foreign or len(word) >= _COGNATE else word for word in content)
    forms = dict(pair for word in mended for pair in term_of(word))
    days = _days(text, today)
    if days and not any(knows_of(first, last) for first, last in days):
        days = _days(text, newest)
    if not days and request.period and request.period.first and request.period.last:
        days = ((request.period.first.toordinal(), request.period.last.toordinal()),)
    return Question(
        terms=tuple(forms.items()),
        speakers=tuple(named),
        asks_when=bool(_ASKS_WHEN.search(text)) or (elsewhere and asks_elsewhere("when", text)),
        asks_where=bool(_ASKS_WHERE.search(text)) or (elsewhere and asks_elsewhere("where", text)),
        asks_how_many=bool(_ASKS_HOW_MANY.search(text)) or (elsewhere and asks_elsewhere("number", text)),
        asks_assistant=request.aim is Aim.SAID,
        asks_list=request.aim is Aim.LIST,
        asks_overview=request.aim is Aim.OVERVIEW,
        asks_everything=asks_everything,
        days=days,
        names_of=_names_of(content, people),
        asks_own=asks_own,
        codes=codes(request.subject)[:_MOST_CODES],
        attribute=sought.attribute if sought else None,
        attribute_terms=frozenset(
            forms[form] for form in forms if sought and unaccented(form) in sought.words
        ),
        kinds=asked_kinds(text) if len(text) <= _LONGEST else (),
        is_foreign=foreign,
    )


def is_foreign(text: str, memory: str, has: Callable[[str], bool]) -> bool:
    """Whether a question is in another language than some of what memory has.

    One of them is written in Latin letters and the other is not; or one is English and the other is not; or
    neither is, and memory `has` few of its words. A sentence of memory's language shares its function words.
    Terse notes have none, and no other language's either; a few sentences are nothing to compare with.
    """
    if _is_latin(text) != _is_latin(memory):
        return True
    spoken = words(text)
    if len(spoken) < _SEVERAL or not _ASKS.search(text) or not _is_latin(text):
        return False
    few_known = sum(map(has, spoken)) < _OF_MEMORY * len(spoken)
    asked_in_english = is_english(spoken) or not _OF_ENGLISH_ALONE.isdisjoint(spoken)
    if asked_in_english and not few_known:
        return False
    of_memory = words(memory)
    if asked_in_english:
        return not is_english(of_memory) and _has_other_function_words(of_memory)
    return is_english(of_memory) or (few_known and len(set(of_memory)) >= _LANGUAGE)


def _is_latin(text: str) -> bool:
    """Whether most letters are, or there are none."""
    if 2 * len(text.encode("ascii", "ignore")) >= len(text):  # spaces are a fifth of any text
        return True
    return 2 * sum(map(len, _LATIN.findall(text))) >= sum(map(len, _LETTERS.findall(text)))


def _has_other_function_words(spoken: Sequence[str]) -> bool:
    """Whether it has those of another language than English: little words that come again and again."""
    counts = Counter(spoken)
    little = (
        count
        for word, count in counts.items()
        if len(word) <= _LITTLE and count > 1 and word.isalpha() and word not in STOP_WORDS
    )
    return sum(little) >= _OF_ANOTHER * len(spoken)


def _names_of(content: Sequence[str], people: Sequence[Acquaintance]) -> tuple[tuple[str, str], ...]:
    """Who is meant by words such as "sister"; by "best friend" not every friend."""
    spoken = set(content)
    if not _OF_A_COUPLE.isdisjoint(spoken):
        spoken |= _PARTNERS
    meant = [person for person in people if person.relation <= spoken]
    if not meant and "business" not in spoken:
        if not _NEUTRAL.isdisjoint(spoken):
            spoken |= _PARTNERS
        elif not _PARTNERS.isdisjoint(spoken):  # memory may know of "someone I'm seeing"
            spoken |= _NEUTRAL
        meant = [person for person in people if person.relation <= spoken]
    exact = [person for person in meant if not any(person.relation < other.relation for other in meant)]
    pairs = []
    for person in exact:
        alike = _PARTNERS if person.relation <= _PARTNERS else frozenset()
        stands_for = next(word for word in content if word in person.relation | _OF_A_COUPLE | alike)
        (_, term), *_ = term_of(stands_for)
        pairs += [(term, named) for word in words(person.name) for _, named in term_of(word)]
    return tuple(dict.fromkeys(pairs))


def narrowed(question: Question, index: LexicalIndex) -> Question:
    """A question of a page has too many words to look for all: the rarest that memory knows are kept."""
    if len(question.terms) <= _MOST_TERMS:
        return question
    known = [pair for pair in question.terms if index.df(pair[1])]
    rarest = set(sorted(known, key=lambda pair: index.df(pair[1]))[:_MOST_TERMS])
    return replace(question, terms=tuple(pair for pair in known if pair in rarest))


def _days(text: str, said_on: date) -> tuple[tuple[int, int], ...]:
    if not is_english(words(text)):
        text = with_english_dates(text)
    days = dict.fromkeys((d.first.toordinal(), d.last.toordinal()) for d in find_days(text, said_on))
    return tuple(days)[:_MOST_DAYS]


@remembered(10_000)
def _parts(speaker: str) -> frozenset[str]:
    """The words of a name by which it is called: not "the" of the Doctor, not "I"."""
    parts = frozenset(words(speaker))
    return parts - _COMMON or frozenset(part for part in parts if len(part) > 1)
