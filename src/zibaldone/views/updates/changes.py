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
- `state`: where one lives, works or learns, and where a thing is ("I moved to Bristol");
- `condition`: what excludes what was (`conditions`: "I'm single again", "I eat meat again");
- `visited`: where somebody had never been (`visits`: "we went to Japan");
- `contact`: another telephone number or address;
- `dropped`: something was wanted or decided, and minds have changed about it;
- `frame`: the same words with something else in one place, said with a word of change (`frames`);
- `amended`: right after it, and of nothing but the value ("make that 30", "sorry, at eight").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms
from zibaldone.views.updates.clauses import StatedClause, Value, is_measure, meaning
from zibaldone.views.updates.conditions import key_of_condition, turned_to
from zibaldone.views.updates.cues import (
    AMENDED,
    ANYMORE,
    ANYMORE_ELSEWHERE,
    AS_NAME,
    BACK,
    BARE_IMPERATIVE_NOW,
    BESIDE,
    BETTER,
    CHANGE,
    CHANGE_ELSEWHERE,
    CONTACT,
    CONTACTS,
    CONTRAST,
    CONTRAST_ELSEWHERE,
    DURATION,
    ENDED,
    FALLS,
    FORMER,
    HINT,
    HIT,
    IDLE,
    IS,
    IS_ELSEWHERE,
    MIND,
    MISTAKEN,
    NEW,
    NEWS,
    NOW,
    NOW_ELSEWHERE,
    OBJECT,
    OF_WHAT,
    OFF,
    OWN_ELSEWHERE,
    PAYS,
    PLACES,
    PUT_OFF,
    RISES,
    ROLE,
    SAYS_AGAIN,
    SLOT,
    SLOT_BEHIND,
    SPAN_BEFORE,
    STATES,
    TAKEN_UP,
    TALLY,
    TOWARDS,
    TOWARDS_ELSEWHERE,
    WRONGLY,
)
from zibaldone.views.updates.frames import frame_words, may_replace, opening_end
from zibaldone.views.updates.visits import visited

LONGEST_AMENDMENT = 14  # words
ROLE_KEY = "~role"


@dataclass(frozen=True, slots=True)
class Change:
    """What a clause says has changed."""

    rule: str
    clause: StatedClause
    value: Value | None = None
    subject: frozenset[str] = frozenset()  # terms: what the value is of, or what is over
    old: frozenset[str] = frozenset()  # terms of the old value, where it is named
    taken: frozenset[str] = frozenset()  # terms of the new value, after "from A to"
    denies: bool = False
    who: frozenset[str] = frozenset()  # terms of the name of who ended it, where it is not the speaker
    leaves: bool = False  # it ends that somebody works or belongs there
    rises: bool | None = None  # whether the value became greater; None where nothing is said of it

    @property
    def needs(self) -> frozenset[str]:
        """Terms by which earlier clauses are looked up: one at least is shared."""
        return self.old or self.subject


