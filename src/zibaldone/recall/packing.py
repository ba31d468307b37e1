"""Pack candidates into the text: by rank, while they fit, nothing twice.

standing   instructions and constraints that fit the question, in a small room
evidence   what was said, word for word, best first, in the rest
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from zibaldone.core import Decision, Evidence, Part
from zibaldone.core.deadline import NO_DEADLINE, Deadline
from zibaldone.text.faithfulness import denies, names_and_numbers
from zibaldone.text.rendering import (
    OMISSION,
    STANDING_TITLE,
    header,
    in_order,
    line_tokens,
    render,
    shared_title,
    shown,
    standing_line,
)
from zibaldone.text.sentences import Span, passages, torn
from zibaldone.text.words import content_words, terms

Count = Callable[[str], int]
Place = tuple[str, int]  # part of a context, and rank in it
_STANDING_TOKENS, _STANDING_AT_MOST = 80, 0.2  # of the budget
_LEAST_TOKENS = 30  # less room than this holds no rule
_FEWEST_WORDS = 5  # a shorter unit leans on what was said before it


@dataclass(frozen=True, slots=True)
class Chosen:
    """The chosen evidence, in reading order, and a decision on every candidate."""

    evidence: list[Evidence]
    decisions: list[Decision]
    tokens: int  # of the rendered text
    parts: tuple[Part, ...] = ()


def choose(
    candidates: Sequence[Evidence],
    budget_tokens: int,
    count: Count,
    *,
    stems: Collection[str] = (),
    standing: Sequence[Evidence] = (),
    standing_tokens: int = 0,
    deadline: Deadline = NO_DEADLINE,
) -> Chosen:
    """Take candidates by rank while they fit; skip what repeats, and what no longer fits.

    First what is standing, in `standing_tokens`; then evidence, in what is left. Evidence that comes first
    and is too long is cut around the sentence that has most of the question's `stems`. Greedy by score with
    skipping: diversity, coverage and score per token were measured and gave nothing (docs/decisions.md). The
    text never has more tokens than the budget. What is always known does not come as evidence, too.
    """
    context = _Context(budget_tokens, count, stems, deadline)
    if standing:
        context.fill("standing", standing, standing_tokens)
    context.fill("evidence", candidates, context.left)
    context.count_again()
    context.fill("evidence", candidates, context.left)
    return context.chosen()


def standing_room(budget_tokens: int) -> int:
    """Tokens of a budget that rules may take; 0 where that holds none."""
    room = int(min(_STANDING_TOKENS, _STANDING_AT_MOST * budget_tokens))
    return room if room >= _LEAST_TOKENS else 0


def _says_just(unit: Evidence, entry: Evidence) -> bool:
    """True if a unit says what an entry of the same message says, nothing else, and it holds."""
    same = unit.text.strip() == entry.text.strip() and not set(entry.sources).isdisjoint(unit.sources)
    return same and unit.outdated is None and unit.scope == entry.scope


class _SaidBefore:
    """The words of a context's units, as it grows."""

    def __init__(self) -> None:
        self._units: dict[Place, Evidence] = {}
        self._having: dict[str, set[Place]] = defaultdict(set)

    def add(self, place: Place, unit: Evidence) -> None:
        """Take in a unit that is in the context now."""
        for word in content_words(unit.text):
            self._having[word].add(place)
        self._units[place] = unit

    def again(self, unit: Evidence) -> Place | None:
        """The place of the unit in which the same speaker says as much on the same day, if there is one.

        All words, names and numbers stand in it, and either both deny something or none does.
        """
        own = content_words(unit.text)
        if len(own) < _FEWEST_WORDS:
            return None
        having = sorted(set.intersection(*(self._having.get(word, set()) for word in own)))
        return next((place for place in having if _same(unit, self._units[place])), None)


