"""Which sentences carry facts: what a plain compression of a conversation keeps."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import regex

from zibaldone.text.date_words import MONTHS, WEEKDAYS
from zibaldone.text.words import STOP_WORDS, terms, words

# What people say to each other whatever the subject. English; sentences of other languages are kept.
_PHATIC_WORDS = frozenset(
    """
    absolutely agree agreed ah amazing appreciate awesome aw aww awww bet bye care catch chat cheer
    congrats congratulations cool course crossed day definitely dude exactly excited exciting
    fantastic fingers forward glad going gonna gotta good goodbye great guess haha happy hear heard
    hello hey hi hmm hope how idea incredible inspiring keep kind know later like lol look looking
    looks luck lucky man lot lots maybe mean much morning news nice night no oh ok okay perfect
    pleasure please proud really right see soon sorry sound sounds stay super support sure surely
    sweet take talk thank thanks think thinking thought totally true understand wait way welcome well
    wonderful wow yay yeah yep yes yup
    """.split()
)
PHATIC = frozenset(term for word in _PHATIC_WORDS for term in terms(word))  # terms
# With one of these, what is only politeness and names is no opinion of anything.
_COURTESY = frozenset(
    """hey hi hello bye goodbye welcome thanks thank congrats congratulations luck care soon later cheers
    please""".split()
)
_NO_NAME = STOP_WORDS | {*WEEKDAYS, *MONTHS}
_FIRST_PERSON = frozenset("i me my mine myself we us our ours ourselves im ive id ill".split())
_NUMBER = regex.compile(r"\p{N}")
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]")
_LATIN = regex.compile(r"\p{Latin}")
_CAPITALISED = regex.compile(r"\p{Lu}[\p{L}\p{M}]+")
_NAME = regex.compile(
    r"\p{Lu}[\p{L}\p{M}'’]*(?:[ -](?:(?:of|de|von|van|the|and)[ -])?\p{Lu}[\p{L}\p{M}'’]*)*"
)


def names(sentence: str) -> list[str]:
    """Runs of capitalised words as written, not counting the first word of the sentence nor "I"."""
    runs = []
    first = _WORD.search(sentence)
    for match in _NAME.finditer(sentence):
        name = match.group()
        if first and match.start() == first.start():
            _, _, name = name.partition(" ")  # it is capitalised whatever it means
        if name and _CAPITALISED.match(name) and not _NO_NAME.issuperset(words(name)):
            runs.append(name.removesuffix("'s").removesuffix("’s"))
    return runs


def carries_fact(sentence: str) -> bool:
    """True if a sentence says something to remember: a name, a number, a statement of the speaker's own.

    False for greetings, thanks, exclamations and for a question back that names nothing.
    """
    meant = set(terms(sentence))
    if not meant:
        return False
    if _NUMBER.search(sentence) or not _LATIN.search(sentence):
        return True
    own = meant - PHATIC
    if not own:
        return False
    if names(sentence) or not _FIRST_PERSON.isdisjoint(words(sentence)):
        return True
    return len(own) >= 2 if not sentence.rstrip().endswith("?") else len(own) >= 3


def is_phatic(sentence: str) -> bool:
    """True if a sentence is nothing but greetings, thanks and exclamations: not a word on any subject."""
    return not _NUMBER.search(sentence) and set(terms(sentence)) <= PHATIC and not names(sentence)


def is_courtesy(sentence: str) -> bool:
    """Greetings, thanks, wishes, calls by name ("Hey Mel!"); no opinion of a thing ("It was awesome!")."""
    own = set(terms(sentence))
    if not own:
        return not _NUMBER.search(sentence)
    spoken = set(words(sentence))
    if _COURTESY.isdisjoint(spoken):
        return False
    called = {term for name in names(f". {sentence}") for term in terms(name)}
    return is_phatic(sentence) or (own <= PHATIC | called and _FIRST_PERSON.isdisjoint(spoken))


def is_echo(sentence: str, heard: AbstractSet[str]) -> bool:
    """True if a sentence only says again what was heard just before: no term, name or number of its own."""
    own = set(terms(sentence)) - PHATIC
    return len(own) < 6 and own <= heard and _FIRST_PERSON.isdisjoint(words(sentence))
