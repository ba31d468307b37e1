"""KVMemory: for users who run their own model, memory in that model's own keys and values (MemArt).

Needs the extra `kv`: pip install 'commonplace[kv]'.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from commonplace import log, maintenance
from commonplace.core import Message
from commonplace.errors import InvalidInput, MissingExtra
from commonplace.incoming import TimeLike, count, file_path, key, shown, to_time
from commonplace.memory import Memory, now_utc
from commonplace.models.base import Tokenizer
from commonplace.storage.database import Database
from commonplace.storage.records import read_again
from commonplace.views.base import Generation
from commonplace.views.kv.config import PRESETS, MemArt
from commonplace.views.kv.manifest import Block, Pool
from commonplace.views.kv.store import FOLDER, KVStore

try:
    import torch
    from transformers import PreTrainedModel

    from commonplace.views.kv import transfer
    from commonplace.views.kv.asking import Asking, Choice
    from commonplace.views.kv.calibration import Calibration, Needles, calibrate, plain_needles
    from commonplace.views.kv.encoding import Encoder, cut, tokens_in
    from commonplace.views.kv.fetching import Fetcher
    from commonplace.views.kv.fingerprint import fingerprint, of_model
    from commonplace.views.kv.generation import (
        Context,
        Generated,
        finish,
        fitting,
        generate,
        generate_layered,
        greedy_at,
        room_for,
    )
    from commonplace.views.kv.retrieval import rank
    from commonplace.views.kv.scoring import Asked
    from commonplace.views.kv.tap import RawKV, Tap
    from commonplace.views.kv.tiers import Hits, Tiers
    from commonplace.views.kv.turns import (
        Question,
        TurnFormat,
        check_tokenizer,
        plain,
        question_of,
        tokens_of,
    )
    from commonplace.views.kv.view import Budget, KVView
    from commonplace.views.kv.writer import Writer
except ModuleNotFoundError as error:
    if error.name is not None and error.name.split(".")[0] == "commonplace":
        raise
    raise MissingExtra(f"no module {error.name!r}: pip install 'commonplace[kv]'") from error

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "Answer",
    "BlockScore",
    "Budget",
    "Calibration",
    "Cited",
    "KVMemory",
    "KVTrace",
    "MemArt",
    "Needles",
    "Remembered",
    "TurnFormat",
]


@dataclass(frozen=True, slots=True)
class BlockScore:
    """A block, as a question sees it."""

    block: int
    seqs: tuple[int, ...]  # of the messages that it has tokens of
    session: str
    text: str  # of its tokens
    tokens: int
    rank: int  # from 1, by score
    score: float  # I(Q, K) of Eq. 4, natural logarithm; by boxes


@dataclass(frozen=True, slots=True)
class Cited:
    """A message that was in sight."""

    seq: int
    session: str
    time: datetime
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class KVTrace:
    """How an answer came about."""

    considered: int  # blocks scored
    rescored: int  # of those, scored again by their own keys
    recent_tokens: int  # of the newest turns, which stand before the question
    dropped: int  # chosen blocks that the window had no room for
    hits: Hits  # where the chosen blocks came from
    probe_ms: float  # reading the question
    score_ms: float
    fetch_ms: float
    prefill_ms: float  # to the first token, from when all blocks were at hand
    ms: float
    by_layer: Mapping[int, tuple[int, ...]]  # with selection="per_layer": blocks by layer


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said."""

    text: str
    texts: tuple[str, ...]  # all of them, with num_return_sequences
    blocks: tuple[int, ...]  # numbers of the blocks in sight, in the order of the log
    citations: tuple[Cited, ...]  # the messages that those are of, in the order of the log
    prefill_tokens: int  # that the model computed before the answer
    kv_tokens: int  # that it reused
    trace: KVTrace


@dataclass(frozen=True, slots=True)
class Remembered:
    """What remember() did."""

    messages: int
    blocks: int  # in the pool now, of this user
    tokens: int


