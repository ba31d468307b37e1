"""What views share besides the table of units: cutting messages, the tail behind a cursor, filling room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import NOISE, NOISES, ChannelScore, Evidence, Message
from zibaldone.errors import ModelFailed
from zibaldone.log.filters import KeyTest, Narrowing
from zibaldone.models.base import Embedder, Tokenizer, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.search.explanation import Explanation
from zibaldone.search.lexical import Floats
from zibaldone.search.question import Question
from zibaldone.search.ranker import (
    DEFAULT_WEIGHTS,
    LONG_DAYS,
    AssistantShare,
    Mask,
    TalkWeights,
    best_first,
    score,
)
from zibaldone.search.request import Aim, aim_of
from zibaldone.search.unit import PASSAGE, Days, Unit
from zibaldone.search.unit_index import AFTER_DAYS, UnitIndex
from zibaldone.text.bounds import as_read
from zibaldone.text.dates import find_days
from zibaldone.text.periods import Period, asked_period
from zibaldone.text.rendering import line, line_tokens
from zibaldone.text.sentences import Span, passages
from zibaldone.views.base import Generation, Query, Retrieved

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
        """Of its units."""
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
        cuts.append(CutMessage(spans, counts, [days_named(message, content[a:b]) for a, b in spans]))
    return cuts


def to_units(messages: Sequence[Message], cuts: Sequence[CutMessage]) -> list[Unit]:
    """Units of messages as they are, whether or not a view has rows of them."""
    made = []
    for message, pieces in zip(messages, cuts, strict=True):
        assert message.time is not None  # what is stored has one
        for part, text in enumerate(pieces.texts(message)):
            made.append(
                Unit(
                    sources=(message.seq,),
                    part=part,
                    text=text,
                    kind=pieces.kind,
                    tokens=pieces.tokens[part],
                    session=message.session,
                    role=message.voice,
                    name=message.name,
                    time=message.time,
                    days=pieces.days[part],
                    start=pieces.spans[part][0],
                    is_dated=message.is_dated,
                )
            )
    return made


def days_named(message: Message, text: str) -> Days:
    """Days that a text names, said when the message was."""
    assert message.time is not None  # what is stored has one
    return tuple((d.first.toordinal(), d.last.toordinal()) for d in find_days(text, message.time.date()))


@dataclass(frozen=True, slots=True)
class Tail:
    """What a view has not read yet, which is recallable all the same."""

    messages: list[Message]
    note: str  # in words, when only the newest were taken; "" when all were


_ONLY_NOISE = Narrowing(metadata=KeyTest(NOISE, "$in", sorted(NOISES)))


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


def question_vector(embedder: Embedder, question: Question) -> tuple[Vectors, str]:
    """(d,) float32, and why it is zero: an embedder that fails leaves words alone to search by.

    A table of words is asked for the content words alone, which the others only blur in a mean; an encoder
    reads the question. Also zero for a question that has no content words.
    """
    nothing = np.zeros(embedder.dimension, dtype=np.float32)
    if not question.terms:
        return nothing, ""
    try:
        text = question.subject if isinstance(embedder, WordEmbedder) else question.text
        return embed(embedder, [text])[0], ""
    except ModelFailed as error:
        return nothing, f"by words only: {error}"


def ranked_units(
    index: UnitIndex,
    question: Question,
    vector: Vectors,
    query: Query,
    view: str,
    note: str = "",
    weights: TalkWeights = DEFAULT_WEIGHTS,
) -> Retrieved:
    """The index's best units, as many as fill OFFERED budgets."""
    if not len(index):
        return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
    inside = inside_query(index, query)
    query.deadline.check()
    scores = score(index, question, vector, weights, inside)
    query.deadline.check()
    rows = rows_offered(index, scores.total, scores.assistant, query, inside)
    explanation = Explanation.of(index, scores)
    evidence = tuple(
        evidence_of(index.units[row], view, float(scores.total[row]), channels)
        for row, channels in zip(rows, explanation.of_rows(rows), strict=True)
    )
    return Retrieved(evidence, len(index), scores.confidence, explanation, note)


