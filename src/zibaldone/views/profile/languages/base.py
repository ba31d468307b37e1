r"""The structure of a language's table: pieces of patterns, matched without regard to case and accents.

Texts are matched as `unaccented` gives them: "sugiere" and "sugiére" are one, and tables have no accents.
Where a piece is to stand behind another one it says so; `(?-i:\p{Lu})` is a capital letter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.views.profile.clauses import FLAGS, Area


@dataclass(frozen=True, slots=True)
class Orders:
    """How somebody tells an assistant what to do from now on."""

    opening: str  # words in front of an order that say nothing, "please" and "from now on" among them
    please: str
    order: str  # the verb of an imperative, with its pronouns
    refusal: str  # an imperative that forbids, verb and all, or what makes one of an order
    infinitive: str  # the verb that an order without an imperative ends with; never matches where none does
    wish: str  # "I want you to"
    lasts: str
    once: str
    form: str  # of how to answer, whatever is asked
    condition: str  # "when I ask you about", up to its <topic> or around it
    scope: str  # "in recipes": with its <topic>
    reminds: str  # "remember:", which makes an order of any phrase that lasts
    subject: str  # somebody named behind the verb, who makes a statement of what looks like an order


@dataclass(frozen=True, slots=True)
class Facts:
    """Plain statements of oneself, each with its <value>."""

    name: str
    age: str
    home: str
    employer: str
    occupation: str


@dataclass(frozen=True, slots=True)
class People:
    """Who somebody is to the speaker."""

    my: str
    stand_in: str  # for a name: "my wife"
    kin: str
    one_at_a_time: frozenset[str]  # of these
    called: str  # between a relation and a name: "is called"
    no_name: str  # what is written as names are, and is none


@dataclass(frozen=True, slots=True)
class Constraints:
    """What somebody must not have or can't do: patterns of a whole statement, by the areas they bear on."""

    stated: tuple[tuple[tuple[Area, ...], str], ...]
    passing: str  # what makes a statement one of the past, of a wish or of today


@dataclass(frozen=True, slots=True)
class Leanings:
    """What a first person likes and has decided on, each with its <what>; of a favourite its <value> too."""

    liked: str  # or disliked
    against: str  # of what was matched: what makes it a dislike, or a decision against
    favourite: str
    decided: str
    reaction: str  # where <what> begins so, it is something that was just said: "your idea"
    unsettled: str  # anywhere in the statement: not yet, or only supposed


@dataclass(frozen=True)
class Language:
    """One language's table."""

    marks: frozenset[str]  # words, one of which at least is in whatever is read; few English texts have them
    little: frozenset[str]  # function words: what is left of a topic without them says what it is about
    orders: Orders
    facts: Facts
    people: People
    constraints: Constraints
    leanings: Leanings
    areas: Mapping[Area, str]  # words that say that a question is about an area of life
    reported: str  # somebody else's words or advice, orders among them
    made_up: str  # of a story, a dream, a text to be written
    of_another: str  # what makes it somebody else's words or thought, a supposition or a text to translate


@remembered(1000)
def pattern(*pieces: str) -> regex.Pattern[str]:
    """Of a table's pieces, put together."""
    return lazy_pattern("".join(pieces), FLAGS)
