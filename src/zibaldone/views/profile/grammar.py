"""What a statement says of its speaker: instruction, preference, decision, relation, fact. English.

Precise before complete: what is not beyond doubt is none of these. A first person counts where it is the
subject of a clause of its own ("..., so I prefer the train"), not where it is somebody's word or a
condition ("if I like it", "the train I like"). Instructions are imperatives with a word that makes them
last ("always", "from now on", "when I ask about"), since most imperatives are requests of the moment.
"""

from __future__ import annotations

from dataclasses import replace

from zibaldone.text.words import words
from zibaldone.views.profile.clauses import Area, Reading
from zibaldone.views.profile.constraints import areas_of, constrained_person
from zibaldone.views.profile.decisions import decision
from zibaldone.views.profile.elsewhere import readings_elsewhere
from zibaldone.views.profile.facts import fact
from zibaldone.views.profile.governed import stated
from zibaldone.views.profile.instructions import instruction
from zibaldone.views.profile.own_words import unquoted
from zibaldone.views.profile.people import relation
from zibaldone.views.profile.preferences import preference


def readings(statement: str, *, among_people: bool = False) -> list[Reading]:
    """All that a statement is, at most one of each kind. `among_people`: it may be said to a friend."""
    if len(statement) > _LONGEST:
        return []
    own = unquoted(statement)
    own_readings: list[Reading] = []
    if not _FIRST_PERSON.isdisjoint(words(own)):
        own = stated(own)
        own_readings += [
            reading for read in (preference, decision, relation, fact) if (reading := read(own)) is not None
        ]
        own_readings = _with_areas(own_readings, areas_of(own))
    if all(reading.kind != "relation" for reading in own_readings) and (name := constrained_person(own)):
        own_readings.append(Reading("relation", name, "", frozenset(words(name))))
    order = instruction(statement, among_people=among_people)
    if order is not None:
        return [order, *(reading for reading in own_readings if reading.kind == "relation")]
    return own_readings or readings_elsewhere(statement, own, among_people=among_people)


def _with_areas(own_readings: list[Reading], areas: frozenset[Area]) -> list[Reading]:
    """What is a constraint says so, in whatever kind of entry; in none, it is a fact."""
    if not areas:
        return own_readings
    for place, reading in enumerate(own_readings):
        if reading.kind in _CONSTRAINING:  # one of them is enough
            own_readings[place] = replace(reading, areas=areas)
            return own_readings
    return [*own_readings, Reading("fact", areas=areas)]


_CONSTRAINING = ("fact", "preference", "relation")
_FIRST_PERSON = frozenset("i im ive my we our let lets".split())
_LONGEST = 700  # characters of a statement; what is longer is a text, not a statement


def supersedes(later: Reading, earlier: Reading) -> bool:
    """Whether the later one says something else of the same."""
    same = later.kind == earlier.kind and bool(later.subject) and later.subject == earlier.subject
    if not same:
        return False
    if later.kind in ("fact", "relation"):
        return not later.value <= earlier.value and not earlier.value <= later.value
    return later.value != earlier.value


def repeats(later: Reading, earlier: Reading) -> bool:
    """Whether the later one says the same again."""
    same = later.kind == earlier.kind and bool(later.subject) and later.subject == earlier.subject
    return same and not supersedes(later, earlier) and (later.value <= earlier.value)
