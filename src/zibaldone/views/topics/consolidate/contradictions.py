"""Which entries say another value of one thing: without a model, and only where grammar leaves no doubt.

A claim is (slot, value): "The capital of Norway is Oslo" claims Oslo for the slot "the capital of norway is".
Two claims of one slot with different values contradict each other; the newer holds. Read are

- what people say of themselves (text/statements.py): "I live in Oslo";
- "the N of K is V", "K's N is V", and the same the other way round, "V is the N of K";
- a name, a relation in the present tense or the passive that ends in a preposition, and a value: "Ann Lee
  works for Globex". What one may do with several, or has done once ("Ann went to Oslo"), contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.statements import statements
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.topics.library import Key, key_of
from zibaldone.views.topics.markdown.entry import Entry

_LONGEST = 200  # characters of a sentence that is read
_VALUE_WORDS = 6
_WORD = r"[\p{Lu}\p{N}](?:[\p{L}\p{M}\p{N}&.-]|['’](?!s\b))*"
_NAME = rf"{_WORD}(?:\s+(?:(?:of|the|de|la|von|van|du|del|near|to)\s+){{0,2}}{_WORD})*+"
_PLAIN = r"\p{Ll}[\p{L}'’-]*"
_COPULA = r"(?:is|are|was|were|became|has\s+become|has\s+been)"
_NOW = r"(?:(?:now|currently|still|actually)\s+)?"
_LEAD = r"(?:(?:in|at|by|from|called|named|located|based|the|an?|city|town|country|of)\s+)*"
_DEFINITE = lazy_pattern(
    rf"(?P<slot>[Tt]he\s+{_PLAIN}.*\s)(?P<is>{_COPULA})\s+{_NOW}(?P<lead>{_LEAD})(?P<value>\S.*)"
)
_INVERTED = lazy_pattern(
    rf"(?P<value>{_NAME})\s+(?P<is>{_COPULA})\s+{_NOW}the\s+(?P<slot>{_PLAIN}(?:\s+{_PLAIN})*\s+{_NAME})"
)
_OWNED = lazy_pattern(
    rf"(?P<key>{_NAME})['’]s?\s+(?P<noun>{_PLAIN}(?:\s+{_PLAIN}){{0,4}}?)\s+(?P<is>{_COPULA})\s+{_NOW}"
    rf"(?P<lead>{_LEAD})(?P<value>\S.*)"
)
_OWNED_INVERTED = lazy_pattern(
    rf"(?P<value>{_NAME})\s+(?P<is>{_COPULA})\s+{_NOW}(?P<key>{_NAME})['’]s?\s+"
    rf"(?P<noun>{_PLAIN}(?:\s+{_PLAIN}){{0,4}})"
)
_RELATED = lazy_pattern(
    rf"(?P<key>{_NAME})\s+{_NOW}(?P<relation>{_PLAIN}(?:\s+{_PLAIN})*?)\s+"
    rf"(?P<lead>(?:(?:the|an?|city|town|country|of)\s+)*)(?P<value>{_NAME}|{_PLAIN}(?:\s+{_PLAIN})?)"
)
_BE = frozenset("is are was were".split())
_AFTER_BE = frozenset("by in at from to as under with for of".split())
_AFTER_VERB = frozenset("in at for from as under".split())
_CHANGES = frozenset("moved relocated switched transferred graduated".split())  # of a state, told in the past
# Of these one may have several: no second one contradicts the first.
_SHARED = frozenset(
    """friend friends fan member colleague lover supporter admirer part user follower student neighbour
    neighbor relative cousin sibling brother sister interested good great bad afraid proud fond excited happy
    sorry tired full one visited seen helped met invited inspired loved liked hit joined attended called known
    looks talks listens goes comes travels waits asks pays""".split()
)
_HEDGED = frozenset("not never no may might maybe perhaps could would should if when used once".split())


@dataclass(frozen=True, slots=True)
class Claim:
    """One value of one thing."""

    slot: str
    value: frozenset[str]  # terms

    def contradicts(self, other: Claim) -> bool:
        """Of the same slot, and neither value says the other again."""
        return self.slot == other.slot and not (self.value <= other.value or other.value <= self.value)


def claims(entry: Entry) -> tuple[Claim, ...]:
    """What the entry claims; nothing for most."""
    return _claims(entry.text, entry.source or "")


def recency(entry: Entry) -> tuple[int, bool, int]:
    """Of two entries that contradict each other the greater holds; of one message the one said later.

    The assistant's reply is as recent as the message that it replies to, so that there a person is believed
    before it (§A.1, prompt B).
    """
    return entry.last - (not entry.by_person), entry.by_person, entry.part


def settle(entries: Iterable[tuple[int, Entry]]) -> dict[int, Entry]:
    """The entries that change when each slot has one value; by the numbers they are given with.

    Of equally recent ones the later in the order holds. Superseded entries are left as they are.
    """
    standing: dict[int, Entry] = {}
    slots: dict[str, list[tuple[int, Claim]]] = {}
    for number, entry in entries:
        if entry.current and (claimed_here := claims(entry)):
            standing[number] = entry
            for claim in claimed_here:
                slots.setdefault(claim.slot, []).append((number, claim))
    changed: dict[int, Entry] = {}
    rank = {number: (*recency(entry), place) for place, (number, entry) in enumerate(standing.items())}
    for claimed in slots.values():
        if len(claimed) < 2:
            continue
        winner, holds = max(claimed, key=lambda numbered: rank[numbered[0]])
        for number, claim in claimed:
            if number != winner and holds.contradicts(claim):
                by, old = changed.get(winner, standing[winner]), changed.get(number, standing[number])
                changed[winner], changed[number] = superseding(by, old)
    return changed


def marked(
    held: Sequence[tuple[str, Entry]], new: Sequence[Entry] = ()
) -> tuple[dict[str, dict[Key, Entry]], list[Entry]]:
    """By document, those of its entries that get other marks when new ones come behind them; and the new."""
    changed = settle(enumerate([*(entry for _, entry in held), *new]))
    of_document: dict[str, dict[Key, Entry]] = {}
    for number, entry in changed.items():
        if number < len(held):
            of_document.setdefault(held[number][0], {})[key_of(entry)] = entry
    return of_document, [changed.get(number, entry) for number, entry in enumerate(new, len(held))]


def superseding(newer: Entry, older: Entry) -> tuple[Entry, Entry]:
    return (
        replace(newer, supersedes=(*newer.supersedes, older.last)) if older.last else newer,
        replace(older, superseded_by=(*older.superseded_by, newer.last)) if newer.last else older,
    )


def stale(text: str, newer: Iterable[Entry], older: Entry) -> bool:
    """Whether a text may state the older entry's value: it has all words of a claim that these replace."""
    present = frozenset(terms(text))
    slots = slots_claimed(newer)
    return any(claim.value <= present for claim in claims(older) if claim.slot in slots)