def _same(unit: Evidence, other: Evidence) -> bool:
    return (
        (unit.speaker, unit.view, unit.outdated, unit.scope, unit.time.date())
        == (other.speaker, other.view, other.outdated, other.scope, other.time.date())
        and names_and_numbers(unit.text) <= names_and_numbers(other.text)
        and denies(unit.text) == denies(other.text)
    )


class _Context:
    """A text as it grows."""

    def __init__(self, budget_tokens: int, count: Count, stems: Collection[str], deadline: Deadline) -> None:
        self.left = self._budget_tokens = budget_tokens
        self._count, self._stems, self._deadline = count, stems, deadline
        self._parts: dict[str, Part] = {}
        self._counted: int | None = None  # tokens of what is kept; None: it has changed
        self._kept: dict[Place, Evidence] = {}  # by part and rank in it
        self._known: list[Evidence] = []  # what is kept of what always is
        self._candidates: dict[Place, Evidence] = {}
        self._reasons: dict[Place, str] = {}
        self._opened: set[tuple[str, str, int]] = set()  # (scope, session, day) that have their header
        self._years: set[int] = set()  # that a header names
        self._repeats: set[tuple[str | None, str, int]] = set()
        self._said = _SaidBefore()
        # By scope and seq, the views whose kept units stand on the message.
        self._views_of: dict[tuple[str, int], set[str]] = {}

    def fill(self, part: str, candidates: Sequence[Evidence], room_tokens: int) -> None:
        """Take what fits of a part's candidates, which come best first; those that are in already stay."""
        left = room_tokens
        room_before, tokens, taken = 0, 0, 0
        if earlier := self._parts.get(part):
            room_before, tokens, taken = earlier.room_tokens, earlier.tokens, earlier.units
        for rank, unit in enumerate(candidates, 1):
            self._deadline.check()
            place = (part, rank)
            if place in self._kept:
                continue
            self._candidates[place] = unit
            reason, cost = self._refusal(unit), self._cost(unit)
            if not (reason or unit.standing) and (already := self._said.again(unit)):
                reason = f"message {self._kept[already].sources[0]} says the same, and is in already"
            if not reason and cost <= left:
                left -= cost
                taken, tokens = taken + 1, tokens + unit.tokens
                self._keep(place, unit, cost)
                reason = f"rank {rank} of {len(candidates)}, and its {unit.tokens} tokens fitted the budget"
            elif not (reason or unit.standing or self._views_of) and (cut := self._cut(unit, left)):
                cost = _tokens([cut], self._count)
                left -= cost
                taken, tokens = taken + 1, tokens + cut.tokens
                self._keep(place, cut, cost)
                reason = f"rank {rank} of {len(candidates)}, cut at sentence borders to fit the budget"
            self._reasons[place] = reason or (
                f"rank {rank} of {len(candidates)}, and only {left} tokens were left for its {cost}"
            )
        self._parts[part] = Part(part, room_before or room_tokens, tokens, taken)

    def _cut(self, unit: Evidence, left: int) -> Evidence | None:
        """The first evidence, cut to what is left beside what is standing."""
        room = left - 1 if self._kept else left  # the line break between them
        return cut_to_fit(unit, room, self._stems, self._count)

    def count_again(self) -> None:
        """Give back what was kept free for marks of gaps that the text turned out not to have."""
        self.left = max(self.left, self._budget_tokens - self._kept_tokens())

    def chosen(self) -> Chosen:
        """Drop the last units that do not fit, and return the rest."""
        while (tokens := self._kept_tokens()) > self._budget_tokens:
            place, _ = self._kept.popitem()
            self._counted = None
            ranked = sum(part == place[0] for part, _ in self._candidates)
            self._reasons[place] = f"rank {place[1]} of {ranked}, and the rendered text was over the budget"
        decisions = [
            Decision(self._kept.get(place, unit), place[1], place in self._kept, self._reasons[place])
            for place, unit in self._candidates.items()
        ]
        return Chosen(in_order(self._kept.values()), decisions, tokens, tuple(self._parts.values()))

    def _refusal(self, unit: Evidence) -> str:
        if not unit.standing and any(_says_just(unit, entry) for entry in self._known):
            return "all that it says is always known, and in already"
        if self._repeated(unit) in self._repeats:
            return "the same words of the same day are in already"
        if not unit.standing and all(
            self._views_of.get((unit.scope, seq), set()) - {unit.view} for seq in unit.sources
        ):
            return "another view's units of the same messages are in already"
        return ""

    def _cost(self, unit: Evidence) -> int:
        """Tokens, with the header or the mark of a gap that it may need."""
        if unit.standing:
            title = 0 if self._kept else added_tokens(STANDING_TITLE, self._count)
            return title + added_tokens(standing_line(unit), self._count)
        day = unit.time.date()
        if (unit.scope, unit.session, day.toordinal()) in self._opened:
            return unit.tokens + added_tokens(OMISSION, self._count)
        opened = header(day, day if day.year in self._years else None)
        if unit.scope and all(scope != unit.scope for scope, _, _ in self._opened):
            opened = f"{shared_title(unit.scope)}\n{opened}"
        return unit.tokens + added_tokens(opened, self._count)

    def _keep(self, place: Place, unit: Evidence, cost: int) -> None:
        self.left -= cost
        self._kept[place], self._counted = unit, None
        self._repeats.add(self._repeated(unit))
        if unit.standing:
            self._known.append(unit)
            return
        self._said.add(place, unit)
        day = unit.time.date()
        self._opened.add((unit.scope, unit.session, day.toordinal()))
        self._years.add(day.year)
        for seq in unit.sources:
            self._views_of.setdefault((unit.scope, seq), set()).add(unit.view)

    def _repeated(self, unit: Evidence) -> tuple[str | None, str, int]:
        return unit.speaker, unit.text, unit.time.date().toordinal()

    def _kept_tokens(self) -> int:
        if self._counted is None:
            self._counted = _tokens(self._kept.values(), self._count)
        return self._counted


