"""Tools that views share: cutting messages, the tail behind a cursor, ranking units, filling room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import NOISE, NOISES, ChannelScore, Evidence, Message
from zibaldone.log.filters import Narrowing, key_test
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.search.lexical import Floats
from zibaldone.search.question import Mask, Question
from zibaldone.search.ranker import (
    DEFAULT_WEIGHTS,
    Explanation,
    TalkWeights,
    best_first,
    score,
)
from zibaldone.search.unit import PASSAGE, Days, Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.text.bounds import as_read
from zibaldone.text.dates import find_days
from zibaldone.text.rendering import line, line_tokens
from zibaldone.text.sentences import Span, passages
from zibaldone.views.base import Generation, Retrieved
from zibaldone.views.units import Row, unit_on

PASSAGE_TOKENS = 128  # a longer message is cut into passages of at most this
OFFERED = (
    2.0  # budgets' worth of units that a view retrieves: recall may find better use for some of the room
)
_OF_A_MESSAGE = 0.5  # of the budget, and its best passage whatever it takes; a quarter: BEAM 500K -.10
_PARTNERED = 8  # units whose partners come with them
_PARTNER_SHARE = 16  # a partner is at most such a part of the budget
MOST_UNREAD = 1000  # messages behind a cursor that one recall looks through, where units are made of them
FOREIGN_VECTORS = "the vectors are another embedder's: by words only until a rebuild"
_AT_ONCE = 16  # lines counted at a time while room is filled


@dataclass(frozen=True, slots=True)
class CutMessage:
    """One message, cut into units; lists aligned with `spans`."""

    spans: list[Span]
    tokens: list[int]  # of the rendered line and its line break
    days: list[Days]

    @property
    def kind(self) -> str:
        """The kind of its units."""
        return "message" if len(self.spans) == 1 else PASSAGE

    def texts(self, message: Message) -> list[str]:
        """The units' texts."""
        return [message.content[start:end] for start, end in self.spans]


def cut(messages: Sequence[Message], tokenizer: Tokenizer) -> list[CutMessage]:
    """Cut messages into units of at most PASSAGE_TOKENS, count them and find the days that they name."""
    lines = line_tokens([line(m.speaker, m.content.strip()) for m in messages], tokenizer.count)
    cuts = []
    for message, tokens in zip(messages, lines, strict=True):
        content = message.content
        if tokens <= PASSAGE_TOKENS:
            stripped = content.strip()
            start = content.index(stripped) if stripped else 0
            spans = [(start, start + len(stripped))] if stripped else []
            counts = [tokens] if stripped else []
        else:
            spans = passages(content, PASSAGE_TOKENS, tokenizer.count)
            counts = line_tokens([line(message.speaker, content[a:b]) for a, b in spans], tokenizer.count)
        assert message.time is not None  # what is stored has one
        day = message.time.date()
        days = [tuple(named.ordinals for named in find_days(content[a:b], day)) for a, b in spans]
        cuts.append(CutMessage(spans, counts, days))
    return cuts


def to_units(messages: Sequence[Message], cuts: Sequence[CutMessage]) -> list[Unit]:
    """Units of messages as they are, whether or not a view has rows of them."""
    return [
        unit_on(message, (message.seq,), part, text, pieces.kind, tokens, start, days)
        for message, pieces in zip(messages, cuts, strict=True)
        for part, (text, tokens, (start, _), days) in enumerate(
            zip(pieces.texts(message), pieces.tokens, pieces.spans, pieces.days, strict=True)
        )
    ]


def texts_of(messages: Sequence[Message], cuts: Sequence[CutMessage]) -> list[str]:
    """The texts of all units of the messages, to be embedded."""
    return [text for message, pieces in zip(messages, cuts, strict=True) for text in pieces.texts(message)]


def to_rows(
    seqs: Sequence[int], cuts: Sequence[CutMessage], vectors: Iterable[Vectors] | None
) -> Iterator[Row]:
    """Rows of the units of messages, each with its vector (d,), or None where no row keeps one."""
    each = repeat(None) if vectors is None else iter(vectors)
    for seq, pieces in zip(seqs, cuts, strict=True):
        for part, (span, tokens, days) in enumerate(
            zip(pieces.spans, pieces.tokens, pieces.days, strict=True)
        ):
            yield Row((seq,), part, pieces.kind, tokens, next(each), days, *span)


def days_named(message: Message, text: str) -> Days:
    """Days that a text names, said when the message was."""
    assert message.time is not None  # what is stored has one
    return tuple(named.ordinals for named in find_days(text, message.time.date()))


@dataclass(frozen=True, slots=True)
class Tail:
    """Messages that a view has not read yet, recallable all the same."""

    messages: list[Message]
    note: str  # in words, when only the newest were taken; "" when all were


_ONLY_NOISE = Narrowing(metadata=key_test(NOISE, "$in", sorted(NOISES)))


