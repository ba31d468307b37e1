"""Checks of a model's statements against the sources that they name, for every view's tasks.

    given = SourceTexts(["I live in Oslo. I don't eat fish."], context="Ann 2023-05-08")
    given.refusal("Ann lives in Oslo.")        # "": the sources bear it out
    given.refusal("Ann lives in Rome.")        # "says 'rome', which no source of it says"
    given.refusal("Ann eats fish.")            # "says 'eat', 'fish' where its sources say the opposite"
    given.invented("fish, Oslo, yachts")       # ["yachts"]: for titles and keywords, which deny nothing

Every content word, name and number of a statement stands in a source, and is denied there where the
statement denies it and only there. A word may be inflected, and a statement may say of its own who says or
thinks it. Nothing is taken on trust for being close: whoever writes in other words is refused, and the
source's own words stand instead. What cannot be seen this way: who did it to whom,
and whether what was asked or wished for came about.

A statement that says whom "she" or what "it" is has the word from an earlier message: `with_sources` finds
it, and names it as a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import regex

from zibaldone.text.date_words import MONTHS
from zibaldone.text.names import names
from zibaldone.text.patterns import late
from zibaldone.text.sentences import sentences
from zibaldone.text.spellings import PAST_FORMS, base_form
from zibaldone.text.words import STOP_WORDS, term_of, words

_SHOWN = 8  # words in a refusal
_MOST_ADDED = 2  # sources that hold the other words of a statement
REACH = 8  # messages around a statement's own in which they are looked for
_PLAIN, _DENIED = frozenset({True}), frozenset({False})
_EITHER = _PLAIN | _DENIED  # of a word before the "not" of its clause: "Fish I do not eat"
_SHORT_NOT = late(r"(?<=\p{L})n['’]t\b", regex.IGNORECASE)
_NOT_ONLY = late(r"\bnot (only|just|merely)\b", regex.IGNORECASE)
# What denies nothing of what follows: it is looked forward to, true, encouraged, or a tag of what was said.
_DENIES_NOTHING = late(
    r"\b(?:can ?not|ca not|could not) (?=(?:wait|believe|help)\b)"
    r"|\b(?:do not|never|no need to) (?:be (?:afraid|scared|shy)(?: (?:to|of))?|hesitate)\b"
    r"|\bnot-so-|\bno (?:doubts?|wonder|problem|worries)\b"
    r"|\b(?:do|does|did|is|are|was|were|has|have|had|would|should|could|ca|wo) not"
    r" (?:I|you|he|she|it|we|they)\b(?=\s*\p{P}*\s*$)",
    regex.IGNORECASE,
)
_CUT_NOT = frozenset({"ca", "wo", "sha"})  # what "can't", "won't" and "shan't" leave before "not"
_NOT = frozenset(
    """not no never nor neither none nobody nothing nowhere hardly barely scarcely seldom rarely without dont
    doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt havent hasnt hadnt nicht kein keine keinen
    keinem keiner nie niemals ne pas jamais aucun aucune nunca jamás não non mai не нет никогда""".split()
)
# Verbs that deny what follows them, and twice over after "not": "doesn't stop eating".
_STOPS = frozenset(
    """stop stops stopped stopping quit quits quitting cease ceases ceased refuse refuses refused refusing
    avoid avoids avoided avoiding fail fails failed failing lack lacks lacked lacking deny denies
    denied forget forgets forgot forgotten""".split()
)
# What a statement may say of its own: that somebody said or thinks it, that an image shows it, and what names
# nothing ("made something").
_OWN = frozenset(
    """since user assistant speaker ai say says said saying tell tells told mention mentions mentioned ask
    asks asked reply replies replied state states stated report reports reported one longer anymore
    think thinks believe believes feel feels suggest suggests suggested recommend recommends recommended named
    describe describes described explain explains explained advise advises advised finds shows showed shown
    compares compared noted listed estimates estimated calculates calculated reckons reckoned
    something someone somebody somewhere""".split()
)
# Who asks for something or aims at it wants it.
_WISH = late(
    r"\?|\b(?:please|let us|let's|goals?|aims?|hop(?:e|es|ing)|plan(?:s|ning)?|need|would like"
    r"|looking for)\b",
    regex.IGNORECASE,
)
_WANTS = frozenset({"want", "wants", "wanted"})
# "I haven't read it" denies what "it" stands for.
_IT = frozenset("it that this them those these there him her".split())
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""".split()
    )
}
_NUMBER = late(r"\p{N}+")
_ISO_MONTH = late(r"(?<!\d)(\d{4})-(0[1-9]|1[0-2])(?!\d)")
_SUBJECT = r"(?:I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t|[Yy]ou|[Tt]here|[Mm]y|[Oo]ur|\p{Lu}\p{L}+)\b"
_VERB = r"(?:do|does|did|is|are|was|were|has|have|had|will|would|can|could|not|never|no)\b"
# "..., and meal times are fun": a subject of its own, where no list with commas goes on.
_OTHERS = r"(?<!,[^,]*),\s+and\s+(?=(?:\p{L}+\s+){1,3}(?:is|are|was|were|has|have|had)\b)"
# "..., wanted to tell you", "..., which is why", "did not swim and took a walk": no denial reaches so far.
_TOLD = r",\s+(?=(?:just\s+)?(?:want|wanted|need|needed|had|hope|hoping|got|going)\s+to\b)"
_ADDED = r",\s+(?=(?:which|who|where)\b)"
_PAST = rf"\s+and\s+(?=(?:\p{{L}}{{2,}}ed|{'|'.join(PAST_FORMS)})\b)"
_CLAUSE = late(
    rf"[;:—–()]+|--+|\s-+\s|,?\s+(?:but|although|though|however|yet|whereas|while|so|because)\s+|(?:,|\s+and)\s+(?={_SUBJECT}|{_VERB})|{_OTHERS}"
    rf"|{_TOLD}|{_ADDED}|(?<=\b(?:do|does|did|will|would|can|ca|could)\s+not\b[^,;:.!?]*){_PAST}"
)


