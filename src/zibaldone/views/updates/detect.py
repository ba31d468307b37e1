"""Finding, for what a message says has changed, the earlier sentences that no longer hold.

Earlier clauses are found by the words that they share with the change: an inverted index of one user's words,
kept by the view's table and, for the messages at hand, in memory. What is found depends on the messages up to
the newer one alone, however they were batched.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from zibaldone.core import EDITOR, MACHINES, Message
from zibaldone.views.updates.changes import ROLE_KEY, Change, changes, holds_now, may_change, state_of
from zibaldone.views.updates.clauses import StatedClause, clauses, clauses_of_sentence
from zibaldone.views.updates.conditions import condition_of, key_of_condition
from zibaldone.views.updates.cues import CONTACTS, ROLE
from zibaldone.views.updates.frames import frame_words
from zibaldone.views.updates.matching import may_be_of_one_thing, takes_place
from zibaldone.views.updates.visits import never_visited

NEAR = 12  # messages back that an amendment may speak of
_MOST_WORDS = 24  # of one clause that are indexed
MOST_PLACES = 400  # newest places of a word that are looked at
_MOST_CANDIDATES = 24  # that share most words, and are held against a change
_MOST_SHOWN = 6  # sentences that a model is shown for one clause, found by words; and as many recent ones
_MOST_LINKS = 4  # sentences that one change can end
_GENERAL = 8  # sentences with the same words: from then on these name no single thing
_MOST_READ = 2000  # sentences whose clauses are kept
_WORTH = 0.7  # of the best match's weight: an earlier one of less is another matter

Place = tuple[int, int, int]  # seq, and start and end of a sentence in that message


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a sentence may have ended."""

    rule: str
    new: Place
    places: tuple[Place, ...]  # for a model to judge; none where there is no model
    settled: tuple[Place, ...]  # of which the rules are sure


@dataclass
class WordIndex:
    """Where the words of earlier clauses stand: what a batch adds, on top of what is stored."""

    stored: Callable[[Sequence[int]], Mapping[int, Sequence[Place]]] = lambda _: {}
    added: dict[int, list[Place]] = field(default_factory=lambda: defaultdict(list))
    _read: dict[int, list[Place]] = field(default_factory=dict)

    def add(self, place: Place, clause: StatedClause) -> None:
        """A clause's words, for what comes later."""
        for word in sorted(_indexed(clause))[:_MOST_WORDS]:
            key = key_of(word)
            if not self.added[key] or self.added[key][-1] != place:
                self.added[key].append(place)

    def places(self, words: Iterable[str]) -> list[tuple[Place, int]]:
        """Sentences with these words and how many of them each has; most words first, then the newest."""
        keys = {key_of(word) for word in words}
        if new := keys - self._read.keys():
            stored_places = self.stored(sorted(new))
            for key in new:
                self._read[key] = list(stored_places.get(key, ()))
        shares: Counter[Place] = Counter()
        for key in keys:
            shares.update(set((self._read[key] + self.added.get(key, []))[-MOST_PLACES:]))
        return sorted(shares.items(), key=lambda item: (-item[1], -item[0][0], -item[0][1]))


def key_of(word: str) -> int:
    """A word in the index: 63 bits of a digest."""
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "big") >> 1


def is_read(message: Message) -> bool:
    """Whether a message is a person's: what assistants and tools say is not what holds or not."""
    return message.voice not in MACHINES and message.voice != EDITOR


