"""Whether a change takes the place of an earlier clause: only where the words leave little doubt."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.updates.changes import Change, holds_now, state_of, who_is_in_state
from zibaldone.views.updates.clauses import PEOPLE, StatedClause, Value, meaning
from zibaldone.views.updates.conditions import beside_me, condition_of, key_of_condition
from zibaldone.views.updates.cues import (
    AIMS,
    DURATION,
    FROM,
    HAS_OF,
    INTENDS,
    IS,
    MEANS,
    ROLE,
    SLOT,
    TALLY,
    USES,
    WORKS,
)
from zibaldone.views.updates.frames import frame_fits
from zibaldone.views.updates.heads import of_two_things
from zibaldone.views.updates.visits import never_visited

# A word of general use ("accuracy", "budget") names one thing only together with what is around it: the share
# of other words that two longer sentences must have in common, by how many words led to them.
_AGREE = {1: 0.34, 2: 0.2}
_AGREE_GENERAL = 0.5
_SHORT = 4
_CALLED = lazy_pattern(
    rf"\b(?:{'|'.join(sorted(PEOPLE))}),?\s+(\p{{Lu}}[\p{{L}}\p{{M}}]+)"
)  # "my sister Ann"
_EITHER = lazy_pattern(r"((?:[\p{L}\p{N}]+\s+){1,2})or((?:\s+[\p{L}\p{N}]+){1,2})", regex.IGNORECASE)
_MOST_AROUND = 4  # words around the one that is said to be over


def takes_place(change: Change, older: StatedClause, *, near: bool, general: bool = False) -> float:
    """How surely the change takes the older clause's place; 0 where it does not.

    `near`: both are of one session, a few messages apart. `general`: the words that they
    share stand together in many sentences, and name no single thing.
    """
    new = change.clause
    if change.rule == "condition":
        return _ends_condition(change, older)
    if change.rule == "visited":
        return 2.0 if never_visited(older) == change.subject else 0
    named = change.rule == "contrast" and not new.owners and not new.is_own  # "the wedding"
    if (not named and not _same_owner(new, older)) or (not holds_now(older) and change.rule != "amended"):
        return 0
    if change.rule in ("contrast", "ended"):
        return _names_old(change, older, near=near)
    if change.rule == "role":
        theirs = ROLE.search(older.text)
        return 2.0 if theirs and not older.past and change.taken.isdisjoint(meaning(theirs["role"])) else 0
    if change.rule == "dropped":
        decided = INTENDS.search(older.text) and older.is_own and not older.denies
        return float(len(change.subject)) if decided and change.subject <= older.terms | older.names else 0
    if change.rule == "flipped":
        return _flips(change, older)
    if change.rule == "frame":
        if new.values and older.values and of_two_things(new, new.values[-1], older, older.values[-1]):
            return 0
        fits = frame_fits(older, new, general=general and not near)
        alike = near or fits >= 2 or _agreement(older, new, new.terms & older.context) >= _AGREE_GENERAL
        return fits if alike else 0
    assert change.value is not None
    if change.rule == "amended":
        return _amends(change, older) if near else 0
    values = [value for value in older.values if _comparable(value, change.value)]
    if (
        not values
        or any(_same(value, change.value) for value in values)
        or _restates(older, new, change.value)
    ):
        return 0
    if not any(_leads_to(value, change) for value in values):
        return 0
    if change.rule != "contact" and all(of_two_things(new, change.value, older, value) for value in values):
        return 0
    if change.rule == "state":
        return 2.0 if _is_same_state(change, older) else 0
    if change.rule == "contact":
        return 2.0 if older.is_own and new.terms - MEANS <= older.terms else 0
    if change.rule == "tally":
        return _tallies(change, older)
    if change.rule == "slot":
        mine = [
            value
            for value in values
            if (m := SLOT.search(older.text, 0, value.start)) and meaning(m["np"]) == change.subject
        ]
        return 2.0 if mine else 0
    if change.rule == "rent":
        return 1.0 if older.is_own and not older.past and _is_much_like(values[0], change.value) else 0
    if older.past and change.rule == "now" and change.value.kind != "name":
        return 0
    return _of_one_subject(change, older, near=near, general=general)


def _ends_condition(change: Change, older: StatedClause) -> float:
    """Whether the older clause is on the other side; where both name somebody, they name the same one."""
    if older.past or not holds_now(older):
        return 0
    keys = {key_of_condition(name, side) for name, side in condition_of(older).items()}
    who = beside_me(change.clause)
    theirs = older.names
    ours = change.clause.names | (
        frozenset(terms(who)) if who[:1].isupper() and " " not in who else frozenset()
    )
    apart = "~partner" in min(change.subject) and theirs and ours and theirs.isdisjoint(ours)
    return 2.0 if change.subject <= keys and not apart else 0


def may_be_of_one_thing(newer: StatedClause, older: StatedClause, *, near: bool) -> bool:
    """Whether two clauses can be about the same thing: what a model is worth asking about them.

    They share two words of content, or all that the newer one has; or one, and a kind of value or the time
    at which they were said. What is said right after the other may leave words out ("it is at eight now").
    """
    if not holds_now(older):
        return False
    stated = newer.terms | newer.names | newer.value_terms | newer.lead
    shared = len(stated & (older.terms | older.names | older.value_terms | older.lead))
    alike = bool({value.kind for value in newer.values} & {value.kind for value in older.values})
    return shared >= min(2, len(stated) or 1) or (shared > 0 and (near or alike)) or (near and alike)


def _same_owner(new: StatedClause, older: StatedClause) -> bool:
    """Whether both are of one: "my brother" and "my brother with his kids", "Noor" and "my friend Noor".

    "My sister Ann" and "my sister Eva" are two.
    """
    called = [{match[1] for match in _CALLED.finditer(clause.text)} for clause in (new, older)]
    if all(called) and called[0].isdisjoint(called[1]):
        return False
    if new.owners == older.owners:
        return True
    if new.owners and older.owners:
        return new.owners <= older.owners or older.owners <= new.owners
    first = words(new.text)[:1]
    is_name = new.text.lstrip()[:1].isupper() and not new.owners and first and first[0] not in STOP_WORDS
    return bool(is_name and older.owners <= PEOPLE and set(terms(first[0])) & older.names)


def _leads_to(old: Value, change: Change) -> bool:
    """Whether the change can start from this value: the one that it names, and lower where it rises."""
    new = change.value
    assert new is not None
    before = change.clause.text[: new.start]
    if (match := FROM.search(before)) and old.norm not in {
        v.norm for v in change.clause.values if match.start() <= v.start < new.start
    }:
        return False
    if change.rises is not None and (a := _number(old)) is not None and (b := _number(new)) is not None:
        return b > a if change.rises else b < a
    return True


def _number(value: Value) -> float | None:
    try:
        return None if value.kind in ("clock", "day", "phone", "name", "address") else float(value.norm)
    except ValueError:
        return None


def _is_same_state(change: Change, older: StatedClause) -> bool:
    who = who_is_in_state(older)
    return state_of(older) in change.subject and (bool(who & change.who) if who or change.who else True)


def _of_one_subject(change: Change, older: StatedClause, *, near: bool, general: bool) -> float:
    assert change.value is not None
    theirs = older.terms | older.names | older.lead
    ours = change.subject
    shared = ours & theirs
    missing = ours - theirs - older.context
    extra = older.terms - ours - change.clause.terms
    if not ours:  # "I'm down to 85 kg"
        return 1.0 if len(older.terms) <= 2 and older.is_own and change.clause.is_own else 0
    if not shared:
        return 0
    if missing & change.clause.names and (older.names - ours):
        return 0
    unit = change.value.kind[3:] if change.value.kind.startswith("of ") else ""
    if not (shared - {unit}) and missing:
        return 0
    if missing and extra and not shared & change.clause.names and len(shared) < 3:
        at = min(value.start for value in older.values if _comparable(value, change.value))
        if meaning(older.text[:at]) & extra:  # each says what it is of, and not the same
            return 0
    subject = shared - _HOLDING if change.clause.is_foreign else shared
    if missing and (len(subject) < 2 or len(missing) > len(subject)):
        return 0
    if _number(change.value) is not None and bool(AIMS.search(older.text)) != bool(
        AIMS.search(change.clause.text)
    ):
        return 0  # what is aimed at, and what there is
    if change.value.kind == "number" and not any(
        value.kind != "number"
        or IS.search(older.text[: value.start])
        or HAS_OF.search(older.text[: value.start])
        for value in older.values
    ):
        return 0
    common = (older.context & change.clause.context) - shared
    if not near:
        whole = f"{older.before} {older.text}" if older.lead else older.text
        if len(shared) == 1 and not _same_words(shared, change.clause.text, whole):
            return 0
        if _names_old_value(change, older):
            return float(len(shared))
        if general and _agreement(older, change.clause, shared) < _AGREE_GENERAL:
            return 0
        if (
            len(shared - {unit}) < 3
            and _agreement(older, change.clause, shared) < _AGREE[min(len(shared), 2)]
        ):
            return 0
    return len(shared) - 0.5 * len(missing) - 0.1 * len(extra) + 0.2 * len(common)


# Verbs that say a value in other languages: both "kostet", and the one is a course and the other its book.
_HOLDING = frozenset(
    terms("kostet kosten beträgt dauert beginnt cuesta cuestan dura empieza coûte coûtent dure commence")
    + terms("custa custam começa")
)


def _names_old_value(change: Change, older: StatedClause) -> bool:
    """Whether the newer sentence has the older name too: "Dr Anand is off, so my tutor is Ms Lee now"."""
    assert change.value is not None
    return change.value.kind == "name" and any(
        frozenset(terms(value.norm)) <= change.clause.context
        for value in older.values
        if value.kind == "name" and value.norm != change.value.norm
    )


def _agreement(older: StatedClause, new: StatedClause, shared: frozenset[str]) -> float:
    """How far two sentences are about one matter, beside the words that led there; 1 when short."""
    theirs, ours = older.context - shared, new.context - shared
    fewer = min(len(theirs), len(ours))
    return 1.0 if fewer < _SHORT else len(theirs & ours) / fewer


def _same_words(shared: frozenset[str], left: str, right: str) -> bool:
    """Whether the same word stands in both, not only one of its family: "savings" is not "saved"."""
    both = [
        {word.removesuffix("s") for word in words(text) if shared & set(terms(word))}
        for text in (left, right)
    ]
    return bool(both[0] & both[1])


def _restates(older: StatedClause, new: StatedClause, value: Value) -> bool:
    """Whether the earlier sentence says the new value already."""
    wanted = regex.escape(new.text[value.start : value.end].strip(" .").casefold())
    return bool(
        regex.search(rf"(?<![\p{{L}}\p{{N}}]){wanted}(?![\p{{L}}\p{{N}}])", older.sentence.casefold())
    )


def _is_one_choice(value: frozenset[str], text: str) -> bool:
    """Whether a text weighs it with something else, "sage or navy": that was never so, and cannot be over."""
    return any(value & set(terms(beside[1] + " " + beside[2])) for beside in _EITHER.finditer(text))


def _names_old(change: Change, older: StatedClause, *, near: bool) -> float:
    theirs = older.terms | older.names | older.value_terms
    wanted = change.needs
    if (
        change.rule == "ended"
        and not change.clause.is_foreign  # in German every noun is written as a name
        and change.subject & change.clause.names
        and len(change.subject) < 4
    ):
        wanted = change.subject & change.clause.names  # "the Portugal trip": whatever it was called before
    if older.denies or not wanted <= theirs:
        return 0
    if change.rule == "ended":
        if older.past or not change.who <= older.names | older.terms:
            return 0
        if change.leaves:
            return float(len(change.subject)) if WORKS.search(older.text) else 0
        plain = len(change.subject) == 1 and not change.subject & change.clause.names
        if plain and (not older.is_own or len(older.terms) > _MOST_AROUND):
            return 0
        return float(len(change.subject))
    if (change.taken - change.old) & older.context or _is_one_choice(change.old, older.text):
        return 0
    rest = change.subject & (older.terms | older.names)
    if change.clause.is_foreign and 2 * len(rest) < len(change.subject):
        return 0
    if not rest and not (change.taken and older.is_own and change.clause.is_own and _uses(older, change.old)):
        return 0
    if any(
        _restates(older, change.clause, v)
        for v in change.clause.values
        if v.kind != "name" and not set(terms(v.norm)) & change.old
    ):
        return 0
    if all(term[0].isdigit() for term in change.old):
        named = [
            v for v in older.values if change.old & set(terms(older.text[v.start : v.end].replace(",", "")))
        ]
        if not any(
            _comparable(v, ours) or ours.kind == "number" for v in named for ours in change.clause.values
        ) or len(rest) < min(2, len(change.subject)):
            return 0
        of_unit = any(v.kind.startswith("of ") and v.kind[3:] in rest for v in named)
        if not (near or of_unit) and _agreement(older, change.clause, frozenset()) < _AGREE_GENERAL:
            return 0
    return 1.0 + len(rest)


def _uses(older: StatedClause, old: frozenset[str]) -> bool:
    """Whether a clause says that somebody has or uses what is named."""
    return any(
        value.kind == "name"
        and old == frozenset(terms(value.norm))
        and USES.search(older.text, 0, value.start)
        for value in older.values
    )


def _flips(change: Change, older: StatedClause) -> float:
    ours, theirs = change.subject, older.terms | older.names
    if change.denies == older.denies or len(ours & theirs) < 2 or not (ours <= theirs or theirs <= ours):
        return 0
    return float(len(ours & theirs))


def _tallies(change: Change, older: StatedClause) -> float:
    assert change.value is not None
    mine = TALLY.search(change.clause.text, 0, change.value.start)
    for value in older.values:
        if value.kind == change.value.kind and (theirs := TALLY.search(older.text, 0, value.start)):
            verb = meaning(mine["verb"]) if mine else frozenset()
            ours = change.clause.terms - verb
            if verb != meaning(theirs["verb"]) or change.clause.names ^ older.names:
                continue
            if not _more(change.value, value) or (ours and not ours & older.terms):
                continue
            shared = change.clause.context & older.context
            if _agreement(older, change.clause, shared - ours) >= _AGREE_GENERAL:
                return 1.0 + len(change.clause.terms & older.terms)
    return 0


def _amends(change: Change, older: StatedClause) -> float:
    assert change.value is not None
    bare = change.value.kind == "number"
    for value in older.values:
        of_kind = _dimension(value) == _dimension(change.value) or (
            bare and value.kind.startswith(("of ", "money", "number"))
        )
        if of_kind and value.norm != change.value.norm:
            if change.subject and not change.subject & (older.terms | older.names):
                continue
            return 1.0
    return 0


def _comparable(old: Value, new: Value) -> bool:
    """Of one kind; a bare number may be of anything that is counted."""
    return old.kind == new.kind or ("number" in (old.kind, new.kind) and "money" in (old.kind, new.kind))


def _same(value: Value, other: Value) -> bool:
    return (
        value.norm == other.norm
        or (
            value.kind == "name"
            and (
                set(value.norm.split()) <= set(other.norm.split())
                or set(other.norm.split()) <= set(value.norm.split())
            )
        )
        or (
            value.kind == "day"
            and (
                set(value.norm.split()) <= set(other.norm.split())
                or set(other.norm.split()) <= set(value.norm.split())
            )
        )
    )


def _dimension(value: Value) -> str:
    """The kind, and one for all units of time: an amendment may say minutes for hours."""
    return "time" if value.kind in DURATION else value.kind


def _is_much_like(old: Value, new: Value) -> bool:
    before, after = _number(old), _number(new)
    return bool(before and after and 0.5 <= after / before <= 2)


def _more(new: Value, old: Value) -> bool:
    try:
        return float(new.norm) > float(old.norm)
    except ValueError:
        return False