class SourceTexts:
    """The texts that statements name as their sources, read once.

    `context` has words that statements may use though no source has them, such as who speaks and when; it
    bears nothing out by itself.
    """

    def __init__(self, texts: Iterable[str], context: str = "") -> None:
        self._said: dict[str, frozenset[bool]] = {}  # term -> whether it is said plainly, denied, or both
        self._known = set(_OWN)  # words and terms
        self._meant: set[str] = set()  # terms of what was just spoken of where "it" is denied
        self._denies = False
        before: set[str] = set()
        for text in texts:
            self._known |= _vocabulary(text)
            if _WISH.search(text):
                self._known |= _WANTS
            here = set()
            for term, _, sign in _readings(text):
                here.add(term)
                self._said[term] = self._said.get(term, frozenset()) | sign
            if denies(text):
                self._denies = True
                self._meant |= here | before if _denies_it(text) else frozenset()
            before = here
        self._context = _vocabulary(context)

    def invented(self, text: str) -> list[str]:
        """Return the text's content words, names and numbers that no source has, in order."""
        new = [word for term, word, _ in _readings(text) if not self._knows(term, word)]
        new += sorted(one for one in names_and_numbers(_spelled(text)) if not self._knows(one, one))
        return list(dict.fromkeys(new))

    def turned(self, text: str) -> list[str]:
        """Return words that the text denies and every source affirms, or the other way round."""
        turned = [
            (term, word)
            for term, word, sign in _readings(text)
            if word not in _OWN and self._turned(term, sign)
        ]
        meant = self._denied_as_it(text) if turned and self._meant else frozenset()
        return list(dict.fromkeys(word for term, word in turned if term not in meant))

    def refusal(self, statement: str) -> str:
        """Return why the sources do not bear the statement out, in words for a model; "" if they do."""
        read = list(_readings(statement))
        if not read:
            return "says nothing"
        if new := self.invented(statement):
            return f"says {_listed(new)}, which no source of it says"
        if not any(term in self._said for term, _, _ in read):
            return "says nothing that a source of it says"
        turned = self.turned(statement)
        if turned or (not self._denies and denies(statement)):
            what = _listed(turned) or "'not'"
            return f"says {what} where its sources say the opposite: keep every 'not'"
        return ""

    def _knows(self, term: str, word: str) -> bool:
        return not self._known.isdisjoint((term, word)) or not self._context.isdisjoint((term, word))

    def _denied_as_it(self, text: str) -> frozenset[str]:
        """Return terms denied of what a source calls "it", in clauses that share its denial."""
        excused: set[str] = set()
        for clause in _clauses(text):
            denied = {term for term, _, sign in _readings(clause) if sign == _DENIED}
            if any(self._said.get(term) == _DENIED for term in denied):
                excused |= denied & self._meant
        return frozenset(excused)

    def _turned(self, term: str, sign: frozenset[bool]) -> bool:
        held = self._said.get(term)
        return held is not None and sign.isdisjoint(held) and term not in self._context


def with_sources(
    statement: str, named: Sequence[int], near: Sequence[int], read: Callable[[Sequence[int]], SourceTexts]
) -> tuple[list[int], str]:
    """Return the statement's sources, with added ones for its other words, and its refusal or "".

    `near` has what was said around it, the nearest first; `read` gives the texts of some of them. A word that
    what is named lacks makes the next one that has it a source, two at most, so that the statement goes when
    that is forgotten. A number, and half of its words, have to stand in what is named, which must not say
    the opposite: "No, not allergic" is not turned by "Are you allergic?".
    """
    sources = list(named)
    given = read(sources)
    lacking = given.invented(statement)
    few = len(lacking) * 2 <= len({word for _, word, _ in _readings(statement)})
    if lacking and few and not any(map(_NUMBER.search, lacking)):
        for place in near:
            if not lacking or len(sources) == len(named) + _MOST_ADDED:
                break
            if place in named:
                continue
            there = read([place])
            if len(left := [word for word in lacking if there.invented(word)]) < len(lacking):
                sources.append(place)
                lacking = left
    if len(sources) == len(named):
        return sources, given.refusal(statement)
    sources.sort()
    if lacking or given.turned(statement):
        return list(named), given.refusal(statement)
    return sources, read(sources).refusal(statement)