def changes(clause: StatedClause) -> Iterator[Change]:
    """What the clause says has changed, most explicit first."""
    text = clause.text
    last = max((value.end for value in clause.values), default=0)
    comment = text.find(", ", last)
    if clause.supposes or clause.adds or SAYS_AGAIN.search(text, 0, comment if comment > 0 else len(text)):
        return
    begins = opening_end(text)
    for name, side in turned_to(clause).items():
        yield Change("condition", clause, None, frozenset({key_of_condition(name, 1 - side)}))
    if place := visited(clause):
        yield Change("visited", clause, None, place)
    if clause.asks:
        yield from _granted(clause)
        return
    yield from _contrasts(clause)
    yield from _endings(clause)
    if BACK.search(text):
        first = text.partition(",")[0]
        if BACK.search(first) and (subject := meaning(first)):
            denies = regex.search(r"\b(?:no|not|never|\p{L}+n['’]t)\b", first, regex.I)
            yield Change("flipped", clause, None, subject, denies=bool(denies))
    if (match := ROLE.search(text)) and NOW.search(text) and not clause.past and not BESIDE.search(text):
        yield Change("role", clause, None, frozenset({ROLE_KEY}), taken=meaning(match["role"]))
    now = (
        (NOW.search(text) and not BARE_IMPERATIVE_NOW.match(text))
        or NEWS.search(clause.before)
        or (clause.is_foreign and NOW_ELSEWHERE.search(text))
    )
    for value in clause.values:
        if (of_change := _changed(clause, value)) is not None:
            yield Change("changed", clause, value, of_change, rises=_rises(clause, value))
        elif brought := _changed_elsewhere(clause, value):
            yield Change("changed", clause, value, brought)
        elif plan := _put_off(clause, value):
            yield Change("now", clause, value, plan)
        elif paid := _paid_for(clause, value):
            yield Change("rent" if paid == _RENT else "now", clause, value, paid)
        elif now and (subject := _held_now(clause, value)):
            yield Change("now", clause, value, subject)
        elif (match := TALLY.search(text, 0, value.start)) and _counts(value):
            yield Change("tally", clause, value, clause.terms | {value.kind[3:]})
        elif state := _taken_up(clause, value, now=bool(now or NOW_ELSEWHERE.search(text))):
            name, who = state
            yield Change("state", clause, value, frozenset({name}), who=who)
        elif value.kind in CONTACTS and (now or CONTACT.search(clause.sentence)):
            yield Change("contact", clause, value, frozenset({value.kind}))
        elif value.kind in ("day", "clock") or clause.past or clause.owners:
            continue
        elif (match := SLOT.search(text[begins:], 0, value.start - begins)) or (
            match := SLOT_BEHIND.match(text, value.end)
        ):
            yield Change("slot", clause, value, meaning(match["np"]))
    yield from _granted(clause)
    if not clause.past and may_replace(clause) and not BARE_IMPERATIVE_NOW.match(text):
        around = frozenset(word.term for word in frame_words(clause)) | meaning(clause.before)
        if around:
            yield Change("frame", clause, None, around)
    if len(clause.sentence.split()) > LONGEST_AMENDMENT:
        return
    match = AMENDED.match(text)
    if match or BETTER.match(text) or (clause.before and MISTAKEN.search(clause.before)):
        for value in clause.values:
            if value.kind == "name" and not AS_NAME.search(text[: value.start]):
                continue
            if match and match["make"] is None and not BETTER.match(text) and len(clause.terms) > 2:
                continue
            if (
                match
                and match["make"] is None
                and not BETTER.match(text)
                and len(text[match.end() : value.start].split()) > 4
            ):
                continue
            rest = clause.terms & meaning(text[match.end() :]) if match else clause.terms
            yield Change("amended", clause, value, rest)
            break


def may_change(clause: StatedClause) -> bool:
    """Whether a clause has a word of change, of whatever: what a model is worth asking for."""
    text = IDLE.sub("", clause.text)
    return not clause.asks and bool(NOW.search(text) or CHANGE.search(text) or HINT.search(text))


def holds_now(clause: StatedClause) -> bool:
    """Whether an earlier clause states something that can stop holding."""
    return not clause.asks and not clause.supposes and not FORMER.search(clause.text)


def _rises(clause: StatedClause, value: Value) -> bool | None:
    before = clause.text[: value.start]
    verbs = [(m.start(), True) for m in RISES.finditer(before)] + [
        (m.start(), False) for m in FALLS.finditer(before)
    ]
    return max(verbs)[1] if verbs else None


def state_of(clause: StatedClause) -> str:
    """The state that a clause tells of, of those that one has one at a time: "~home", "~job" ...; else ""."""
    return _state(clause)[0]


def who_is_in_state(clause: StatedClause) -> frozenset[str]:
    """Terms of who or what is in that state; none of the speaker."""
    return _state(clause)[1]


def _state(clause: StatedClause) -> tuple[str, frozenset[str]]:
    if clause.denies or clause.past:
        return "", frozenset()
    for name, pattern in (*STATES.items(), *PLACES.items()):
        for value in clause.values:
            if value.kind == "name" and (match := pattern.search(clause.text, 0, value.start)):
                who = meaning(clause.text[: match.start()]) - OWN_ELSEWHERE
                if (name in STATES and pattern is STATES[name]) or who:
                    return name, who
    return "", frozenset()


def _taken_up(clause: StatedClause, value: Value, *, now: bool) -> tuple[str, frozenset[str]] | None:
    """The state that now has this value, as after "I moved to", and of whom, where it is not the speaker."""
    if value.kind != "name" or clause.denies:
        return None
    for name, pattern in (*TAKEN_UP.items(), *(STATES.items() if now else ())):
        if match := pattern.search(clause.text, 0, value.start):
            if name == "~job" and BESIDE.search(clause.text):
                return None
            return name, meaning(clause.text[opening_end(clause.text) : match.start()]) - OWN_ELSEWHERE
    return None