def added_tokens(text: str, count: Count) -> int:
    """Count the tokens that a line adds to a text, its line break included."""
    return line_tokens([text], lambda texts: [count(one) for one in texts])[0]


def _tokens(evidence: Iterable[Evidence], count: Count) -> int:
    return count(render(in_order(evidence))[0])


def cut_to_fit(unit: Evidence, budget_tokens: int, stems: Collection[str], count: Count) -> Evidence | None:
    """The unit, or the part of it, as long as the budget holds, that matches best.

    Parts end where sentences do, or between words where not even a sentence fits. None when there is no room.
    """
    if _tokens([unit], count) <= budget_tokens:
        return unit
    marked = _tokens([replace(unit, text="", begins_inside=True, ends_inside=True)], count)
    spans = passages(unit.text, max(1, budget_tokens - marked), lambda texts: [count(one) for one in texts])
    if not spans:
        return None
    best = _part(unit, spans[_best_match(unit, spans, stems)], count)
    return best if _tokens([best], count) <= budget_tokens else None


def _best_match(unit: Evidence, spans: Sequence[Span], stems: Collection[str]) -> int:
    wanted = set(stems)
    matches = [len(wanted.intersection(terms(unit.text[start:end]))) for start, end in spans]
    return max(range(len(spans)), key=lambda i: (matches[i], -i))


def _part(unit: Evidence, span: Span, count: Count) -> Evidence:
    begins, ends = torn(unit.text, *span)
    part = replace(
        unit,
        text=unit.text[span[0] : span[1]],
        place=unit.place + span[0],
        begins_inside=begins or (unit.begins_inside and not span[0]),
        ends_inside=ends or (unit.ends_inside and span[1] == len(unit.text)),
    )
    return replace(part, tokens=added_tokens(shown(part), count))