def nearest(named: Sequence[int], known: Iterable[int]) -> list[int]:
    """Return the places within REACH of a named one, nearest first, earlier before later."""

    def distance(place: int) -> tuple[int, bool]:
        return min((abs(place - source), place > source) for source in named)

    others = (place for place in known if place not in named)
    return [place for place in sorted(others, key=distance) if distance(place)[0] <= REACH]


def names_and_numbers(text: str) -> set[str]:
    """Return the words of names, and numbers without leading zeros."""
    salient = {_number(number) for number in _NUMBER.findall(text)}
    for start, end in sentences(text):
        salient.update(word for name in names(text[start:end]) for word in words(name))
    return salient - STOP_WORDS


def _vocabulary(text: str) -> set[str]:
    text = _spelled(text)
    known = names_and_numbers(text)
    for word in words(text):
        known.add(word)
        known.add(_NUMBER_WORDS.get(word, word))
        known.update(term for _, term in term_of(base_form(word)))
    return known


def _readings(text: str) -> list[tuple[str, str, frozenset[bool]]]:
    """Return (term, word, signs) of each content word; signs: {True} plain, {False} denied, or both."""
    readings: list[tuple[str, str, frozenset[bool]]] = []
    last_began = sentence_began = 0
    for start, end in sentences(text):
        last_began, sentence_began = sentence_began, len(readings)
        clause_began = sentence_began
        sentence = text[start:end]
        for clause in _CLAUSE.split(_spelled(sentence)):
            before, clause_began = clause_began, len(readings)
            negations, plain = 0, True
            denied_from = 0
            for word in words(clause):
                if word in _NOT or word in _STOPS:
                    denied_from = denied_from if negations else len(readings)
                    negations += 1
                    plain = not plain if word in _STOPS else False
                elif content := _content(word):
                    sign = _PLAIN if plain else _DENIED
                    readings += [(term, form, sign) for form, term in content]
            if not negations or (plain and denied_from == len(readings)):  # "won't quit"
                continue
            if denied_from < len(readings):
                _sign(readings, clause_began, denied_from, _EITHER)
            elif denied_from > clause_began:  # "Ann lives in Oslo not"
                _sign(readings, clause_began, denied_from, _DENIED)
            elif clause_began > sentence_began:  # "Ann lives in Oslo; no"
                _sign(readings, before, clause_began, _DENIED)
            else:  # "No", to what was said before
                _sign(readings, last_began, clause_began, _EITHER)
        if sentence.rstrip("!！ ").endswith(("?", "？", "؟")):  # it says neither: "Do you like fish?" "No."
            _sign(readings, sentence_began, len(readings), _EITHER)
    return readings


def _content(word: str) -> list[tuple[str, str]]:
    """(surface form, term) of a word that says something."""
    if word in STOP_WORDS or word in _CUT_NOT:
        return []
    if word in _NUMBER_WORDS:
        return [] if word == "one" else [(word, _NUMBER_WORDS[word])]
    if word.isdecimal():
        return [(word, _number(word))]
    return [(word, term) for _, term in term_of(base_form(word))] if word.isascii() else list(term_of(word))


def _sign(
    readings: list[tuple[str, str, frozenset[bool]]], start: int, end: int, sign: frozenset[bool]
) -> None:
    readings[start:end] = [(term, form, sign) for term, form, _ in readings[start:end]]


def denies(text: str) -> bool:
    """True if it says "not", "no", "never" or that something has ended."""
    return any(word in _NOT or word in _STOPS for word in words(_spelled(text)))


def _denies_it(text: str) -> bool:
    """True if a clause of it has a pronoun behind its "not"."""
    for clause in _clauses(text):
        clause_words = words(clause)
        denial = next((place for place, word in enumerate(clause_words) if word in _NOT), len(clause_words))
        if not _IT.isdisjoint(clause_words[denial + 1 :]):
            return True
    return False


def _clauses(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        yield from _CLAUSE.split(_spelled(text[start:end]))


def _spelled(text: str) -> str:
    """Normalise: "not" as a word, months by name; drop phrases that deny nothing, as "not only"."""
    text = _ISO_MONTH.sub(lambda day: f"{day[1]} {MONTHS[int(day[2]) - 1]}", text)
    return _DENIES_NOTHING.sub("", _NOT_ONLY.sub(r"\1", _SHORT_NOT.sub(" not", text)))


def _number(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _listed(faults: list[str]) -> str:
    return ", ".join(repr(word) for word in faults[:_SHOWN])