class KVMemory:
    """A model with a memory. One per model and folder; safe to share among threads, which take turns."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        memory: Memory,
        *,
        preset: str = "best",
        config: MemArt | None = None,
        format: TurnFormat | None = None,  # noqa: A002 - the word a caller expects
        system: str = "",
        needles: Needles | None = None,
        budget: Budget | None = None,
        queue: int = 16,
    ) -> None:
        """Attach a causal language model of Transformers with rotary positions, and its tokenizer.

        `preset` is "best" or "paper", or `config` says it all. `format` says how turns are written (plain()
        unless given), `system` is pinned before everything. The first time, a self-test finds the layers that
        retrieve, with `needles` in place of plain English ones where the model knows another language; the
        result is kept in the folder. `queue` is how many answers may wait to be written.

        Raises UnsupportedModel, which says why the model does not fit, and InvalidInput.
        """
        if not isinstance(memory, Memory):
            raise InvalidInput(f"memory must be a Memory, not {shown(memory)}")
        if preset not in PRESETS:
            raise InvalidInput(f"preset must be one of {', '.join(PRESETS)}, not {shown(preset)}")
        if not isinstance(model, PreTrainedModel) or not model.can_generate():
            raise InvalidInput(
                f"model must be a causal language model of Transformers, not {shown(type(model))}"
            )
        self.config = config or PRESETS[preset]
        self.memory = memory
        size = model.get_input_embeddings().weight.shape[0]
        check_tokenizer(tokenizer, size)
        form = format or plain(system)
        if format is not None and system:
            form = replace(form, pinned=form.pinned + system)
        tap = Tap(model)
        try:
            identity = of_model(model)
            encoder = Encoder(tap, tokenizer, form, self.config, ())

            def make(database: Database, counter: Tokenizer) -> KVView:
                self._database = database
                store = KVStore(database.folder / FOLDER)
                layers = self._layers(store, encoder, identity, needles)
                encoder.layers = tuple(sorted(layers))
                print_ = fingerprint(identity, tokenizer, form, self.config, encoder.layers)
                return KVView(store, encoder, print_, counter, layers, budget)

            self.view = memory.attach(make)
        except BaseException:
            tap.detach()
            raise
        self._encoder = encoder
        self._writer = Writer(count("queue", queue, least=1))

    def close(self) -> None:
        """Write what waits, and give the model back as it was; idempotent. The Memory stays open."""
        self._writer.close()
        self.memory.detach(self.view)
        self.view.close()

    def __enter__(self) -> KVMemory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def calibration(self) -> Calibration | None:
        """What the self-test found; None when the layers were given."""
        return self._calibration

    def remember(self, *, user: str | None = None) -> Remembered:
        """Encode what the log has and the pool lacks; another model's pool is made anew.

        Of one user or of all.
        """
        if user is not None:
            key("user", user)
        self._writer.wait()
        done = self.memory.maintain(user=user, views=[self.view.name])
        names = self.memory.users() if user is None else [user]
        with self._database.read() as connection:
            found = [self.view.stats(connection, name) for name in names]
        counts = [{one.kind: one.rows for one in counted} for counted in found]
        return Remembered(
            done.messages, sum(one["blocks"] for one in counts), sum(one["tokens"] for one in counts)
        )

    def flush(self) -> None:
        """Wait until every answer so far is in the pool."""
        self._writer.wait()

    @overload
    def generate(self, query: str, *, user: str, **options: Any) -> Answer: ...
    @overload
    def generate(self, query: Sequence[str], *, user: str, **options: Any) -> list[Answer]: ...

    def generate(
        self,
        query: str | Sequence[str],
        *,
        user: str,
        session: str | None = None,
        top_k: int | None = None,
        max_new_tokens: int = 128,
        remember: bool = False,
        now: TimeLike | None = None,
        **options: Any,
    ) -> Answer | list[Answer]:
        """Answer a question, or several side by side, with the k most relevant blocks in sight.

        What the log has and the pool lacks is encoded first. `session` says which conversation is going on:
        its newest turns stand right before the question; blocks come from all of the user's sessions. With
        `remember` question and answer become messages of it, and the keys that the model computed become
        their blocks. `options` go to the model's own generate: do_sample, num_beams, streamer ...

        Raises InvalidInput when the question does not fit the window, and ForeignKV.
        """
        key("user", user)
        several = not isinstance(query, str)
        queries = [query] if isinstance(query, str) else list(query)
        if not queries or not all(isinstance(one, str) for one in queries):
            raise InvalidInput(f"query must be a string, or several, not {shown(query)}")
        if session is not None:
            key("session", session)
        k = self.config.top_k if top_k is None else count("top_k", top_k, least=1)
        count("max_new_tokens", max_new_tokens, least=1)
        if remember and several:
            raise InvalidInput("remember=True takes one question at a time: each answer is a turn of its own")
        at = to_time(now_utc() if now is None else now, "now")
        self.remember(user=user)
        given = {"max_new_tokens": max_new_tokens, "do_sample": False, **options}
        answers = read_again(lambda: self._generate(queries, user, session, k, at, given, remember=remember))
        return answers if several else answers[0]

    def scores(
        self, query: str, *, user: str, session: str | None = None, now: TimeLike | None = None
    ) -> list[BlockScore]:
        """Every block's relevance to a question, the best first: for people who look.

        `session` narrows to one.
        """
        key("user", user)
        if not isinstance(query, str):
            raise InvalidInput(f"query must be a string, not {shown(query)}")
        self.remember(user=user)
        at = to_time(now_utc() if now is None else now, "now")

        def once() -> Choice | None:
            with self._database.read() as connection:
                pool = self.view.pool(connection, maintenance.serving(connection, user, self.view))
                if pool is None:
                    return None
                with self.view.model_lock:
                    return self.view.choose(connection, pool, query, at, k=1, session=session)

        choice = read_again(once)
        if choice is None:
            return []
        best = choice.ranked.scores.best
        order = [int(i) for i in np.lexsort((np.arange(len(best)), -best)) if best[i] > -np.inf]
        return [
            self._score(choice.index.blocks[i], place, float(best[i])) for place, i in enumerate(order, 1)
        ]

    def prefetch(self, *, user: str, session: str | None = None, blocks: int = 256) -> None:
        """Begin to read the user's newest blocks into main memory; returns at once."""
        key("user", user)
        with self._database.read() as connection:
            pool = self.view.pool(connection, maintenance.serving(connection, user, self.view))
            if pool is not None:
                self.view.fetcher.prefetch(pool, self.view.newest(connection, pool, session, blocks))

    def export(self, *, user: str, path: str | Path) -> int:
        """Write the user's blocks to a safetensors file; returns how many. Memory.export writes the log."""
        key("user", user)
        self.remember(user=user)
        with self._database.read() as connection:
            pool = self.view.pool(connection, maintenance.serving(connection, user, self.view))
            if pool is None:
                raise InvalidInput(f"user {user!r} has no blocks: nothing to export")
            return transfer.export(connection, self.view, pool, file_path("path", path))

    def import_(self, path: str | Path, *, user: str) -> int:
        """Take blocks from a file that export wrote, for messages that the log has; returns how many.

        Saves encoding them. Raises ForeignKV for another model's, and InvalidImport for a file that does not
        fit the log.
        """
        key("user", user)
        self._writer.wait()
        return transfer.import_(self._database, self.view, user, file_path("path", path))

    def _layers(
        self, store: KVStore, encoder: Encoder, identity: str, needles: Needles | None
    ) -> dict[int, tuple[int, ...] | None]:
        """The layers that score, and their heads; calibrated once per model."""
        self._calibration: Calibration | None = None
        every = range(len(encoder.tap.shapes))
        if self.config.layers == "all":
            return dict.fromkeys(every)
        if not isinstance(self.config.layers, str):
            if unknown := [layer for layer in self.config.layers if layer not in every]:
                raise InvalidInput(f"layers {unknown} are not there: the model has 0 to {len(every) - 1}")
            return dict.fromkeys(self.config.layers)
        sought = needles or plain_needles()
        path = store.root / "models" / f"{identity}-{sought.digest}.json"
        found = Calibration.kept(path)
        if found is None:
            tiers = Tiers(encoder.tap.device, 0, 0)
            try:
                found = calibrate(encoder, Asking(encoder, Fetcher(store, encoder, tiers), {}), sought)
            finally:
                tiers.close()
            found.keep(path)
        self._calibration = found
        return dict(found.heads)

    def _generate(
        self,
        queries: Sequence[str],
        user: str,
        session: str | None,
        k: int,
        now: datetime,
        options: Mapping[str, Any],
        *,
        remember: bool,
    ) -> list[Answer]:
        with self.view.model_lock:
            began = time.perf_counter()
            with self._database.read() as connection:
                generation = maintenance.serving(connection, user, self.view)
                pool = self.view.pool(connection, generation)
                if self.config.selection == "per_layer":
                    return [self._layered(connection, pool, user, one, k, now, options) for one in queries]
                choices, contexts, hits, fetch_ms = [], [], [], []
                remade: list[Any] = []
                for one in queries:
                    choice, context, fetched, ms = self._context(
                        connection, pool, one, session, k, now, options
                    )
                    choices.append(choice)
                    contexts.append(context)
                    hits.append(fetched.hits if fetched else Hits())
                    remade += fetched.drafts if fetched else ()
                    fetch_ms.append(ms)
                citations = [
                    self._cited(connection, user, context.blocks, choice)
                    for context, choice in zip(contexts, choices, strict=True)
                ]
                state = log.state(connection, user)
            if self.config.positions == "coupled":
                made = [self._coupled(c, x, options) for c, x in zip(choices, contexts, strict=True)]
            else:
                made = generate(self._encoder, contexts, catch=remember, options=options)
            answers = []
            for i, done in enumerate(made):
                choice = choices[i]
                texts = tuple(self._text(ids) for ids in done.sequences)
                recent = choice.recent.blocks if choice else ()
                trace = KVTrace(
                    len(choice.index.blocks) if choice else 0,
                    choice.ranked.rescored if choice else 0,
                    choice.recent.tokens if choice else 0,
                    contexts[i].dropped,
                    hits[i],
                    choice.probe_ms if choice else 0.0,
                    choice.score_ms if choice else 0.0,
                    fetch_ms[i],
                    done.prefill_ms,
                    (time.perf_counter() - began) * 1000,
                    {},
                )
                blocks = tuple(block.number for block in (*contexts[i].blocks, *recent))
                answers.append(
                    Answer(
                        texts[0],
                        texts,
                        blocks,
                        citations[i],
                        done.prefill_tokens,
                        contexts[i].kv_tokens,
                        trace,
                    )
                )
        if pool is not None:
            for context in contexts:
                self.view.note_use(pool.generation, context.blocks)
            self.view.put_back(self._database, pool, remade)
        if remember:
            self._remember(
                queries[0], answers[0], made[0], contexts[0], choices[0], user, session, now, state
            )
        return answers

    def _context(
        self,
        connection: Any,
        pool: Pool | None,
        query: str,
        session: str | None,
        k: int,
        now: datetime,
        options: Mapping[str, Any],
    ) -> Any:
        if pool is None:
            question = question_of(self._encoder.tokenizer, self._encoder.form, query, now)
            room_for(self._encoder, question.ids, int(options["max_new_tokens"]))
            return None, Context((), (), (), question.ids), None, 0.0
        choice = self.view.choose(connection, pool, query, now, k=k, standing=session, recent=True)
        room = room_for(self._encoder, choice.question.ids, int(options["max_new_tokens"]))
        blocks, dropped = fitting(choice, room)
        began = time.perf_counter()
        fetched = self.view.fetch(connection, pool, blocks)
        ms = (time.perf_counter() - began) * 1000
        context = Context(blocks, fetched.raw, choice.recent.raw, choice.question.ids, dropped)
        return choice, context, fetched, ms

    def _coupled(self, choice: Choice | None, context: Context, options: Mapping[str, Any]) -> Generated:
        """Figure 7: every key at the position that it had in the whole history."""
        began = time.perf_counter()
        prefix = self._encoder.prefix
        parts = [(prefix, 0)] if prefix is not None else []
        at, starts = tokens_in(prefix), {}
        for block in sorted(choice.index.blocks if choice else (), key=lambda one: one.chronological):
            starts[block.number] = at
            at += block.tokens
        recent = choice.recent if choice else None
        shown_blocks = [*zip(context.blocks, context.raw, strict=True)]
        shown_blocks += [*zip(recent.blocks, recent.raw, strict=True)] if recent else []
        parts += [(raw, starts[block.number]) for block, raw in shown_blocks]
        ids = greedy_at(self._encoder, parts, context.ids, at, int(options["max_new_tokens"]))
        ms = (time.perf_counter() - began) * 1000
        return Generated((tuple(ids),), len(context.ids), None, ms, ms)

    def _layered(
        self,
        connection: Any,
        pool: Pool | None,
        user: str,
        query: str,
        k: int,
        now: datetime,
        options: Mapping[str, Any],
    ) -> Answer:
        began = time.perf_counter()
        question = question_of(self._encoder.tokenizer, self._encoder.form, query, now)
        room = room_for(self._encoder, question.ids, int(options["max_new_tokens"])) + tokens_in(
            self._encoder.prefix
        )
        if pool is None:
            done = generate(self._encoder, [Context((), (), (), question.ids)], catch=False, options=options)[
                0
            ]
            return self._layered_answer(connection, user, done, question, {}, [], 0, 0, Hits(), began)
        index = self.view.indexes.get(connection, pool)
        tokens = min(k * self.config.block_tokens, sum(block.tokens for block in index.blocks), room)
        by_layer: dict[int, tuple[int, ...]] = {}
        hits = Hits()
        used: dict[int, Block] = {}

        def choose(layer: int, queries: Tensor) -> RawKV:
            nonlocal hits
            asked = [Asked(layer, queries)]
            order = rank(
                index, asked, replace(self.config, rescore=0), len(index.blocks), frozenset(), _no_keys
            )
            taken, left = [], tokens
            for place in order.places:
                if left <= 0:
                    break
                taken.append(index.blocks[place])
                left -= index.blocks[place].tokens
            last = taken[-1]
            taken.sort(key=lambda block: block.chronological)
            fetched = self.view.fetch(connection, pool, taken)
            hits += fetched.hits
            parts = [
                cut((raw[layer],), 0, block.tokens + left if block is last and left < 0 else None)[0]
                for block, raw in zip(taken, fetched.raw, strict=True)
            ]
            by_layer[layer] = tuple(block.number for block in taken)
            used.update({block.number: block for block in taken})
            keys = torch.cat([part.keys for part in parts], dim=-2)
            return RawKV(keys, torch.cat([part.values for part in parts], dim=-2))

        done = generate_layered(self._encoder, question.ids, tokens, choose, options)
        blocks = sorted(used.values(), key=lambda block: block.chronological)
        self.view.note_use(pool.generation, blocks)
        return self._layered_answer(
            connection, user, done, question, by_layer, blocks, tokens, len(index.blocks), hits, began
        )

    def _layered_answer(
        self,
        connection: Any,
        user: str,
        done: Generated,
        question: Question,
        by_layer: Mapping[int, tuple[int, ...]],
        blocks: Sequence[Block],
        tokens: int,
        considered: int,
        hits: Hits,
        began: float,
    ) -> Answer:
        texts = tuple(self._text(ids) for ids in done.sequences)
        ms = (time.perf_counter() - began) * 1000
        trace = KVTrace(considered, 0, 0, 0, hits, 0.0, 0.0, 0.0, done.prefill_ms, ms, dict(by_layer))
        numbers = tuple(block.number for block in blocks)
        cited = self._cited(connection, user, blocks, None)
        return Answer(texts[0], texts, numbers, cited, len(question.ids), tokens, trace)

    def _remember(
        self,
        query: str,
        answer: Answer,
        done: Generated,
        context: Context,
        choice: Choice | None,
        user: str,
        session: str | None,
        now: datetime,
        state: log.UserState,
    ) -> None:
        """Question and answer into the log, now; their keys into the pool, by and by."""
        turns = [
            Message(query, role="user", time=now),
            Message(answer.text, role="assistant", time=now),
        ]
        stored = self.memory.add(turns, user=user, session=session)
        if done.raw is None:
            return  # several beams: the pool catches up by encoding them
        encoder, raw = self._encoder, done.raw
        question = question_of(encoder.tokenizer, encoder.form, query, now)
        ids = (*question.ids, *done.sequences[0], *tokens_of(encoder.tokenizer, encoder.form.answer_end))
        recent = choice.recent.blocks if choice else ()
        attended = {seq for block in (*context.blocks, *recent) for seq in block.tile.seqs}

        def write() -> None:
            with self.view.model_lock:
                whole = finish(encoder, context, raw, ids)
                middle = len(question.asked)
                with self._database.read() as connection:
                    generation = maintenance.serving(connection, user, self.view)
                    fits = _goes_on(connection, user, generation, stored, state)
                    if not fits or (generation and generation.fingerprint != self.view.fingerprint):
                        return  # others wrote or forgot meanwhile: the pool catches up by encoding
                    pool = self.view.pool(connection, generation)
                    prepared = self.view.continued(
                        connection,
                        pool,
                        stored[0].session,
                        [
                            (stored[0], cut(whole, 0, middle), ids[:middle]),
                            (stored[1], cut(whole, middle), ids[middle:]),
                        ],
                        attended,
                    )
            with self._database.write() as connection:
                now_serving = maintenance.serving(connection, user, self.view)
                if _goes_on(connection, user, now_serving, stored, state):
                    maintenance.commit_new(connection, user, self.view, stored, prepared)
                    log.touch(connection, user)

        self._writer.put(write)

    def _cited(
        self, connection: Any, user: str, blocks: Sequence[Block], choice: Choice | None
    ) -> tuple[Cited, ...]:
        shown_blocks = (*blocks, *(choice.recent.blocks if choice else ()))
        seqs = sorted({seq for block in shown_blocks for seq in block.tile.seqs})
        found = log.fetch(connection, user, seqs)
        return tuple(
            Cited(seq, m.session, m.time, m.speaker, m.content)
            for seq, m in sorted(found.items())
            if m.time is not None
        )

    def _score(self, block: Block, place: int, score: float) -> BlockScore:
        text = self._encoder.tokenizer.decode(list(block.tile.ids))
        return BlockScore(block.number, block.tile.seqs, block.session, text, block.tokens, place, score)

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._encoder.tokenizer.decode(list(ids), skip_special_tokens=True)).strip()


def _goes_on(
    connection: Any, user: str, generation: Generation | None, stored: Sequence[Message], state: log.UserState
) -> bool:
    """Whether these messages are the next that the view has to read, and nothing was deleted since."""
    now = log.state(connection, user)
    cursor = generation.cursor if generation else 0
    return cursor == stored[0].seq - 1 and now.deletions == state.deletions


def _no_keys(blocks: Sequence[Block], layer: int) -> list[Tensor | None]:
    del layer
    return [None] * len(blocks)
