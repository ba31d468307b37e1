"""Reads an episode: narrates, predicts and distils it, with at most three model calls, or none.

Every question has its own offline answer, so a model that fails at one of them leaves the others whole; the
reasons are kept with the episode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from pydantic import BaseModel

from zibaldone.core import Message
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import embed
from zibaldone.models.task import Task, shown_message
from zibaldone.search import dense
from zibaldone.text.dated_text import day_of, resolved
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms
from zibaldone.views.hierarchy import nodes, tasks
from zibaldone.views.hierarchy.episodes import LONGEST, SHORTEST, Block, Cut, Window, closed, due, time_of
from zibaldone.views.hierarchy.nodes import Episode, Semantic, Statement
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.tasks import Distil, NewFacts, StatedFact

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class EpisodeMaker:
    """Cuts, narrates and distils episodes: with a model where there is one, else by plain algorithms.

    Raises ModelFailed when the embedder does, ModelUnavailable and QuestionOpen as the asker does.
    """

    asker: Asker
    embedder: Embedder
    user: str
    patient: bool = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, d) vectors, rounded as the database stores them, so that a restart decides the same."""
        vectors = embed(self.embedder, texts)
        return dense.from_bytes([dense.to_bytes(row) for row in vectors], self.embedder.dimension)

    def cut(self, pending: Sequence[Message], *, ended: bool) -> list[Cut]:
        """Like `closed`, but a model decides, of the windows that the offline way would decide.

        A model that fails is replaced by the offline cuts of the same messages, which are marked.
        """
        if not self.asker.has_model:
            return closed(pending, ended=ended)
        cuts: list[Cut] = []
        start = 0
        while window := due(pending[start:], ended=ended):
            cuts += self._divided(pending[start : start + window.size], window)
            start = sum(cut.size for cut in cuts)
        return cuts

    def read(self, block: Block, known: Structure) -> tuple[Episode, list[Semantic]]:
        """Make an episode of a block's messages, with the semantics that it adds to those that are known."""
        messages, shown = block.messages, tuple(map(shown_message, block.messages))
        made_by, degraded = [], [block.degraded]

        def ask(task: Task[R]) -> tuple[R, str]:
            result, model, why = self._ask(task)
            made_by.append(model)
            degraded.append(why)
            return result, model

        def offline_narrative() -> tasks.Narrated:
            title = nodes.title(messages, known.df, known.statements)
            return tasks.Narrated(title=title, narrative=nodes.narrative(messages))

        narrate = tasks.Narrate(shown, offline_narrative)
        narrated, model = ask(narrate)
        if model and (borne_out := narrate.borne_out(narrated)) != narrated:
            degraded.append("narrate: less what no message says")
            narrated = borne_out
        offline = nodes.statements(messages)
        facts = [[statement] for statement in offline]
        if self.asker.has_model:
            near = known.nearest(self.embed([f"{narrated.title}. {narrated.narrative}"])[0])
            expected: list[str] = []
            if near:
                predict = _predict(narrated.title, near)
                expected = predict.borne_out(ask(predict)[0]).expected
            distil = Distil(shown, tuple(expected))
            news, model = ask(distil)
            if model:
                facts = _facts(distil, news, messages, offline, degraded)
        times = {message.seq: time_of(message) for message in messages}
        episode = Episode(
            known.state.next_episode,
            messages[0].session,
            tuple(times),
            " ".join(narrated.title.split()),
            narrated.narrative.strip(),
            min(times.values()),
            max(times.values()),
            ", ".join(dict.fromkeys(filter(None, made_by))),
            "; ".join(filter(None, degraded)),
        )
        return episode, [
            Semantic(number, episode.id, tuple(stated), times[stated[0].seq])
            for number, stated in enumerate(facts, known.state.next_semantic)
        ]

    def name(self, facts: Sequence[str]) -> tuple[str, str]:
        """(name of a theme, the model's that gave it); empty without one."""
        answer, model, _ = self._ask(tasks.NameTheme(tuple(facts)))
        return answer.name.strip(), model

    def _ask(self, task: Task[R]) -> tuple[R, str, str]:
        """(answer, the model that gave it or "", why the model's is missing)."""
        answer = self.asker.ask(task, user=self.user, patient=self.patient)
        model = "" if answer.made_by == OFFLINE else answer.made_by.rpartition("/")[0]
        return answer.result, model, answer.degraded

    def _divided(self, seen: Sequence[Message], window: Window) -> list[Cut]:
        """Cuts of one window; of a window that goes on the last part stays open."""

        def offline() -> list[Cut]:
            cuts = closed(seen, ended=window.whole)
            return cuts if window.whole else cuts[:1]

        if window.whole and window.size < 2 * SHORTEST:
            return offline()
        task = tasks.FindEpisodes(tuple(map(shown_message, seen)))
        starts, model, degraded = self._ask(task)
        if not model:
            return [replace(cut, degraded=degraded) for cut in offline()]
        cuts: list[Cut] = []
        for begin, end in pairwise([0, *task.places(starts), len(seen)]):
            if end == len(seen) and not window.whole:
                return cuts or offline()
            # What is longer than an episode may be is halved.
            cuts += closed(seen[begin:end], ended=True) if end - begin > LONGEST else [Cut(end - begin)]
        return cuts


def _predict(title: str, semantics: Sequence[Semantic]) -> tasks.Predict:
    known = tuple(tasks.KnownFact(one.time.date().isoformat(), one.text) for one in semantics)
    return tasks.Predict(title, known, lambda: tasks.Expected(expected=[fact.text for fact in known]))


def _facts(
    distil: Distil,
    news: NewFacts,
    messages: Sequence[Message],
    offline: Sequence[Statement],
    degraded: list[str],
) -> list[list[Statement]]:
    """A model's facts that their sources bear out, as statements.

    Where a fact is refused, the sentences of its sources say what they say; where it has none, those of all
    messages that no other fact names.
    """
    stated, refused = distil.judged(news)
    heard = {seq for fact in stated for seq in fact.sources}
    again = {seq for fact, _ in refused for seq in fact.sources}
    if refused:
        degraded.append(f"distil: {len(refused)} refused, the first {refused[0][1]}")
    if any(not fact.sources for fact, _ in refused):
        again |= {message.seq for message in messages} - heard
    facts = [_grounded(fact, messages) for fact in stated]
    return facts + [[statement] for statement in offline if statement.seq in again]


def _grounded(fact: StatedFact, messages: Sequence[Message]) -> list[Statement]:
    """A model's fact as a statement for each of its messages, with the sentence that says it best."""
    by_seq = {message.seq: message for message in messages}
    text = " ".join(fact.text.split())
    wanted = set(terms(text))
    grounded = []
    for seq in dict.fromkeys(fact.sources):
        content = by_seq[seq].content
        spans = sentences(content) or [(0, len(content))]
        start, end = max(spans, key=lambda span: len(wanted.intersection(terms(content[slice(*span)]))))
        dated = resolved(text, day_of(by_seq[seq]))
        grounded.append(Statement(seq, dated, content[start:end], start, by_seq[seq].speaker))
    return grounded