def rows_offered(
    index: UnitIndex,
    scores: Floats,
    assistant: AssistantShare,
    query: Query,
    inside: npt.NDArray[np.bool_] | None = None,
) -> list[int]:
    """The rows that fill OFFERED budgets, best first by their scores (n,), with what makes sense of them.

    An overview of a time has what was said then first; the rest is the way back.
    """
    room = OFFERED * query.budget_tokens
    then = _of_asked_time(index, query, inside)
    if then is None:
        rows = best_first(scores, room, index, inside, assistant)
    else:
        others = ~then if inside is None else inside & ~then
        rows = best_first(scores, room, index, then, assistant)
        room -= sum(index.units[row].tokens for row in rows)
        if room > 0:
            rows += best_first(scores, room, index, others, assistant)
    rows = _some_of_each(rows, index, query.budget_tokens)
    return _with_partners(rows, index, inside, query.budget_tokens)


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


def _of_asked_time(index: UnitIndex, query: Query, inside: Mask | None) -> Mask | None:
    """(n,) what was said in the time that an overview is of; None: nothing to tell apart."""
    if aim_of(query.text) is not Aim.OVERVIEW:
        return None
    within = np.ones(len(index), dtype=bool) if inside is None else inside
    then, is_known, _ = said_then(index, query, within, or_told_after=True)
    return then if is_known and then.sum() < within.sum() else None


def said_then(
    index: UnitIndex, query: Query, inside: Mask, *, or_told_after: bool = False
) -> tuple[Mask, bool, str]:
    """Which units are of the time that is asked about, and whether one is; all, and why, where none is.

    A time without a year is read as of now, and as of the newest unit when there is nothing then. What is
    asked of all times up to a day may be told soon after it: that counts with `or_told_after`.
    """
    newest = date.fromordinal(int(index.days[inside].max())) if inside.any() else query.now.date()
    note = ""
    for today in dict.fromkeys((query.now.date(), newest)):
        period = asked_period(query.text, today)
        if period is None:
            continue
        then = inside & _of_period(index, period, or_told_after=or_told_after)
        if then.any():
            return then, True, ""
        note = "nothing was said in the time that is asked about: lines of any time"
    return inside, False, note


def _of_period(index: UnitIndex, period: Period, *, or_told_after: bool) -> Mask:
    """Said in the period, or soon after a short one, or naming a day in it."""
    first = period.first.toordinal() if period.first else 0
    last = period.last.toordinal() if period.last else date.max.toordinal() - AFTER_DAYS
    is_short = last - first < LONG_DAYS or (or_told_after and period.first is None)
    late = AFTER_DAYS if is_short else 0
    then = (index.days >= first) & (index.days <= last + late)
    for row, first_named, last_named in index.named_days:
        if first <= first_named and last_named <= last:
            then[row] = True
    return np.asarray(then, dtype=bool)


def inside_query(index: UnitIndex, query: Query) -> npt.NDArray[np.bool_] | None:
    """(n,) which units a query may recall; None: all."""
    if query.scope.session is None and query.within is None and not query.without:
        return None
    inside = np.ones(len(index), dtype=bool)
    if query.scope.session is not None:
        inside &= index.of_session(query.scope.session)
    if query.within is not None:
        inside[index.source_rows[~np.isin(index.source_seqs, _array(query.within))]] = False
    if query.without:
        inside[index.source_rows[np.isin(index.source_seqs, _array(query.without))]] = False
    return inside


def _array(seqs: frozenset[int]) -> npt.NDArray[np.int64]:
    return np.fromiter(seqs, dtype=np.int64, count=len(seqs))


def may_recall(query: Query, unit: Unit) -> bool:
    """True if a query is of the session, and of all the messages, that a unit is from."""
    return query.scope.session in (None, unit.session) and query.lets_in(unit.sources)


def recallable(connection: Connection, query: Query) -> frozenset[int] | None:
    """Seqs of the messages that a query may recall; None: all of the user's."""
    if query.scope.session is None and not query.without:
        return query.within
    here = frozenset(log.seqs_where(connection, query.scope.user, session=query.scope.session))
    return (here if query.within is None else here & query.within) - query.without


def _with_partners(
    rows: Sequence[int], index: UnitIndex, inside: npt.NDArray[np.bool_] | None, budget_tokens: int
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
