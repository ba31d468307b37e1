"""What a question has in sight: turns or blocks, chosen as the settings say and fetched."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from zibaldone import log
from zibaldone.views.kvcache.generate.generation import PromptContext, fitting, room_for
from zibaldone.views.kvcache.model.turns import QuestionTokens, question_of
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.probe import Choice, Recent
from zibaldone.views.kvcache.retrieve.whole_turns import TurnsInSight, fitting_turns, newest_turns
from zibaldone.views.kvcache.storage.manifest import KVBlock
from zibaldone.views.kvcache.storage.pool_reader import PoolReader, Read
from zibaldone.views.kvcache.storage.tiers import Hits
from zibaldone.views.kvcache.view import KVView


@dataclass(frozen=True, slots=True)
class Sought:
    """A question, and how much it may have in sight."""

    query: str
    now: datetime
    session: str | None  # that is going on
    k: int  # blocks
    budget_tokens: int  # of whole turns
    max_new_tokens: int
    by_text: tuple[int, ...] = ()  # seqs as text recall ranks them
    given: tuple[int, ...] | None = None  # seqs that the caller wants in sight, and no others


@dataclass(frozen=True, slots=True)
class Cited:
    """A message that was in sight."""

    seq: int
    session: str
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class Sight:
    """What one question has in sight."""

    query: str
    now: datetime
    choice: Choice | None  # None: attention was not asked
    recent: Recent
    context: PromptContext
    cited: tuple[Cited, ...]
    hits: Hits
    fetch_ms: float
    gone: int = 0  # chosen blocks that were forgotten, or unmade, before they were fetched

    @property
    def shown(self) -> tuple[KVBlock, ...]:
        return (*self.context.blocks, *self.recent.blocks)

    @property
    def seqs(self) -> tuple[int, ...]:
        """Of the messages in sight."""
        return tuple(sorted({seq for block in self.shown for seq in block.tile.seqs}))


@dataclass(frozen=True, slots=True)
class ChosenSight:
    """Before it is fetched."""

    question: QuestionTokens
    blocks: tuple[KVBlock, ...]  # in their order in sight
    dropped: int
    newest: tuple[KVBlock, ...]  # stand right before the question
    choice: Choice | None


class Looking:
    """Chooses and fetches. Not for several threads at once."""

    def __init__(self, view: KVView) -> None:
        self._view, self._encoder, self._config = view, view.encoder, view.config

    def look(self, reader: PoolReader | None, index: Index | None, user: str, sought: Sought) -> Sight:
        """Choose and fetch. Raises InvalidInput when the question does not fit the window."""
        chosen = self.choose(reader, index, sought)
        if reader is None or index is None:
            return self.nothing(sought, chosen.question)
        recent = chosen.choice.recent if chosen.choice else self._fetched(reader, chosen.newest)
        began = time.perf_counter()
        fetched = self._view.fetcher.fetch(reader, chosen.blocks)
        ms = (time.perf_counter() - began) * 1000
        context = PromptContext(fetched.blocks, fetched.raw, recent.raw, chosen.question.ids, chosen.dropped)
        sight = Sight(
            sought.query,
            sought.now,
            chosen.choice,
            recent,
            context,
            (),
            fetched.hits,
            ms,
            len(chosen.blocks) - len(fetched.blocks),
        )
        return replace(sight, cited=cited(reader.read, user, sight.seqs))

    def choose(self, reader: PoolReader | None, index: Index | None, sought: Sought) -> ChosenSight:
        """Choose alone: what an engine of its own is to fetch. Raises InvalidInput as `look` does."""
        question = question_of(self._encoder.tokenizer, self._encoder.form, sought.query, sought.now)
        room = room_for(self._encoder, question.ids, sought.max_new_tokens)
        if reader is None or index is None:
            return ChosenSight(question, (), 0, (), None)
        if self._config.whole_turns or sought.given is not None:
            return self._turns(reader, sought, question, room)
        return self._blocks(reader, index, sought, question, room)

    def nothing(self, sought: Sought, question: QuestionTokens) -> Sight:
        """The question alone, for who has no blocks."""
        context = PromptContext((), (), (), question.ids)
        return Sight(sought.query, sought.now, None, Recent(()), context, (), Hits(), 0.0)

    def _blocks(
        self, reader: PoolReader, index: Index, sought: Sought, question: QuestionTokens, room: int
    ) -> ChosenSight:
        """The k best blocks, and the newest ones before the question."""
        newest = reader.newest(sought.session, self._config.probe_tokens) if self._config.probe_tokens else []
        recent = self._view.probe.recent(newest, room)
        choice = self._view.choose(reader, index, sought.query, sought.now, k=sought.k, behind=recent.blocks)
        blocks, dropped = fitting(choice, room)
        return ChosenSight(question, blocks, dropped, choice.recent.blocks, choice)

    def _turns(self, reader: PoolReader, sought: Sought, question: QuestionTokens, room: int) -> ChosenSight:
        """The best whole turns, and the newest ones of the session that is going on."""
        budget = min(sought.budget_tokens, room)
        newest = self._newest(reader, sought, budget)
        ranked = sought.by_text if sought.given is None else sought.given
        standing = frozenset(seq for block in newest.blocks for seq in block.tile.seqs)
        left, order = budget - newest.tokens, self._config.order
        turns = fitting_turns(ranked, reader.turns(ranked), left, standing, order)
        return ChosenSight(question, turns.blocks, turns.dropped, newest.blocks, None)

    def _newest(self, reader: PoolReader, sought: Sought, budget: int) -> TurnsInSight:
        most = min(self._config.probe_tokens, budget)
        if sought.session is None or not most or sought.given is not None:
            return TurnsInSight(())
        return newest_turns(reader.newest(sought.session, most), most)

    def _fetched(self, reader: PoolReader, newest: Sequence[KVBlock]) -> Recent:
        fetched = self._view.fetcher.fetch(reader, newest)
        return Recent(fetched.blocks, fetched.raw)


def cited(read: Read, user: str, seqs: Sequence[int]) -> tuple[Cited, ...]:
    """These messages, as far as the log still has them."""
    with read() as connection:
        messages = log.fetch(connection, user, seqs)
    return tuple(
        Cited(seq, m.session, m.time, m.speaker, m.content)
        for seq, m in sorted(messages.items())
        if m.time is not None
    )
