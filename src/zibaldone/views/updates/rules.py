"""Which clause says that another one no longer holds: offline, and only where the words leave little doubt.

A clause is read for *changes*: a value that something has now, and what it is of. A change takes the place of
an earlier clause of the same owner, on the same subject, with another value of the same kind. The rules, each
with what it needs:

- `changed`: a verb of change leads to the value ("moved the review to Thursday", "went up to 1,020");
- `now`: the value with a word for from now on ("is Dr. Lee now", "on Sundays from now on");
- `new`: the changed thing is called so ("our increased budget of $50", "a new landlord, Mrs. Petrova");
- `contrast`: the old value is named ("in June, not May", "from Vue to Svelte", "orange instead of blue");
- `ended`: what was is said to be over ("quit Acme", "no longer use Zoom", "cancelled the trip");
- `flipped`: the same words, denied where they were not, or the other way round ("I drink coffee again");
- `tally`: one more count of the same doing ("I have solved 15 problems by now");
- `slot`: another value of what has one ("my email is ...");
- `amended`: right after it, and of nothing but the value ("make that 30", "sorry, at eight").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from zibaldone.text.words import STOP_WORDS, term_of, terms, words
from zibaldone.views.updates.clauses import Clause, Value, is_measure, light

_I = regex.IGNORECASE | regex.VERBOSE
_CHANGE = regex.compile(
    r"""\b(?:moved|changed|rescheduled|postponed|delayed|shifted|extended|prolonged|shortened|increased|raised|upped
    |bumped|lowered|reduced|decreased|adjusted|updated|upgraded|downgraded|renamed|switched|revised|corrected|grown
    |grew|improved|expanded|climbed|risen|rose|fallen|fell|dropped|went|cut|turned|renewed|reset|pushed|brought
    |hit|reached|transferred|relocated|down|up|converted)\b""",
    _I,
)
_TOWARDS = regex.compile(
    r"""(?P<np>.{0,80}?)\b(?:(?:from\s+(?P<from>.{1,40}?)\s+)?(?:up\s+|down\s+|back\s+|forward\s+|over\s+|out\s+|now\s+)*(?:to|at|until)
    |(?<=hit|reached))\s+(?:just\s+|only\s+|about\s+|around\s+|the\s+|next\s+|this\s+|a\s+|an\s+|early\s+|late\s+|mid-?\s*|almost\s+|over\s+|platform\s+)*""",
    _I,
)
_HIT = regex.compile(r"\s*(?:about\s+|over\s+|almost\s+|the\s+)*", _I)
_NOW = regex.compile(
    r"""(?<!\bright\s)\bnow\b(?!\s+that\b)|\bthese\s+days\b|\bnowadays\b|\bfrom\s+(?:now|today|this\s+\w+|tomorrow|next\s+\w+)(?:\s+on)?\b
    |\bas\s+of\s+(?:today|now|this\s+\w+)\b|\binstead\b(?!\s+of)|\bcorrection\b|\bturns\s+out\b|\bat\s+the\s+moment\b|\bfor\s+now\b""",
    _I,
)
_BARE_IMPERATIVE_NOW = regex.compile(
    r"\W*(?:and\s+|ok\s+|okay\s+)?now\s*,?\s+(?!(?:i|we|my|our|the|it|they|there|he|she|that)\b)", _I
)
_NEW = regex.compile(
    r"""\b(?:new|increased|updated|extended|adjusted|revised|reduced|lowered|raised|higher|lower|improved|rescheduled)\s+
    (?P<np>(?:[\p{L}-]+\s+){0,6}?[\p{L}-]+)\s*(?:,|:|\s+(?:is|are|of|will\s+be|to)\b)\s*(?:just\s+|now\s+|the\s+|at\s+|on\s+)*""",
    _I,
)
_IS = regex.compile(
    r"""(?:\b(?:is|are|am|has|have|got|weighs?|costs?|takes?|starts?|begins?|leaves?|runs?|lasts?|meets?|earns?|pay|expires?|comes?
    |arrives?|goes|call\s+me|use|be|live|drive|valid\s+for)\b|['’](?:s|re|m)\b)\s*
    (?:(?:now|currently|already|at|on|in|the|an?|about|around|only|just|down|up|back|to|for|from|platform|under|until|called|named|due|held|set|every)\s+)*$""",
    _I,
)
_DURATION = frozenset("of day|of night|of week|of month|of year|of hour|of minute|of second".split("|"))
_SPAN_BEFORE = regex.compile(
    r"\b(?:for|in|after|past|last|within|since|another|every|about|over|than|ago|by|next|first)\s+(?:the\s+|just\s+|about\s+|over\s+|almost\s+|past\s+|last\s+)*$",
    _I,
)
_CONTRAST = (
    regex.compile(
        r"(?<!\b(?:is|was|are|'m|am|or|if|why|do|did|does|have|has|had|could|would|should|can|will)\s)(?:,\s*|\band\s+|\bbut\s+)not\s+(?!only\b|just\b|to\b|so\b|sure\b|yet\b|even\b|because\b|that\b|really\b|too\b|as\b)(?:the\s+|a\s+|an\s+|in\s+|on\s+|at\s+)*(?P<old>(?:[^,.;!?]|[.,](?=\d)){1,40})",
        _I,
    ),
    regex.compile(
        r"\binstead\s+of\s+(?:taking\s+|using\s+|the\s+|our\s+|my\s+|a\s+|an\s+|in\s+|on\s+|at\s+)*(?P<old>(?:[^,.;:!?]|[.,:](?=\d)){1,40})",
        _I,
    ),
    regex.compile(
        r"\b(?:moved|switched|changed|renamed|migrated|went|rescheduled|transferred|relocated|converted|increased|raised|reduced|lowered|extended|cut)\b[^.;!?]{0,60}?\bfrom\s+(?:the\s+|my\s+|our\s+)?(?P<old>(?:[^,.;:!?]|[.,:](?=\d)){1,40}?)\s+(?:over\s+)?to\s+\S",
        _I,
    ),
)
_ENDED = regex.compile(
    r"""\b(?:(?P<never>no\s+longer)
    |(?:(?:i|we)(?:['’]ve|\s+have)?\s+(?:just\s+|finally\s+|actually\s+|already\s+|decided\s+to\s+|had\s+to\s+)*|^\W*|\band\s+|\bso\s+)
     (?P<verb>cancell?(?:ed)?|called\s+off|gave\s+up(?:\s+on)?|given\s+up(?:\s+on)?|give\s+up|sold|sell|abandoned|quit|ditched|scrapped|got\s+rid\s+of|get\s+rid\s+of|left|stopped|dropped|deleted|uninstalled)\b)""",
    _I,
)
_ANYMORE = regex.compile(r"\b(?:any\s?more|any\s+longer)\b", _I)
_OBJECT = regex.compile(
    r"\s+(?P<object>[^,.;:!?]{2,60}?)(?=\s+(?:and|because|since|after|so|but|last|this|for|in|on|yesterday|today|to|due|when|as|with|at)\b|[,.;:!?]|$)",
    _I,
)
_OFF = regex.compile(
    r"\bthe\s+(?P<object>[\p{L}\s-]{2,40}?)\s+(?:is|was|got|has\s+been)\s+(?:off|cancell?ed|called\s+off)\b",
    _I,
)
_BACK = regex.compile(r"\b(?:again|after\s+all|any\s?more|no\s+longer|any\s+longer|back\s+to)\b", _I)
_TALLY = regex.compile(
    r"""\b(?:i|we)(?:['’]ve|\s+have)\s+(?:now\s+|already\s+|successfully\s+|just\s+|only\s+|so\s+far\s+)*(?P<verb>[\p{L}]{3,12}(?:ed|en|d|t|ne))\s+
    (?:about\s+|around\s+|over\s+|all\s+|a\s+total\s+of\s+|only\s+|almost\s+|up\s+to\s+)*$""",
    _I,
)
_SLOT = regex.compile(
    r"^\W*(?:so|and|but|well|also|ok|okay|by\s+the\s+way|btw)?,?\s*(?:my|our)\s+(?P<np>(?:[\p{L}-]+\s+){0,3}?[\p{L}-]+)\s+(?:is|are)\s+(?:at\s+|about\s+|around\s+)?$",
    _I,
)
_AMENDED = regex.compile(
    r"""^\W*(?:(?:oh|ah|no|hm+|ok|okay|sorry|wait|actually|scratch\s+that|correction|my\s+(?:bad|mistake)|oops|i\s+mean(?:t)?|on\s+second\s+thought|hold\s+on|forget\s+that|let['’]?s|no\s+wait|and|but|please)\W+)*
    (?:(?P<make>(?:make|let['’]?s\s+make|can\s+you\s+make|better\s+make)\s+(?:that|it))|(?P<sorry>(?:no\s+wait|wait|actually|scratch\s+that|correction|sorry|oops|i\s+meant|i\s+mean|no|on\s+second\s+thought)\b))""",
    _I,
)
_AS_NAME = regex.compile(
    r"\b(?:is|it['’]s|that['’]s|call|called|named|at|in|to|with|meant|mean|make)\s+(?:me\s+|it\s+|that\s+|the\s+)*$",
    _I,
)
_BETTER = regex.compile(
    r"^\W*(?:(?:actually|hm+|sorry|oh|wait|no)\W+)*(?:.{0,20}?)\b(?:works?|is|would\s+be|suits?)\s+better\b",
    _I,
)
_FROM = regex.compile(
    r"\bfrom\s+(?:the\s+|about\s+|just\s+)*(?:[$€£]?\d|\w+day\b)[^,;]{0,30}?\s(?:up\s+|down\s+)?to\s+(?:just\s+|only\s+|about\s+)*$",
    _I,
)
_RISES = regex.compile(
    r"\b(?:increased?|raised?|upped|extended|prolonged|grow\w*|grew|risen|rose|climbed|higher|up\s+to)\b", _I
)
_FALLS = regex.compile(
    r"\b(?:lowered|reduced|decreased|cut|shortened|fallen|fell|down\s+to|lower|dropped)\b", _I
)
_AIMS = regex.compile(
    r"\b(?:goals?|targets?|aim(?:ing|s|ed)?|hoping|objective|limit|cap|max(?:imum)?|minimum)\b", _I
)
_OF_WHAT = regex.compile(
    r"\s+(?:for|on)\s+(?P<what>(?!me\b|now\b|us\b)[^,.;:!?]{2,50}?)(?=\s+(?:by|from|until|starting|due|in|at)\b|[,.;:!?]|$)",
    _I,
)
_SAYS_AGAIN = regex.compile(r"\bstill\b|\bas\s+planned\b|\bremains?\b|\bsame\b|\bnot\s+changed\b", _I)
_FORMER = regex.compile(
    r"\b(?:used\s+to|formerly|previously|originally|in\s+the\s+past|back\s+then|until\s+recently|once)\b", _I
)
# A clause after one of these tells what came of it: "we changed the carrier, shipping takes 3 days".
_NEWS = regex.compile(
    r"""\b(?:changed?|moved|reschedule[ds]?|postponed|extension|renewed|switched|corrected|correction|misread|misheard
    |upgraded|dropped\s+out|update\s+on|turns\s+out|raise|promotion|promoted|re-?org\w*|brought\s+forward|delayed)\b""",
    _I,
)
_HINT = regex.compile(
    r"""\b(?:any\s?more|instead|actually|not|quit|left|new|again|back|already|finally|decided|cancel\w*|sold
    |stopped)\b|n['’]t\b""",
    _I,
)
_WRONGLY = regex.compile(r"\b(?:wrong(?:ly)?|mistaken(?:ly)?|mistake|error|mis(?!s\b|sed\b)\p{L}{4,})\b", _I)
_MISTAKEN = regex.compile(r"\b(?:misread|misheard|mistyped|sorry|wait|my\s+mistake|i\s+was\s+wrong)\b", _I)


# A word of general use ("accuracy", "budget") names one thing only together with what is around it: the share of
# other words that two longer sentences have in common, where so many words are shared.
_AGREE = {1: 0.34, 2: 0.2}
_AGREE_GENERAL = 0.5
_SHORT = 4
_LONGEST_AMENDMENT = 14  # words


@dataclass(frozen=True, slots=True)
class Change:
    """What a clause says has changed."""

    rule: str
    clause: Clause
    value: Value | None = None
    subject: frozenset[str] = frozenset()  # terms: what the value is of, or what is over
    old: frozenset[str] = frozenset()  # terms of the old value, where it is named
    denies: bool = False
    rises: bool | None = None  # whether the value became greater; None where nothing is said of it

    @property
    def needs(self) -> frozenset[str]:
        """Terms by which earlier clauses are looked up: one at least is shared."""
        return self.old or self.subject


def changes(clause: Clause) -> Iterator[Change]:
    """What the clause says has changed, most explicit first."""
    if clause.supposes or clause.adds or _SAYS_AGAIN.search(clause.text):
        return
    text = clause.text
    if clause.asks:
        yield from _granted(clause)
        return
    yield from _contrasts(clause)
    yield from _endings(clause)
    if _BACK.search(text):
        first = text.partition(",")[0]
        if _BACK.search(first) and (subject := _meaning(first)):
            denies = regex.search(r"\b(?:no|not|never|\p{L}+n['’]t)\b", first, regex.I)
            yield Change("flipped", clause, None, subject, denies=bool(denies))
    now = (_NOW.search(text) and not _BARE_IMPERATIVE_NOW.match(text)) or _NEWS.search(clause.before)
    for value in clause.values:
        if (subject := _changed(clause, value)) is not None:
            yield Change("changed", clause, value, subject, rises=_rises(clause, value))
        elif now and (subject := _held_now(clause, value)):
            yield Change("now", clause, value, subject)
        elif (match := _TALLY.search(text, 0, value.start)) and _counts(value):
            yield Change("tally", clause, value, clause.terms | {value.kind[3:]})
        elif match := _SLOT.search(text, 0, value.start):
            if value.kind not in ("day", "clock") and not clause.past and not clause.owners:
                yield Change("slot", clause, value, _meaning(match["np"]))
    yield from _granted(clause)
    if len(clause.sentence.split()) > _LONGEST_AMENDMENT:
        return
    match = _AMENDED.match(text)
    if match or _BETTER.match(text) or (clause.before and _MISTAKEN.search(clause.before)):
        for value in clause.values:
            if value.kind == "name" and not _AS_NAME.search(text[: value.start]):
                continue
            if match and match["make"] is None and not _BETTER.match(text) and len(clause.terms) > 2:
                continue
            if (
                match
                and match["make"] is None
                and not _BETTER.match(text)
                and len(text[match.end() : value.start].split()) > 4
            ):
                continue
            yield Change("amended", clause, value, clause.terms)
            break


def may_change(clause: Clause) -> bool:
    """Whether a clause has a word of change, of whatever: what a model is worth asking for."""
    return not clause.asks and bool(
        _NOW.search(clause.text) or _CHANGE.search(clause.text) or _HINT.search(clause.text)
    )


def holds_now(clause: Clause) -> bool:
    """Whether an earlier clause states something that can stop holding."""
    return not clause.asks and not clause.supposes and not _FORMER.search(clause.text)


def takes_place(change: Change, older: Clause, *, near: bool, general: bool = False) -> float:
    """How surely the change takes the older clause's place; 0 where it does not.

    `near`: both are of one session, a few messages apart. `general`: the words that they
    share stand together in many sentences, and name no single thing.
    """
    new = change.clause
    named = change.rule == "contrast" and not new.owners and not new.is_own  # "the wedding"
    if (new.owners != older.owners and not named) or (not holds_now(older) and change.rule != "amended"):
        return 0
    if change.rule in ("contrast", "ended"):
        return _names_old(change, older, near=near)
    if change.rule == "flipped":
        return _flips(change, older)
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
    if change.rule == "tally":
        return _tallies(change, older)
    if change.rule == "slot":
        mine = [
            value
            for value in values
            if (m := _SLOT.search(older.text, 0, value.start)) and _meaning(m["np"]) == change.subject
        ]
        return 2.0 if mine else 0
    if older.past and change.rule == "now" and change.value.kind != "name":
        return 0
    return _of_one_subject(change, older, near=near, general=general)


def _leads_to(old: Value, change: Change) -> bool:
    """Whether the change can start from this value: the one that it names, and lower where it rises."""
    new = change.value
    assert new is not None
    before = change.clause.text[: new.start]
    if (match := _FROM.search(before)) and old.norm not in {
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


def _rises(clause: Clause, value: Value) -> bool | None:
    before = clause.text[: value.start]
    verbs = [(m.start(), True) for m in _RISES.finditer(before)] + [
        (m.start(), False) for m in _FALLS.finditer(before)
    ]
    return max(verbs)[1] if verbs else None


def _of_one_subject(change: Change, older: Clause, *, near: bool, general: bool) -> float:
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
        if _meaning(older.text[:at]) & extra:  # each says what it is of, and not the same
            return 0
    if missing and (len(shared) < 2 or len(missing) > len(shared)):
        return 0
    if _number(change.value) is not None and bool(_AIMS.search(older.text)) != bool(
        _AIMS.search(change.clause.text)
    ):
        return 0  # what is aimed at, and what there is
    if change.value.kind == "number" and not any(
        value.kind != "number" or _IS.search(older.text[: value.start]) for value in older.values
    ):
        return 0
    common = (older.context & change.clause.context) - shared
    if not near:
        if len(shared) == 1 and not _same_words(shared, change.clause.text, older.text):
            return 0
        if general and _agreement(older, change.clause, shared) < _AGREE_GENERAL:
            return 0
        if (
            len(shared - {unit}) < 3
            and _agreement(older, change.clause, shared) < _AGREE[min(len(shared), 2)]
        ):
            return 0
    return len(shared) - 0.5 * len(missing) - 0.1 * len(extra) + 0.2 * len(common)


def _agreement(older: Clause, new: Clause, shared: frozenset[str]) -> float:
    """How far two sentences are about one matter, besides the words by which they were found; 1 when short."""
    theirs, ours = older.context - shared, new.context - shared
    fewer = min(len(theirs), len(ours))
    return 1.0 if fewer < _SHORT else len(theirs & ours) / fewer


def _same_words(shared: frozenset[str], one: str, other: str) -> bool:
    """Whether the same word stands in both, not only one of its family: "savings" is not "saved"."""
    both = [
        {word.removesuffix("s") for word in words(text) if shared & set(terms(word))} for text in (one, other)
    ]
    return bool(both[0] & both[1])


def _restates(older: Clause, new: Clause, value: Value) -> bool:
    """Whether the earlier sentence says the new value already."""
    wanted = regex.escape(new.text[value.start : value.end].strip(" .").casefold())
    return bool(
        regex.search(rf"(?<![\p{{L}}\p{{N}}]){wanted}(?![\p{{L}}\p{{N}}])", older.sentence.casefold())
    )


def _names_old(change: Change, older: Clause, *, near: bool) -> float:
    theirs = older.terms | older.names | older.value_terms
    if older.denies or not change.needs <= theirs:
        return 0
    if change.rule == "ended":
        if older.past:
            return 0
        if len(change.subject) == 1 and not (change.subject & change.clause.names):
            if not older.is_own or len(older.terms) > 4:
                return 0
        return float(len(change.subject))
    rest = change.subject & (older.terms | older.names)
    if not rest or any(
        _restates(older, change.clause, v)
        for v in change.clause.values
        if v.kind != "name" and not set(terms(v.norm)) & change.old
    ):
        return 0
    if all(term[0].isdigit() for term in change.old):
        kinds = {v.kind for v in older.values if v.norm in change.old}
        if not kinds & {v.kind for v in change.clause.values} or len(rest) < min(2, len(change.subject)):
            return 0
        if _agreement(older, change.clause, frozenset()) < _AGREE_GENERAL and not near:
            return 0
    return 1.0 + len(rest)


def _flips(change: Change, older: Clause) -> float:
    ours, theirs = change.subject, older.terms | older.names
    if change.denies == older.denies or len(ours & theirs) < 2 or not (ours <= theirs or theirs <= ours):
        return 0
    return float(len(ours & theirs))


def _tallies(change: Change, older: Clause) -> float:
    assert change.value is not None
    mine = _TALLY.search(change.clause.text, 0, change.value.start)
    for value in older.values:
        if value.kind == change.value.kind and (theirs := _TALLY.search(older.text, 0, value.start)):
            same_verb = mine and _meaning(mine["verb"]) == _meaning(theirs["verb"])
            ours = change.clause.terms - _meaning(mine["verb"] if mine else "")
            shared = change.clause.context & older.context
            if same_verb and _more(change.value, value) and not change.clause.names ^ older.names:
                if (not ours or ours & older.terms) and _agreement(
                    older, change.clause, shared - ours
                ) >= 0.5:
                    return 1.0 + len(change.clause.terms & older.terms)
    return 0


def _amends(change: Change, older: Clause) -> float:
    assert change.value is not None
    bare = change.value.kind == "number"
    for value in older.values:
        of_kind = value.kind == change.value.kind or (
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


def _same(one: Value, other: Value) -> bool:
    return (
        one.norm == other.norm
        or (
            one.kind == "name"
            and (
                set(one.norm.split()) <= set(other.norm.split())
                or set(other.norm.split()) <= set(one.norm.split())
            )
        )
        or (one.kind == "day" and (one.norm in other.norm or other.norm in one.norm))
    )


def _counts(value: Value) -> bool:
    return value.kind.startswith("of ") and not is_measure(value.kind[3:])


def _more(new: Value, old: Value) -> bool:
    try:
        return float(new.norm) > float(old.norm)
    except ValueError:
        return False


def _changed(clause: Clause, value: Value) -> frozenset[str] | None:
    """What a verb of change brings to this value; None where none does."""
    for verb in _CHANGE.finditer(clause.text, 0, value.start):
        between = clause.text[verb.end() : value.start]
        if verb[0].casefold() in ("hit", "reached"):
            if _HIT.fullmatch(between):
                return _subject(clause, clause.text[: verb.start()], value)
            continue
        match = _TOWARDS.fullmatch(between)
        if not match:
            continue
        if (
            verb[0].casefold() in ("went", "gone", "got", "moved", "down", "up", "turned", "reached")
            and value.kind == "name"
        ):
            if verb[0].casefold() != "moved" or not match["np"].strip():
                continue
        object_ = _meaning(match["np"])
        if object_:
            return _with_unit(object_, value)
        return _subject(clause, clause.text[: verb.start()], value)
    return None


def _held_now(clause: Clause, value: Value) -> frozenset[str]:
    """What has this value now."""
    before = clause.text[: value.start]
    if not (_IS.search(before) or regex.search(r"\b(?:instead|from\s+now\s+on)\b", clause.text, regex.I)):
        return frozenset()
    if _SPAN_BEFORE.search(before) and not _IS.search(before):
        return frozenset()
    if value.kind in _DURATION and not regex.search(
        r"\b(?:is|are|takes?|lasts?|valid\s+for)\s+(?:about\s+|just\s+|only\s+|now\s+)*$", before, regex.I
    ):
        return frozenset()
    if clause.past:
        return frozenset()
    if value.kind == "name" and not regex.search(
        r"\b(?:is|are|['’]s|called|named)\s+(?:now\s+|currently\s+)?(?:the\s+|at\s+|in\s+)?$", before, regex.I
    ):
        return frozenset()
    return _subject(clause, clause.text, value)


def _granted(clause: Clause) -> Iterator[Change]:
    """What is called new or changed on the way, also in a question."""
    for match in _NEW.finditer(clause.text):
        for value in clause.values:
            if value.start != match.end() or not (subject := _meaning(match["np"])):
                continue
            if "," in clause.text[match.end("np") : value.start] and clause.text[value.end :].strip(" .!"):
                continue  # "my new sneakers, Maureen advised me ..."
            if of := _OF_WHAT.match(clause.text, value.end):
                subject |= _meaning(of["what"])
            yield Change("new", clause, value, _with_unit(subject, value), rises=_rises(clause, value))


def _subject(clause: Clause, text: str, value: Value) -> frozenset[str]:
    own = (
        _meaning(
            regex.sub(
                r"^.{0,30}\b(?:that|saw|heard|learned|told\s+me|found\s+out|noticed|reali[sz]ed)\s", "", text
            )
        )
        - clause.value_terms
    )
    return _with_unit(own & (clause.terms | clause.names) or clause.lead, value)


def _with_unit(subject: frozenset[str], value: Value) -> frozenset[str]:
    unit = value.kind[3:] if value.kind.startswith("of ") else ""
    return subject | {unit} if unit and not is_measure(unit) else subject


def _contrasts(clause: Clause) -> Iterator[Change]:
    if _WRONGLY.search(clause.text):
        return
    for pattern in _CONTRAST:
        for match in pattern.finditer(clause.text):
            old = frozenset(terms(regex.sub(r"(?<=\d),(?=\d)", "", match["old"])))
            rest = clause.terms | clause.names | clause.lead
            if old and len(old) <= 4:
                yield Change("contrast", clause, None, rest - old, old)


def _endings(clause: Clause) -> Iterator[Change]:
    text = clause.text
    if _ANYMORE.search(text) and clause.denies:
        yield Change("ended", clause, None, clause.terms | clause.names)
        return
    for match in _ENDED.finditer(text):
        if match["never"]:
            object_ = regex.match(r"[^,.;:!?]*", text, pos=match.start())
            whole = _meaning(text[: match.start()] + (object_[0] if object_ else ""))
            yield Change("ended", clause, None, whole)
        elif object_ := _OBJECT.match(text, match.end()):
            verb = match["verb"].casefold()
            what = _meaning(object_["object"])
            mine = regex.match(r"(?:my|our|the)\b", object_["object"], regex.I)
            if verb in ("left", "dropped", "quit") and not what & clause.names:
                continue
            if verb.startswith(("sold", "sell", "cancel", "delete")) and not mine:
                continue
            if verb == "stopped" and not regex.match(r"\p{L}+ing\b", object_["object"]):
                continue
            if what:
                yield Change("ended", clause, None, what)
    for match in _OFF.finditer(text):
        if what := _meaning(match["object"]):
            yield Change("ended", clause, None, what)


def _meaning(text: str) -> frozenset[str]:
    return frozenset(term for term in terms(text) if not light(term) and not term.isdecimal())