def tail(
    connection: Connection,
    user: str,
    cursor: int,
    *,
    session: str | None = None,
    most: int | None = None,
    of_noise: bool = False,
    whole: bool = False,
) -> Tail:
    """The log's messages behind a view's cursor, the newest `most` of them; without noise, or only noise.

    Each `whole`, or as much of it as most views read.
    """
    as_wanted = (lambda message: message) if whole else as_read
    if most is None:
        unread = log.read(connection, user, session=session, after=cursor)
        return Tail([as_wanted(message) for message in unread if message.is_noise is of_noise], "")
    newest = log.select_messages(
        connection,
        user,
        _ONLY_NOISE if of_noise else Narrowing(without_noise=True),
        session=session,
        after=cursor,
        limit=most + 1,
        newest=True,
    )
    return Tail(
        [as_wanted(message) for message in newest[-most:]], only_newest(most) if len(newest) > most else ""
    )


def only_newest(most: int) -> str:
    """The note of a tail that was cut."""
    return f"only the newest {most} messages that the view has not read yet were looked through"


def usable(generation: Generation | None, fingerprint: str) -> Generation | None:
    """The generation, if it is of this fingerprint."""
    return generation if generation and generation.fingerprint == fingerprint else None


def ranked_units(
    index: UnitIndex,
    question: Question,
    view: str,
    note: str = "",
    weights: TalkWeights = DEFAULT_WEIGHTS,
) -> Retrieved:
    """The index's best units, as many as fill OFFERED budgets; `note` says what is wrong with the index."""
    note = note or question.note
    if not len(index):
        return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
    inside = question.recallable(index)
    question.deadline.check()
    scores = score(index, question, weights, inside)
    question.deadline.check()
    rows = rows_offered(index, scores.total, question.budget_tokens, inside=inside)
    explanation = Explanation.of(index, scores)
    evidence = tuple(
        evidence_of(index.units[row], view, float(scores.total[row]), channels)
        for row, channels in zip(rows, explanation.of_rows(rows), strict=True)
    )
    return Retrieved(evidence, len(index), scores.confidence, explanation, note)


def rows_offered(
    index: UnitIndex,
    scores: Floats,
    budget_tokens: int,
    *,
    inside: Mask | None = None,
) -> list[int]:
    """The rows that fill OFFERED budgets, best first by their scores (n,), with what makes sense of them.

    `inside` (n,) may be recalled; None: all.
    """
    rows = best_first(scores, OFFERED * budget_tokens, index, inside)
    rows = _some_of_each(rows, index, budget_tokens)
    return _with_partners(rows, index, inside, budget_tokens)


def _some_of_each(rows: Sequence[int], index: UnitIndex, budget_tokens: int) -> list[int]:
    """The rows, those last whose message has its share already: of a pasted file, the part that matches."""
    taken: Counter[int] = Counter()
    first: list[int] = []
    last: list[int] = []
    for row in rows:
        unit = index.units[row]
        is_more = taken[unit.seq] > 0 and taken[unit.seq] + unit.tokens > _OF_A_MESSAGE * budget_tokens
        taken[unit.seq] += unit.tokens
        (last if is_more else first).append(row)
    return first + last


def recallable_seqs(connection: Connection, question: Question) -> frozenset[int] | None:
    """Seqs of the messages that a question may recall; None: all of the user's."""
    if question.scope.session is None and not question.without:
        return question.within
    here = frozenset(log.seqs_where(connection, question.scope.user, session=question.scope.session))
    return (here if question.within is None else here & question.within) - question.without


def _with_partners(
    rows: Sequence[int], index: UnitIndex, inside: Mask | None, budget_tokens: int
) -> list[int]:
    """The best rows, each before the turn that makes sense of it, where that costs little of the budget."""
    taken: dict[int, None] = {}
    for place, row in enumerate(rows):
        taken.setdefault(row)
        partner = index.partner(row) if place < _PARTNERED else None
        if partner is None or index.units[partner].tokens * _PARTNER_SHARE > budget_tokens:
            continue
        if inside is None or inside[partner]:
            taken.setdefault(partner)
    return list(taken)


def evidence_of(
    unit: Unit, view: str, score: float = 0.0, channels: tuple[ChannelScore, ...] = ()
) -> Evidence:
    """A unit as a view offers it."""
    return Evidence(
        text=unit.text,
        speaker=unit.speaker,
        sources=tuple(sorted(unit.sources)),
        time=unit.time,
        session=unit.session,
        view=view,
        kind=unit.kind,
        score=score,
        tokens=unit.tokens,
        place=unit.start,
        is_dated=unit.is_dated,
        channels=channels,
    )


def described(unit: Evidence, messages: Sequence[Message]) -> Evidence:
    """Evidence with what its messages, in the order of its sources, say of it."""
    roles = {message.voice for message in messages}
    return replace(
        unit,
        role=roles.pop() if len(roles) == 1 else None,
        ids=tuple(message.id or "" for message in messages),
        metadata=messages[0].metadata if messages else {},
    )


def fill(
    ranked: Iterable[Evidence], room_tokens: int, count: Callable[[Sequence[str]], Sequence[int]]
) -> tuple[Evidence, ...]:
    """Take what fits of evidence that comes best first, counted a few lines at a time; one at least."""
    taken: list[Evidence] = []
    waiting = iter(ranked)
    while some := [unit for _, unit in zip(range(_AT_ONCE), waiting, strict=False)]:
        counts = line_tokens([line(unit.speaker, unit.text) for unit in some], count)
        for unit, tokens in zip(some, counts, strict=True):
            if tokens <= room_tokens or not taken:
                room_tokens -= tokens
                taken.append(replace(unit, tokens=tokens))
        if room_tokens < _AT_ONCE:
            break
    return tuple(taken)
