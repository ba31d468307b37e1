"""The hierarchy view: its part of the contract, put together from the files beside it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.base import Embedder, Tokenizer
from zibaldone.models.logprobs import Drafter
from zibaldone.storage.database import Database
from zibaldone.views.base import Counted, Generation, PrepareContext, Query, Retrieved, Stale, TakeSnapshot
from zibaldone.views.hierarchy import forgetting, table
from zibaldone.views.hierarchy.builder import Builder, Place, Prepared, Tools
from zibaldone.views.hierarchy.cache import ShownCache
from zibaldone.views.hierarchy.calibration import Thresholds, calibrate, sample_digest
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.distil import name_theme
from zibaldone.views.hierarchy.inspection import Theme, episodes, themes
from zibaldone.views.hierarchy.nodes import Episode
from zibaldone.views.hierarchy.retrieval import NAME, offer
from zibaldone.views.hierarchy.structure import Structure
from zibaldone.views.hierarchy.table import State

_ANALYSIS = 2  # raise it when other nodes would be made of the same log without a model
_MOST_TAIL = 1000  # messages without an episode that one recall looks through, the newest
_MOST_BUILDERS = 16  # users whose structure stays in memory between two batches


@dataclass(frozen=True, slots=True)
class _Batch:
    """A builder that has read a batch, and what that did."""

    builder: Builder
    before: State | None  # that it went on from
    prepared: Prepared
    measured: Thresholds


class HierarchyView:
    """xMemory: themes, semantics, episodes, messages; read from the top, no deeper than doubt asks for."""

    name = NAME
    batch_messages = 128

    def __init__(
        self,
        embedder: Embedder,
        tokenizer: Tokenizer,
        asker: Asker,
        config: XMemory | None = None,
        drafter: Drafter | None = None,
    ) -> None:
        """`drafter`: the reader whose uncertainty Stage II goes by, unless `config` wants the offline one."""
        self.config = config or XMemory()
        self._embedder, self._tokenizer, self._asker = embedder, tokenizer, asker
        self._drafter = drafter if self.config.reader == "model" else None
        self._cache = ShownCache(embedder.dimension)
        self._builders: OrderedDict[tuple[str, int], Builder] = OrderedDict()
        self._lock = threading.Lock()
        self._measured: Thresholds | None = None
        start_anew_in_children(self)

    def start_anew(self) -> None:
        """In a forked child: the parent's threads may have held the lock."""
        self._builders = OrderedDict()
        self._lock = threading.Lock()

    @property
    def fingerprint(self) -> str:
        """The settings, the embedder, and the sample that its thresholds are measured on."""
        return f"{_ANALYSIS}/{self.config.fingerprint}/{self._embedder_key}"

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> _Batch | None:
        """Close episodes, read them, and settle what they say. Raises ModelFailed when the embedder does."""
        if basis is None:
            return None
        generation = basis.generation
        thresholds = self._thresholds(basis.read)
        tools = Tools(self._asker, self._embedder, thresholds, self.config, basis.user, basis.patient)
        with basis.read() as connection:
            builder = self._builder(connection, generation, tools)
            before = table.state(connection, generation) if generation else None
        for done in builder.read(messages):
            if progress:
                progress(done)
        return _Batch(builder, before, builder.take(), tools.thresholds)

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],
        prepared: _Batch,
    ) -> None:
        """New episodes and semantics, and all whose theme or neighbours are not what they were."""
        if table.state(connection, generation) != prepared.before:
            raise Stale
        key = self._embedder_key
        if table.thresholds(connection, key) is None:
            table.set_thresholds(connection, key, prepared.measured.to_json())
        self._write(connection, generation, prepared.builder, prepared.prepared, messages[-1].seq)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:
        """A compact set of semantics, and episodes where they leave less open."""
        user = query.scope.user
        with take_snapshot() as now:
            connection, generation = now.connection, now.generation
            if not log.state(connection, user).last_seq:
                return Retrieved((), 0, 0.0, lambda _: None)
            usable = generation if generation and generation.fingerprint == self.fingerprint else None
            shown = self._cache.get(connection, usable) if usable else None
            seqs = table.open_seqs(connection, usable, user, query.scope.session, _MOST_TAIL + 1)
            tail = log.fetch(connection, user, seqs[-_MOST_TAIL:])

        def fetch(seqs: Sequence[int]) -> Mapping[int, Message]:
            with take_snapshot() as later:
                return log.fetch(later.connection, user, seqs)

        offered = offer(
            shown,
            [tail[seq] for seq in sorted(tail)],
            query,
            fetch,
            embedder=self._embedder,
            tokenizer=self._tokenizer,
            config=self.config,
            drafter=self._drafter,
        )
        notes = [offered.note] if offered.note else []
        if generation is not None and usable is None:
            notes.append("the hierarchy was made with other settings: messages only, until a rebuild")
        if len(seqs) > _MOST_TAIL:
            notes.append(f"only the newest {_MOST_TAIL} messages without an episode were looked through")
        return replace(offered, note="; ".join(notes))

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Episodes of these messages with all that they state; their other messages are told anew later."""
        return _counted(
            forgetting.forget(connection, generation, seqs, self.config)
            for generation in table.generations(connection, user)
        )

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return _counted(
            forgetting.loss(connection, generation, seqs, self.config)
            for generation in table.generations(connection, user)
        )

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Nothing of the user stays in memory; `housekeep` tells the rest of unmade episodes anew."""
        self._cache.drop(user)
        with self._lock:
            for key in [key for key in self._builders if key[0] == user]:
                del self._builders[key]

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Tell anew what a forgetting has left without an episode, and let the model name themes."""
        if generation.fingerprint != self.fingerprint:
            return ()
        with database.read() as connection:
            if table.state(connection, generation) is None:
                return ()
        tools = Tools(
            self._asker,
            self._embedder,
            self._thresholds(database.read),
            self.config,
            generation.user,
            patient,
        )
        with database.read() as connection:
            if (state := table.state(connection, generation)) is None:
                return ()
            builder, place = self._builder(connection, generation, tools), _place(connection, generation)
        for _ in builder.read([]):
            pass
        if self._asker.has_model:
            self._name_themes(builder, tools)
        prepared = builder.take()
        if prepared.written == type(prepared.written)() and not prepared.episodes:
            builder.place = place
            self._keep(generation, builder)
            return ()
        with database.write() as connection:
            if table.state(connection, generation) != state or _place(connection, generation) != place:
                return ()  # somebody else went on from there: the next time
            self._write(connection, generation, builder, prepared, generation.cursor)
            log.touch(connection, generation.user)
        return ()

    def drop(self, connection: Connection, generation: Generation) -> None:
        """All of a generation."""
        table.drop(connection, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Episodes, semantics and themes, of all generations."""
        totals = [table.counts(connection, one) for one in table.generations(connection, user)]
        kinds = ("episodes", "semantics", "themes")
        return tuple(Counted(kind, sum(one[i] for one in totals)) for i, kind in enumerate(kinds))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Rows against each other and against the log."""
        return table.faults(connection, generation)

    def themes(self, connection: Connection, generation: Generation) -> list[Theme]:
        """Every theme with its semantics."""
        return themes(connection, generation)

    def episodes(self, connection: Connection, generation: Generation) -> list[Episode]:
        """Every episode, in the order in which they were told."""
        return episodes(connection, generation)

    def structure(self, connection: Connection, generation: Generation) -> Structure | None:
        """What the next batch would go on from, read afresh; None when nothing was made yet."""
        state = table.state(connection, generation)
        if state is None:
            return None
        return forgetting.load(connection, generation, state, self.config)

    @property
    def _embedder_key(self) -> str:
        return f"{self._embedder.name}/{self._embedder.dimension}/{sample_digest()}"

    def _thresholds(self, read: Callable[[], AbstractContextManager[Connection]]) -> Thresholds:
        """Measured once per embedder: by whoever comes first, and then stored."""
        if self._measured is None:
            with read() as connection:
                stored = table.thresholds(connection, self._embedder_key)
            self._measured = Thresholds.from_json(stored) if stored else calibrate(self._embedder)
        return self._measured

    def _builder(self, connection: Connection, generation: Generation | None, tools: Tools) -> Builder:
        """The one that wrote the generation's rows last, or one that is loaded from them."""
        state = table.state(connection, generation) if generation else None
        if generation is None:
            first = State(self._embedder_key)
            return Builder(Structure(self._embedder.dimension, tools.thresholds, self.config, first), tools)
        with self._lock:
            held = self._builders.pop((generation.user, generation.number), None)
        if held is not None and held.goes_on_from(connection, generation, _place(connection, generation)):
            held.use(tools)
            return held
        return Builder.load(connection, generation, state or State(self._embedder_key), tools)

    def _write(
        self,
        connection: Connection,
        generation: Generation,
        builder: Builder,
        prepared: Prepared,
        cursor: int,
    ) -> None:
        table.write_episodes(connection, generation, prepared.episodes)
        table.write(connection, generation, prepared.written)
        table.set_state(connection, generation, prepared.state)
        builder.place = replace(_place(connection, generation), cursor=cursor)
        self._keep(generation, builder)

    def _keep(self, generation: Generation, builder: Builder) -> None:
        with self._lock:
            self._builders[generation.user, generation.number] = builder
            while len(self._builders) > _MOST_BUILDERS:
                self._builders.popitem(last=False)

    def _name_themes(self, builder: Builder, tools: Tools) -> None:
        """Until one gets no answer. The next time begins behind it, so that it keeps no other from a name."""
        structure, last = builder.structure, builder.not_named
        builder.not_named = 0
        for theme in sorted(structure.unnamed(), key=lambda one: (one <= last, one)):
            answer = name_theme(self._asker, structure.texts(theme), user=tools.user, patient=tools.patient)
            if answer.made_by == OFFLINE:
                builder.not_named = theme
                return
            structure.name(theme, answer.result.name, answer.made_by)


def _place(connection: Connection, generation: Generation) -> Place:
    return Place(generation.cursor, log.state(connection, generation.user).deletions)


def _counted(losses: Iterable[forgetting.Loss]) -> tuple[Counted, ...]:
    found = list(losses)
    return (
        Counted("episodes", sum(len(one.episodes) for one in found)),
        Counted("semantics", sum(len(one.semantics) for one in found)),
        Counted("themes", sum(one.themes for one in found)),
    )