def slots_claimed(entries: Iterable[Entry]) -> set[str]:
    """What the entries claim a value of."""
    return {claim.slot for entry in entries for claim in claims(entry)}


def claiming(entries: Iterable[Entry], slots: AbstractSet[str]) -> list[Entry]:
    """The current ones that claim one of the slots."""
    return [one for one in entries if one.current and any(claim.slot in slots for claim in claims(one))]


def slots_of(entries: Iterable[Entry]) -> Mapping[str, list[Entry]]:
    """Current entries by the slots that they claim."""
    claiming: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.current:
            for claim in claims(entry):
                claiming.setdefault(claim.slot, []).append(entry)
    return claiming


@remembered(100_000)
def _claims(text: str, speaker: str) -> tuple[Claim, ...]:
    if len(text) > _LONGEST or "\n" in text:
        return ()
    sentence = text.strip().rstrip(".!")
    of_speaker = [
        Claim(f"{stated.subject}: {stated.relation}", stated.value)
        for stated in statements(sentence, speaker)
    ]
    if (
        not of_speaker
        and not sentence.endswith("?")
        and _HEDGED.isdisjoint(words(sentence))
        and (of_named := _told(sentence))
    ):
        of_speaker.append(of_named)
    return tuple(of_speaker)


def _told(sentence: str) -> Claim | None:
    """What a sentence says of somebody or something that it names."""
    if match := _DEFINITE.fullmatch(sentence):
        if regex.search(r"\s[\p{Lu}\p{N}]", match["slot"]):
            return _claim(match["slot"][4:], match["is"], match["lead"], match["value"])
    elif match := _OWNED.fullmatch(sentence):
        return _claim(f"{match['noun']} of {match['key']}", match["is"], match["lead"], match["value"])
    elif match := _OWNED_INVERTED.fullmatch(sentence):
        return _claim(f"{match['noun']} of {match['key']}", match["is"], "", match["value"])
    elif match := _INVERTED.fullmatch(sentence):
        return _claim(match["slot"], match["is"], "", match["value"])
    elif match := _RELATED.fullmatch(sentence):
        relation = match["relation"].lower().split()
        if _is_state(relation):
            return _claim(f"{match['key']} {' '.join(relation)}", "", "", match["value"])
    return None


def _is_state(relation: list[str]) -> bool:
    """Whether it is a relation that one has with one thing at a time."""
    if len(relation) < 2 or not _SHARED.isdisjoint(relation):
        return False
    verb, last = relation[0], relation[-1]
    if verb in _BE:
        return last in _AFTER_BE
    if verb in _CHANGES:
        return last in {"to", "from"}
    return last in _AFTER_VERB and verb.endswith("s") and verb not in STOP_WORDS - {"has", "does"}


def _claim(slot: str, verb: str, lead: str, value: str) -> Claim | None:
    spoken = words(value)
    if not spoken or len(spoken) > _VALUE_WORDS or "," in value or "and" in spoken or "or" in spoken:
        return None
    kind = "number" if value[0].isnumeric() else "name" if value[0].isupper() else "plain"
    tense = "was" if verb in {"was", "were"} else "is" if verb else ""
    where = "in" if {"in", "at"} & set(lead.split()) else "from" if "from" in lead.split() else ""
    meant = frozenset(terms(value)) or frozenset(spoken)
    return Claim(" ".join([*slot.casefold().split(), tense, where, f"({kind})"]), meant)
