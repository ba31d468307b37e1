"""The hierarchy view: implements the view contract with the modules beside it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder, Tokenizer, WordEmbedder
from zibaldone.models.logprobs import Drafter
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation
from zibaldone.search.unit import Unit
from zibaldone.storage.database import Database
from zibaldone.storage.schema import hierarchy_states
from zibaldone.views import units
from zibaldone.views.base import (
    Content,
    Counted,
    Generation,
    PrepareContext,
    RestingView,
    Retrieved,
    Stale,
    TakeSnapshot,
)
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.builder import Builder, Prepared, ReadUpTo
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.distil import EpisodeMaker
from zibaldone.views.hierarchy.evidence import Gathering
from zibaldone.views.hierarchy.node_scores import Levels, Standing, levels_of
from zibaldone.views.hierarchy.nodes import Episode
from zibaldone.views.hierarchy.retrieval import Descent
from zibaldone.views.hierarchy.structure import Structure, forget_messages, unmade_by
from zibaldone.views.hierarchy.table import EPISODES, NAME, State
from zibaldone.views.hierarchy.themes import Theme, themes
from zibaldone.views.hierarchy.uncertainty import ReaderSignal, WordSignal
from zibaldone.views.own_rows import counted, generations
from zibaldone.views.toolkit import MOST_UNREAD, cut, tail, to_units, usable
from zibaldone.views.unit_cache import UnitCache
from zibaldone.views.user_cache import UserCache

_ANALYSIS = 12  # raise it when other nodes would be made of the same log without a model
_MOST_USERS = 200  # whose levels stay in memory
_KINDS = ("episodes", "semantics")
_MOST_BUILDERS = 16  # users whose structure stays in memory between two batches


class HierarchyView(RestingView):
    """xMemory: themes, semantics, episodes, messages; read from the top, as deep as doubt requires."""

    name = NAME
    batch_messages = 128

    def __init__(
        self,
        embedder: Embedder,
        word_embedder: WordEmbedder,
        tokenizer: Tokenizer,
        asker: Asker,
        config: XMemory | None = None,
        drafter: Drafter | None = None,
        *,
        index_bytes: int | None = None,
    ) -> None:
        """`word_embedder` embeds single words, for synonyms; `index_bytes` limits each kind of index.

        `drafter`: the reader whose uncertainty Stage II goes by, unless `config` wants the offline one.
        """
        self.config = config or XMemory()
        self._embedder, self._tokenizer, self._asker = embedder, tokenizer, asker
        self._drafter = drafter if self.config.reader == "model" else None
        self._levels: UserCache[Levels] = UserCache(_MOST_USERS)
        self._units = UnitCache(
            NAME,
            embedder.dimension,
            word_embedder,
            self._read_tail,
            appends=False,
            most_bytes=index_bytes,
        )
        self._episodes = UnitCache(
            EPISODES, embedder.dimension, word_embedder, appends=False, most_bytes=index_bytes
        )
        self._builders: UserCache[Builder] = UserCache(_MOST_BUILDERS)

    @property
    def fingerprint(self) -> str:
        """Version and embedder; and guided themes, while those made on demand do not count."""
        guided, cap = self.config.guided, self.config.theme_cap
        made = f"{_ANALYSIS}/{self._embedder.name}/{self._embedder.dimension}"
        return f"{made}/{cap} {guided}" if guided else made

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
    ) -> Prepared | None:
        """Close episodes, read them, and settle what they say. Raises ModelFailed when the embedder does."""
        if basis is None:
            return None
        reader = EpisodeMaker(self._asker, self._embedder, basis.user, basis.patient)
        with basis.read() as connection:
            builder = self._builder(connection, basis.generation, reader)
        builder.read(messages)
        return builder.take()

    def commit(
        self, connection: Connection, generation: Generation, seqs: Sequence[int], prepared: Prepared
    ) -> None:
        """Store new episodes and semantics. Raises Stale."""
        if table.state(connection, generation) != prepared.before:
            raise Stale
        self._store(connection, generation, prepared, seqs[-1])

    def retrieve(self, take_snapshot: TakeSnapshot, question: Question) -> Retrieved:
        """A compact set of semantics, and episodes where they leave less open."""
        user, question = question.scope.user, question.embedded(self._embedder)
        note = question.note
        with take_snapshot() as now:
            here = usable(now.generation, self.fingerprint)
            levels = levels_of(self._levels, now.connection, here) if here else Levels.of()
            with (
                self._units.index(now, user, here) as index,
                self._episodes.index(now, user, here) as episode_index,
            ):
                if not len(index):
                    return Retrieved((), 0, 0.0, Explanation.of_nothing())
                by_cosine = bool(self.config.guided)
                standing = Standing.of(levels, index, episode_index, question, by_cosine=by_cosine)
                descent, left_out = Descent.of(question, self.config, standing, index), index.note
            messages = log.fetch(now.connection, user, descent.seqs())
            if now.generation is not None and here is None:
                note = "the hierarchy was made with other settings: messages only, until a rebuild"
        offline = WordSignal(descent.wanted)
        signal = ReaderSignal(self._drafter, offline, user) if self._drafter else offline
        inclusion = descent.stage_two(messages, signal, self._tokenizer)
        notes = [note, left_out, inclusion.degraded if inclusion else ""]
        return Retrieved(
            Gathering(descent, messages, self._tokenizer).offered(inclusion),
            len(descent.standing.units),
            descent.standing.confidence,
            descent.standing.explain,
            "; ".join(line for line in notes if line),
            model_calls=signal.probes,
        )

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Remove episodes of these messages with their statements; the other messages are told anew later."""
        every = generations(connection, hierarchy_states, user)
        gone = [forget_messages(connection, generation, seqs, self._tokenizer) for generation in every]
        return counted(_KINDS, gone)

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        every = generations(connection, hierarchy_states, user)
        gone = [unmade_by(connection, generation, seqs) for generation in every]
        return counted(_KINDS, [(len(keys), len(numbers)) for keys, numbers in gone])

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Drop forgotten content from all caches; `housekeep` tells the rest of unmade episodes anew."""
        with database.read(user) as connection:
            state = log.state(connection, user)
        for cache in (self._levels, self._builders, self._units, self._episodes):
            cache.drop(user, state)

    def housekeep(
        self, database: Database, generation: Generation, *, patient: bool = False
    ) -> tuple[Counted, ...]:
        """Narrate and distil messages that a forgetting has left without an episode."""
        if generation.fingerprint != self.fingerprint:
            return ()
        reader = EpisodeMaker(self._asker, self._embedder, generation.user, patient)
        with database.read(generation.user) as connection:
            builder = self._builder(connection, generation, reader)
            if builder.stored is None:
                return ()
            place, counters = _place(connection, generation), log.state(connection, generation.user)
        builder.read([])
        prepared = builder.take()
        if prepared.changes_nothing:
            builder.place = place
            self._builders.put(generation.user, builder, counters, generation.number)
            return ()
        with database.write(generation.user) as connection:
            now = table.state(connection, generation), _place(connection, generation)
            if now != (builder.stored, place):
                return ()  # somebody else has gone on from there: the next time
            self._store(connection, generation, prepared, generation.cursor)
            log.touch(connection, generation.user)
        return ()

    def drop(self, connection: Connection, generation: Generation) -> None:
        table.drop(connection, generation)

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Episodes and semantics of all generations."""
        every = generations(connection, hierarchy_states, user)
        return counted(_KINDS, (table.counts(connection, generation) for generation in every))

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Rows against each other and against the log."""
        return table.faults(connection, generation)

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """Contents of statements and episodes."""
        return units.contents(take_snapshot, NAME, EPISODES)

    def _read_tail(self, connection: Connection, user: str, after: int) -> tuple[list[Unit], str]:
        unread = tail(connection, user, after, most=MOST_UNREAD)
        return to_units(unread.messages, cut(unread.messages, self._tokenizer)), unread.note

    def themes(self, connection: Connection, generation: Generation) -> list[Theme]:
        """Guided themes as they are stored; else themes of all semantics, made now."""
        return themes(connection, generation, self.config.theme_cap, guided=self.config.guided is not None)

    def episodes(self, connection: Connection, generation: Generation) -> list[Episode]:
        """Episodes in the order of creation."""
        return table.episodes(connection, generation, self._embedder.dimension)

    def _builder(
        self, connection: Connection, generation: Generation | None, reader: EpisodeMaker
    ) -> Builder:
        """The cached builder that wrote the generation's rows last, or one loaded from them."""
        first = State(f"{self._embedder.name}/{self._embedder.dimension}")
        if generation is None:
            return Builder(Structure(first, self.config), reader, self._tokenizer)
        held = self._builders.take(generation.user, generation.number)
        if held is not None and held.goes_on_from(connection, generation, _place(connection, generation)):
            held.reader = reader
            return held
        stored = table.state(connection, generation)
        structure = Structure.load(connection, generation, stored or first, self.config)
        return Builder.load(connection, generation, structure, reader, self._tokenizer, stored)

    def _store(self, connection: Connection, generation: Generation, prepared: Prepared, cursor: int) -> None:
        """Write rows, and cache the builder that made them for the next batch."""
        units.remove(connection, NAME, generation, prepared.gone)
        units.insert(connection, NAME, generation, prepared.units)
        table.write_episodes(connection, generation, prepared.episodes)
        table.write(connection, generation, prepared.written)
        table.set_state(connection, generation, prepared.state)
        builder = prepared.builder
        builder.place, builder.stored = (cursor, _place(connection, generation)[1]), prepared.state
        self._builders.put(
            generation.user, builder, log.state(connection, generation.user), generation.number
        )


def _place(connection: Connection, generation: Generation) -> ReadUpTo:
    return generation.cursor, log.state(connection, generation.user).deletions