def _put_off(clause: StatedClause, value: Value) -> frozenset[str]:
    """What was moved to this time, where it is said before: "the hike got pushed, we go in May"."""
    if value.kind not in ("day", "clock") or clause.past:
        return frozenset()
    for text, end in ((clause.text, value.start), (clause.before, len(clause.before))):
        if match := PUT_OFF.search(text, 0, end):
            return meaning(match["np"] or match["who"] or "")
    return frozenset()


def _paid_for(clause: StatedClause, value: Value) -> frozenset[str]:
    """What costs this from a month on; the rent, where nothing is named."""
    if value.kind not in ("money", "number") or not PAYS.search(clause.text, 0, value.start):
        return frozenset()
    return clause.terms - _PAYING or _RENT


_PAYING, _RENT = frozenset(terms("pay paying")), frozenset(terms("rent"))


def _counts(value: Value) -> bool:
    return value.kind.startswith("of ") and not is_measure(value.kind[3:])


def _changed(clause: StatedClause, value: Value) -> frozenset[str] | None:
    """What a verb of change brings to this value; None where none does."""
    begins = opening_end(clause.text)
    for verb in CHANGE.finditer(clause.text, 0, value.start):
        between = clause.text[verb.end() : value.start]
        if verb[0].casefold() in ("hit", "reached"):
            if HIT.fullmatch(between):
                return _subject(clause, clause.text[begins : verb.start()], value)
            continue
        match = TOWARDS.fullmatch(between)
        if not match:
            continue
        moves = verb[0].casefold() in ("went", "moved", "down", "up", "turned", "reached")
        if moves and value.kind == "name" and not (verb[0].casefold() == "moved" and match["np"].strip()):
            continue  # who went to Oslo may be back
        object_ = meaning(match["np"])
        if object_:
            return _with_unit(object_, value)
        return _subject(clause, clause.text[begins : verb.start()], value)
    return None


def _changed_elsewhere(clause: StatedClause, value: Value) -> frozenset[str]:
    """As `_changed`, in the other languages, whose verb may stand behind the value."""
    if not clause.is_foreign or value.kind == "name" or not (verb := CHANGE_ELSEWHERE.search(clause.text)):
        return frozenset()
    if not TOWARDS_ELSEWHERE.search(clause.text, 0, value.start):
        return frozenset()
    others = frozenset(terms(" ".join(v.norm for v in clause.values if v.kind == "day")))
    return (clause.terms | clause.names) - others - frozenset(terms(verb[0]))


_FROM_NOW_ON = lazy_pattern(r"\b(?:instead|from\s+now\s+on)\b", regex.IGNORECASE)
_LASTS = lazy_pattern(
    r"\b(?:is|are|takes?|lasts?|valid\s+for)\s+(?:about\s+|just\s+|only\s+|now\s+)*$", regex.IGNORECASE
)
_IS_CALLED = lazy_pattern(
    r"\b(?:is|are|['’]s|called|named)\s+(?:now\s+|currently\s+)?(?:the\s+|at\s+|in\s+)?$", regex.IGNORECASE
)


def _held_now(clause: StatedClause, value: Value) -> frozenset[str]:
    """What has this value now."""
    before = clause.text[: value.start]
    is_foreign = clause.is_foreign and value.kind != "name" and IS_ELSEWHERE.search(before)
    if not (is_foreign or IS.search(before) or _FROM_NOW_ON.search(clause.text)):
        return frozenset()
    if SPAN_BEFORE.search(before) and not IS.search(before):
        return frozenset()
    if value.kind in DURATION and not _LASTS.search(before):
        return frozenset()
    if clause.past:
        return frozenset()
    if value.kind == "name" and not _IS_CALLED.search(before):
        return frozenset()
    return _subject(clause, clause.text, value)


def _before_comment(text: str, cue: regex.Pattern[str]) -> str:
    """The text up to the comma behind a cue: "I don't eat fish anymore, it was that documentary"."""
    match = cue.search(text)
    end = text.find(", ", match.end()) if match else -1
    return text if end < 0 else text[:end]