class Detector:
    """Reads messages in the order of the log."""

    def __init__(
        self,
        index: WordIndex,
        recent: Callable[[], Sequence[Message]],
        fetch: Callable[[Sequence[int]], Mapping[int, Message]],
        *,
        widely: bool = False,
    ) -> None:
        """`recent` gives the messages before the first one, NEAR of them; `fetch` gives earlier ones.

        Both are asked where something has changed, and not before.

        `widely`: a model will judge, so that sentences are named that the rules are not sure of.
        """
        self._widely = widely
        self._index = index
        self._known: dict[int, Message] = {}
        self._recent: Callable[[], Sequence[Message]] | None = recent
        self._fetch = fetch
        self._read: dict[Place, tuple[StatedClause, ...]] = {}

    def message(self, seq: int) -> Message:
        """One that was read, or in which something was found."""
        return self._known[seq]

    def read(self, message: Message) -> Iterator[Candidates]:
        """What this message ends."""
        self._known[message.seq] = message
        if not is_read(message):
            return
        stated: list[tuple[Place, StatedClause]] = []
        for clause in clauses(message.content):
            place = (message.seq, clause.start, clause.end)
            stated_changes = list(changes(clause))
            for change in stated_changes:
                yield from self._candidates(message, change, place)
            if self._widely and (stated_changes or may_change(clause)):
                yield from self._shown(message, clause, place)
            if holds_now(clause):
                stated.append((place, clause))
        for place, clause in stated:
            self._index.add(place, clause)

    def _shown(self, message: Message, clause: StatedClause, new: Place) -> Iterator[Candidates]:
        """What a model is shown beside the clause: sentences that can be about the same thing."""
        words = clause.terms | clause.names | clause.lead
        places = [place for place, _ in self._index.places(words)[:_MOST_CANDIDATES]]
        recent = [(seq, *span) for seq in self._near(message) for span in self._sentences(seq)]
        chosen = dict.fromkeys([*places, *recent[-_MOST_SHOWN:]])
        self._fetch_all({seq for seq, _, _ in chosen})
        shown = [place for place in chosen if self._may_be_meant(message, clause, place, recent)]
        if shown:
            yield Candidates("", new, tuple(shown[:_MOST_SHOWN]), ())

    def _may_be_meant(
        self, message: Message, clause: StatedClause, place: Place, recent: Sequence[Place]
    ) -> bool:
        older = self._known.get(place[0])
        if older is None or not is_read(older):
            return False
        mine = older.speaker == message.speaker
        return any(
            may_be_of_one_thing(clause, earlier, near=place in recent)
            and (mine or not (clause.is_own or earlier.is_own))
            for earlier in self._clauses(older, place)
        )

    def _candidates(self, message: Message, change: Change, new: Place) -> Iterator[Candidates]:
        near = set(self._near(message))
        general: set[Place] = set()
        if change.rule == "amended":
            places = [(seq, start, end) for seq in near for start, end in self._sentences(seq)]
        elif change.needs:
            with_shares = self._index.places(change.needs)
            places = [place for place, _ in with_shares[:_MOST_CANDIDATES]]
            as_many = Counter(shares for _, shares in with_shares)
            general = {p for p, n in with_shares if sum(as_many[m] for m in as_many if m >= n) > _GENERAL}
        elif change.value is not None:
            places = [place for place, _ in self._index.places([change.value.kind])[:_MOST_CANDIDATES]]
        else:
            return  # "I can't run any more": of words that say so little nothing can be looked up
        self._fetch_all({seq for seq, _, _ in places})
        weighed: list[tuple[float, Place, str]] = []
        for place in places:
            older = self._known.get(place[0])
            if older is None or not is_read(older):
                continue
            for clause in self._clauses(older, place):
                if not self._may_speak_of(message, change, older, clause):
                    continue
                weight = takes_place(change, clause, near=place[0] in near, general=place in general)
                if weight > 0:
                    weighed.append((weight, place, _value_of(change, clause)))
        if not weighed:
            return
        best = max(weight for weight, _, _ in weighed)
        good = sorted((w for w in weighed if w[0] >= _WORTH * best), key=lambda w: w[1], reverse=True)
        newest = good[0]
        same = [w for w in good if w[2] == newest[2]] if change.rule != "amended" else [newest]
        chosen = tuple(dict.fromkeys(w[1] for w in same))[:_MOST_LINKS]
        yield Candidates(change.rule, new, chosen if self._widely else (), chosen)

    def _clauses(self, message: Message, place: Place) -> tuple[StatedClause, ...]:
        if place not in self._read:
            if len(self._read) >= _MOST_READ:
                self._read.clear()
            self._read[place] = tuple(clauses_of_sentence(message.content, place[1], place[2]))
        return self._read[place]

    def _near(self, message: Message) -> Iterator[int]:
        if self._recent is not None:
            self._known.update((earlier.seq, earlier) for earlier in self._recent())
            self._recent = None
        return (
            seq
            for seq in range(message.seq - NEAR, message.seq)
            if (one := self._known.get(seq)) is not None and one.session == message.session
        )

    def _sentences(self, seq: int) -> Iterator[tuple[int, int]]:
        message = self._known[seq]
        if is_read(message):
            yield from dict.fromkeys((clause.start, clause.end) for clause in clauses(message.content))

    def _fetch_all(self, seqs: set[int]) -> None:
        if missing := sorted(seqs - self._known.keys()):
            self._known.update(self._fetch(missing))

    @staticmethod
    def _may_speak_of(newer: Message, change: Change, older: Message, clause: StatedClause) -> bool:
        """One and the same speaker; of what is nobody's own ("the picnic") another may speak, too."""
        if newer.speaker == older.speaker:
            return True
        impersonal = not (change.clause.is_own or clause.is_own)
        return impersonal and change.rule in ("changed", "contrast")


def _value_of(change: Change, clause: StatedClause) -> str:
    """The old value, as far as it can be compared: earlier sentences with the same one go with it."""
    if change.value is None:
        return ""
    return next((value.norm for value in clause.values if value.kind == change.value.kind), "")


def _indexed(clause: StatedClause) -> set[str]:
    units = {value.kind[3:] for value in clause.values if value.kind.startswith("of ")}
    kinds = (
        {value.kind for value in clause.values if value.kind.startswith("of ")} if clause.is_own else set()
    )
    kinds |= {value.kind for value in clause.values if value.kind in CONTACTS}
    if state := state_of(clause):
        kinds.add(state)
    unseen = never_visited(clause)
    if not clause.past and ROLE.search(clause.text):
        kinds.add(ROLE_KEY)
    if not clause.past:
        kinds |= {key_of_condition(name, side) for name, side in condition_of(clause).items()}
    owned = frozenset(word.term for word in frame_words(clause) if word.is_owned)
    return {*owned, *clause.terms, *clause.names, *clause.value_terms, *clause.lead, *units, *kinds, *unseen}
