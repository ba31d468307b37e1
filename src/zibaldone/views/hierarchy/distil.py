"""An episode read into memory: told, foreseen, distilled. At most three questions to a model, or none.

Every question has its own offline answer, so a model that fails at one of them leaves the others whole; the
reasons are kept with the episode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel

from zibaldone.core import Message
from zibaldone.models.asker import OFFLINE, Answer, Asker
from zibaldone.models.base import Vectors
from zibaldone.models.task import Task
from zibaldone.text.dated_text import resolved
from zibaldone.text.sentences import sentences
from zibaldone.text.titles import telling
from zibaldone.text.words import terms
from zibaldone.views.hierarchy.episodes import SHORTEST, Cut, Window, closed, due, turns_away
from zibaldone.views.hierarchy.narrative import narrative, title
from zibaldone.views.hierarchy.nodes import Episode, Statement
from zibaldone.views.hierarchy.semantics import (
    MOST_KNOWN,
    Distilled,
    Embed,
    Known,
    Near,
    settle,
    statements,
)
from zibaldone.views.hierarchy.tasks import (
    Distil,
    Expected,
    FindEpisodes,
    KnownShown,
    NameTheme,
    Narrate,
    Narrated,
    News,
    Predict,
    Starts,
    ThemeName,
    Told,
    shown_messages,
)

R = TypeVar("R", bound=BaseModel)
_NAME_WORDS = 4  # of a theme, without a model
_SHOWN = 24  # statements of a theme that a model is shown


@dataclass(frozen=True, slots=True)
class Reading:
    """What became of one episode."""

    episode: Episode
    distilled: Distilled
    calls: int = 0  # questions put to a model, repairs counted
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class _Cost:
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    made_by: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)

    def count(self, answer: Answer[Any]) -> None:
        """Add what one question has cost, and who answered it."""
        self.calls += answer.calls
        self.prompt_tokens += answer.prompt_tokens
        self.completion_tokens += answer.completion_tokens
        if answer.degraded:
            self.degraded.append(answer.degraded)
        if answer.made_by != OFFLINE:
            self.made_by.append(answer.made_by.rpartition("/")[0])


def find_cuts(
    asker: Asker,
    pending: Sequence[Message],
    vectors: Vectors,
    *,
    ended: bool,
    user: str,
    patient: bool = False,
) -> list[Cut]:
    """As `closed`, but a model says where; asked when, and of what, the offline way would decide.

    A model that fails is replaced by the offline cuts of the same messages, which are marked.
    """
    if not asker.has_model:
        return closed(pending, vectors, ended=ended)
    cuts: list[Cut] = []
    start = 0
    while window := due(pending[start:], ended=ended):
        seen = slice(start, start + window.size)
        found = _divided(asker, pending[seen], vectors[seen], window, user=user, patient=patient)
        cuts += found
        start += sum(cut.size for cut in found)
    return cuts


def _divided(
    asker: Asker, seen: Sequence[Message], vectors: Vectors, window: Window, *, user: str, patient: bool
) -> list[Cut]:
    """The cuts of one window, of which an open one keeps its last part open."""

    def offline() -> list[Cut]:
        cuts = closed(seen, vectors, ended=window.whole)
        return [*cuts[:-1], replace(cuts[-1], reason=window.reason)] if window.whole else cuts[:1]

    def fallback() -> Starts:
        ends = list(accumulate(cut.size for cut in offline()))
        return Starts(starts=[seen[end].seq for end in ends if end < len(seen)])

    if window.whole and window.size < 2 * SHORTEST:
        return offline()
    answer = asker.ask(FindEpisodes(shown_messages(seen), fallback), user=user, patient=patient)
    if answer.degraded or answer.made_by == OFFLINE:
        return [replace(cut, degraded=answer.degraded) for cut in offline()]
    place = {message.seq: i for i, message in enumerate(seen)}
    starts = [place[seq] for seq in answer.result.starts]
    cuts = [
        Cut(end - begin, "marker" if turns_away(seen[end]) else "topic")
        for begin, end in pairwise([0, *starts])
    ]
    if window.whole:
        cuts.append(Cut(len(seen) - (starts[-1] if starts else 0), window.reason))
    return cuts


def read_episode(
    asker: Asker,
    messages: Sequence[Message],
    *,
    episode: int,
    first_id: int,
    user: str,
    known: Known,
    embed: Embed,
    threshold: float,
    df: Mapping[str, int],
    n: int,
    degraded: str = "",
    patient: bool = False,
) -> Reading:
    """The messages of one block as episode `episode`, and what it adds to memory.

    `known`, `embed`, `threshold` and `first_id` are those of `settle`, `df` and `n` those of `title`;
    `degraded` is the block's own mark. Raises ModelFailed when `embed` does, ModelUnavailable and
    QuestionOpen as the asker does.
    """
    cost = _Cost(degraded=[degraded] if degraded else [])
    shown = shown_messages(messages)

    def ask(task: Task[R]) -> tuple[R, bool]:
        answer = asker.ask(task, user=user, patient=patient)
        cost.count(answer)
        return answer.result, answer.made_by != OFFLINE

    narrate = Narrate(shown, lambda: Narrated(title=title(messages, df, n), narrative=narrative(messages)))
    told, by_model = ask(narrate)
    if by_model and (borne_out := narrate.borne_out(told)) != told:
        cost.degraded.append("narrate: less what no message says")
        told = borne_out
    offline = statements(messages)
    facts: list[list[Statement]] = [[one] for one in offline]
    repeats: list[Statement] = []
    if asker.has_model:
        near = known(embed([f"{told.title}. {told.narrative}"]))[0][:MOST_KNOWN]
        expected = _expected(told.title, near, ask)
        distil = Distil(shown, tuple(expected), lambda: _as_news(offline))
        news, by_model = ask(distil)
        if by_model:
            refused = distil.refusals(news)
            kept = [fact for place, fact in enumerate(news.statements) if place not in refused]
            facts = [_grounded(fact, messages) for fact in kept]
            # Where a fact is refused, the sentences of its sources say what they say; where all are, of all.
            again = {seq for place in refused for seq in news.statements[place].sources}
            if refused and not kept:
                again = {fact.seq for fact in offline}
            facts += [[fact] for fact in offline if fact.seq in again]
            heard = {seq for fact in kept for seq in fact.sources} | again
            repeats = [fact for fact in offline if fact.seq not in heard]
            if refused:
                cost.degraded.append(
                    f"distil: {len(refused)} refused, the first {next(iter(refused.values()))}"
                )
    distilled = settle(
        facts,
        messages,
        episode=episode,
        first_id=first_id,
        known=known,
        embed=embed,
        threshold=threshold,
        repeats=repeats,
    )
    times = [message.time for message in messages if message.time]
    node = Episode(
        id=episode,
        session=messages[0].session,
        seqs=tuple(message.seq for message in messages),
        title=" ".join(told.title.split()),
        narrative=told.narrative.strip(),
        start=min(times),
        end=max(times),
        made_by=", ".join(dict.fromkeys(cost.made_by)),
        degraded="; ".join(cost.degraded),
    )
    return Reading(node, distilled, cost.calls, cost.prompt_tokens, cost.completion_tokens)


def name_theme(asker: Asker, texts: Sequence[str], *, user: str, patient: bool = False) -> Answer[ThemeName]:
    """A name for a theme of these statements; offline the words that most of them have."""

    def fallback() -> ThemeName:
        return ThemeName(name=", ".join(telling(texts, _NAME_WORDS)) or texts[0][:60])

    return asker.ask(NameTheme(tuple(texts[:_SHOWN]), fallback), user=user, patient=patient)


class _Ask(Protocol):
    def __call__(self, task: Task[R]) -> tuple[R, bool]: ...


def _expected(about: str, near: Sequence[Near], ask: _Ask) -> list[str]:
    """What the known statements let one expect; nothing where none is near, and then nobody is asked."""
    if not near:
        return []
    known = tuple(KnownShown(one.semantic.time.date().isoformat(), one.semantic.text) for one in near)
    found, _ = ask(Predict(about, known, lambda: Expected(expected=[one.text for one in known])))
    return found.expected


def _as_news(offline: Sequence[Statement]) -> News:
    return News.model_construct(statements=[Told(text=one.text, sources=[one.seq]) for one in offline])


def _grounded(told: Told, messages: Sequence[Message]) -> list[Statement]:
    """A model's fact as a statement of each of its messages, with the sentence that says it best."""
    contents = {message.seq: message for message in messages}
    text = " ".join(told.text.split())
    found = []
    for seq in dict.fromkeys(told.sources):
        message = contents[seq]
        assert message.time is not None  # what is stored has one
        found.append(Statement(seq, resolved(text, message.time.date()), _nearest(text, message.content)))
    return found


def _nearest(text: str, content: str) -> str:
    """The sentence of `content` that shares most terms with `text`; the first of those that share as many."""
    wanted = set(terms(text))
    parts = [content[start:end] for start, end in sentences(content)]
    return max(parts, key=lambda part: len(wanted & set(terms(part))), default=content)