def _granted(clause: StatedClause) -> Iterator[Change]:
    """What is called new or changed on the way, also in a question."""
    for match in NEW.finditer(clause.text):
        for value in clause.values:
            if value.start != match.end() or not (subject := meaning(match["np"])):
                continue
            if "," in clause.text[match.end("np") : value.start] and clause.text[value.end :].strip(" .!"):
                continue  # "my new sneakers, Maureen advised me ..."
            if of := OF_WHAT.match(clause.text, value.end):
                subject |= meaning(of["what"])
            yield Change("new", clause, value, _with_unit(subject, value), rises=_rises(clause, value))


_LEARNED = lazy_pattern(r"^.{0,30}\b(?:that|saw|heard|learned|told\s+me|found\s+out|noticed|reali[sz]ed)\s")


def _subject(clause: StatedClause, text: str, value: Value) -> frozenset[str]:
    without_frame = _LEARNED.sub("", text)
    # Of two names one is the value, and the other says of what: "our hotel in Naples is the Bellini".
    values = (clause.value_terms - clause.names).union(terms(value.norm) if value.kind == "name" else ())
    own = (meaning(without_frame) - values) & (clause.terms | clause.names)
    return _with_unit(own or clause.lead, value)


def _with_unit(subject: frozenset[str], value: Value) -> frozenset[str]:
    unit = value.kind[3:] if value.kind.startswith("of ") else ""
    return subject | {unit} if unit and not is_measure(unit) else subject


def _contrasts(clause: StatedClause) -> Iterator[Change]:
    if WRONGLY.search(clause.text):
        return
    for pattern in CONTRAST:
        for match in pattern.finditer(clause.text):
            old = frozenset(terms(regex.sub(r"(?<=\d),(?=\d)", "", match["old"])))
            rest = clause.terms | clause.names | clause.lead
            if old and len(old) <= _LONGEST_OLD:
                taken = frozenset(terms(match["new"])) if "new" in match.groupdict() else frozenset()
                yield Change("contrast", clause, None, rest - old, old, taken)

    if clause.is_foreign:
        for match in CONTRAST_ELSEWHERE.finditer(clause.text):
            old = frozenset(terms(match["old"])) & (clause.terms | clause.names | clause.value_terms)
            begins = clause.text.rfind(", ", 0, match.start()) + 1
            rest = meaning(clause.text[begins : match.start()]) & (clause.terms | clause.names)
            if old and len(old) <= _LONGEST_OLD:
                yield Change("contrast", clause, None, rest - old, old)


_LONGEST_OLD = 4  # terms


def _endings(clause: StatedClause) -> Iterator[Change]:
    text = clause.text
    if clause.is_foreign and ANYMORE_ELSEWHERE.search(text):
        over = (clause.terms | clause.names) - frozenset(terms("mehr ya plus mais"))
        if len(over) > 1:
            yield Change("ended", clause, None, over)
        return
    if ANYMORE.search(text) and clause.denies:
        over = meaning(_before_comment(text, ANYMORE))
        yield Change("ended", clause, None, over or clause.terms | clause.names)
        return
    if (match := MIND.search(text)) and (what := meaning(match["object"])):
        yield Change("dropped", clause, None, what)
    for match in ENDED.finditer(text):
        if match["never"]:
            object_ = regex.match(r"[^,.;:!?]*", text, pos=match.start())
            whole = meaning(text[: match.start()] + (object_[0] if object_ else ""))
            yield Change("ended", clause, None, whole)
        elif object_ := OBJECT.match(text, match.end()):
            verb = match["verb"].casefold()
            thing = object_["object"]
            if verb == "let":
                if not thing.casefold().endswith(" go"):
                    continue
                thing = thing[: -len(" go")]
            what = meaning(thing)
            who = meaning(match["who"] or "")
            mine = regex.match(r"(?:my|our|the|his|her)\b", thing, regex.I)
            leaves = False
            if verb.startswith(("left", "dropped", "quit", "resigned")) and not what & clause.names:
                if not mine:
                    continue
                leaves = True
            if (
                verb.startswith(("sold", "sell", "cancel", "delete", "return", "threw", "gave a"))
                and not mine
            ):
                continue
            if verb == "stopped" and not regex.match(r"\p{L}+ing\b", thing):
                continue
            if what:
                yield Change("ended", clause, None, what, who=who, leaves=leaves)
    for match in OFF.finditer(text):
        if what := meaning(match["object"]):
            yield Change("ended", clause, None, what)
