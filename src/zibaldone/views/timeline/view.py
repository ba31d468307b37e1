"""The timeline view: dated lines, for questions about order, history, progress and a stretch of time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.models.base import Embedder, Tokenizer, Vectors, WordEmbedder
from zibaldone.models.embedding import embed
from zibaldone.rendering import line, line_tokens
from zibaldone.search.explanation import Explanation
from zibaldone.search.question import Question
from zibaldone.search.ranker import TalkWeights, Weights, covered, read_question, score
from zibaldone.search.request import Aim, read_request
from zibaldone.search.unit import Unit
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views import units
from zibaldone.views.base import (
    Generation,
    PrepareContext,
    Query,
    Retrieved,
    TakeSnapshot,
)
from zibaldone.views.timeline.choosing import choose_lines
from zibaldone.views.timeline.lines import HEARD, lines_of
from zibaldone.views.timeline.subject import about, of_subject
from zibaldone.views.toolkit import (
    FOREIGN_VECTORS,
    MOST_UNREAD,
    OFFERED,
    days_named,
    evidence_of,
    inside_query,
    question_vector,
    said_then,
    usable,
)
from zibaldone.views.unit_cache import UnitCache
from zibaldone.views.units_view import IndexedUnitsView

_ANALYSIS = "4"  # raise it when other lines would be made of the same log
# Lines are of one form, so what a turn looks like says nothing, and the words around them little. Nor is an
# assistant among them, which would tell one kind of talk from the other.
_LINES = Weights(
    lexical=0.3,
    lexical_2=0.07,
    lexical_5=0.0,
    dense=0.75,
    dense_2=0.0,
    answers=0.0,
    asks=0.0,
    proper_nouns=0.0,
    tells=0.0,
)
_WEIGHTS = TalkWeights.alike(_LINES)


@dataclass(frozen=True, slots=True)
class PreparedLines:
    """Lines of a batch, as units, and the vectors of the messages that they tell of, (n, d)."""

    units: list[Unit]
    vectors: Vectors | None  # None: they are made again when they are wanted


class TimelineView(IndexedUnitsView):
    """One line per episode, and per step of it: see `lines`. A line stands on one message."""

    name = "timeline"

    def __init__(self, embedder: Embedder, word_embedder: WordEmbedder, tokenizer: Tokenizer) -> None:
        """As the messages view."""
        super().__init__(embedder, _ANALYSIS)
        self._tokenizer = tokenizer
        self._remade = units.Remade.by(embedder, lambda _, message: message.content)
        self._cache = UnitCache(
            self.name,
            embedder.dimension,
            word_embedder,
            lambda unread: self._units(unread, {}),
            remade=self._remade,
            appends=True,
            most_unread=MOST_UNREAD,
        )

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> PreparedLines | None:
        """Find the lines, with what was said just before in each session; embed the messages they tell of.

        A line's vector is that of its whole message: what was left out still says what it is about.
        """
        if basis is None:
            return None
        sessions = {message.session for message in reversed(messages)}
        with basis.read() as connection:
            before = {
                session: log.last(connection, basis.user, session, before=messages[0].seq, most=HEARD)
                for session in sorted(sessions)
            }
        made = self._units(messages, before)
        vectors = None
        if self._remade is None:
            content = {message.seq: message.content for message in messages}
            vectors = embed(self._embedder, [content[unit.seq] for unit in made])
        if progress:
            progress(len(messages))
        return PreparedLines(made, vectors)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],  # noqa: ARG002 - the lines know theirs
        prepared: PreparedLines,
    ) -> None:
        """A row per line."""
        vectors = [None] * len(prepared.units) if prepared.vectors is None else prepared.vectors
        rows = (
            units.Row(
                unit.sources, unit.part, unit.kind, unit.tokens, vector, unit.days, unit.start, text=unit.text
            )
            for unit, vector in zip(prepared.units, vectors, strict=True)
        )
        units.insert(connection, self.name, generation, rows)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """Lines on the question's subject, of the time it asks about, spread over it; see `choose_lines`.

        A bare subject has those that are `about` it; of what wants an overview or a list, all are ranked.

        Their scores say when they were taken: a prefix of them is as well spread as the whole. The time is a
        filter, unless no line is left.
        """
        user = query.scope.user
        with take_snapshot() as now:
            if not now.state.last_seq:
                return Retrieved((), 0, 0.0, Explanation.of_nothing())
            with self._cache.index(now, user, usable(now.generation, self.fingerprint)) as index:
                question = read_question(query.text, query.now.date(), index, query.people, query.request)
        subject = of_subject(question, query.text, query.now.date())
        vector, note = question_vector(self._embedder, subject)
        with take_snapshot() as now:
            here = usable(now.generation, self.fingerprint)
            if now.generation is not None and here is None:
                note = FOREIGN_VECTORS
            with self._cache.index(now, user, here) as index:
                return self._chosen(index, query, question, subject, vector, note)

    def _chosen(
        self,
        index: UnitIndex,
        query: Query,
        question: Question,
        subject: Question,
        vector: Vectors,
        note: str,
    ) -> Retrieved:
        if not len(index):
            return Retrieved((), 0, 0.0, Explanation.of_nothing(), note)
        inside = inside_query(index, query)
        if inside is None:
            inside = np.ones(len(index), dtype=bool)
        then, known, when = said_then(index, query, inside)
        scores = score(index, subject, vector, _WEIGHTS, inside)
        # A time that memory knows of, or all that was ever talked of.
        if known or (question.terms and not subject.terms and inside.any()):
            scores = replace(scores, confidence=1.0)
        aim = (query.request or read_request(query.text)).aim
        if subject.terms and aim not in (Aim.OVERVIEW, Aim.LIST):
            of_then = np.flatnonzero(then)
            on_it = about(scores.total[of_then], covered(index, subject)[of_then])
            then[of_then[~on_it]] = False
            if len(of_then) and not on_it.any():
                when = "; ".join(filter(None, (when, "no line is about this")))
        chosen = choose_lines(
            index.units, np.where(then, scores.total, -np.inf), OFFERED * query.budget_tokens
        )
        rows = [line.row for line in chosen]
        explanation = Explanation.of(index, scores)
        evidence = tuple(
            evidence_of(index.units[line.row], self.name, line.worth, channels)
            for line, channels in zip(chosen, explanation.of_rows(rows), strict=True)
        )
        return Retrieved(
            evidence, len(index), scores.confidence, explanation, "; ".join(filter(None, (note, when)))
        )

    def _units(self, messages: Sequence[Message], before: dict[str, list[Message]]) -> list[Unit]:
        dated_lines = lines_of(messages, before)
        counts = line_tokens(
            [line(message.speaker, dated_line.text) for message, dated_line in dated_lines],
            self._tokenizer.count,
        )
        made = []
        for (message, dated_line), tokens in zip(dated_lines, counts, strict=True):
            assert message.time is not None  # what is stored has one
            made.append(
                Unit(
                    sources=(message.seq,),
                    part=0,
                    text=dated_line.text,
                    kind="line",
                    tokens=tokens,
                    session=message.session,
                    role=message.voice,
                    name=message.name,
                    time=message.time,
                    days=days_named(message, dated_line.text),
                    start=dated_line.start,
                    is_dated=message.is_dated,
                )
            )
        return made
