"""Builds a user's hierarchy: open episodes are closed, read, and settled in the structure, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone.core import Message
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.hierarchy import table
from zibaldone.views.hierarchy.distil import EpisodeMaker
from zibaldone.views.hierarchy.episodes import Block, OpenEpisodes
from zibaldone.views.hierarchy.nodes import Episode
from zibaldone.views.hierarchy.structure import Structure, open_units
from zibaldone.views.hierarchy.table import FIRST_STATEMENT, NAME, State, Written
from zibaldone.views.units import Key


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows that a batch of messages adds and removes, by the builder that goes on from there."""

    builder: Builder
    before: State | None  # as it was stored; None: nothing was
    episodes: tuple[tuple[Episode, Vectors], ...]  # with the vector (d,) of title and narrative
    units: tuple[units.Row, ...]  # statements, and messages that no episode has
    gone: tuple[Key, ...]  # units of messages that an episode has now
    written: Written
    state: State

    @property
    def changes_nothing(self) -> bool:
        """True if there is nothing to store."""
        rows = self.episodes or self.units or self.gone
        return not rows and self.written == Written() and self.state == self.before


ReadUpTo = tuple[int, int]  # cursor, and the log's counter of deletions, up to which a builder has read


class Builder:
    """A generation of one user while it grows. Not to be shared among threads."""

    def __init__(
        self, structure: Structure, reader: EpisodeMaker, tokenizer: Tokenizer, stored: State | None = None
    ) -> None:
        self.structure, self.stored = structure, stored
        self.reader = reader  # may be put in the place of another: each call asks in its own way
        self.place: ReadUpTo | None = None  # where the log stood when its rows were written
        self._tokenizer = tokenizer
        self._open = OpenEpisodes()
        self._episodes: list[tuple[Episode, Vectors]] = []
        self._statements: list[units.Row] = []
        # In no episode, but followed by one in their session, by session.
        self._interrupted: dict[str, list[Message]] = {}
        self._waiting: list[Message] = []  # read before, and in no episode yet
        self._open_parts: dict[int, tuple[Key, ...]] = {}  # by seq, stored units of messages in no episode

    @staticmethod
    def load(
        connection: Connection,
        generation: Generation,
        structure: Structure,
        reader: EpisodeMaker,
        tokenizer: Tokenizer,
        stored: State | None,
    ) -> Builder:
        """Restore a builder from its rows and from the log up to the cursor."""
        builder = Builder(structure, reader, tokenizer, stored)
        begun = table.last_begun(connection, generation)
        for message in table.open_messages(connection, generation):
            if message.seq < begun.get(message.session, 0):
                builder._interrupted.setdefault(message.session, []).append(message)
            else:
                builder._waiting.append(message)
        for key in units.keys(connection, NAME, generation):
            if key[1] < FIRST_STATEMENT:
                builder._open_parts[key[0]] = (*builder._open_parts.get(key[0], ()), key)
        return builder

    def goes_on_from(self, connection: Connection, generation: Generation, place: ReadUpTo) -> bool:
        """True if its state is the database's: another process may have written meanwhile."""
        return self.place == place and table.state(connection, generation) == self.structure.state

    def read(self, messages: Sequence[Message]) -> None:
        """Read the messages that follow in the log."""
        for run in self._interrupted.values():
            start = 0
            for cut_part in self.reader.cut(run, ended=True):
                self._settle(Block(tuple(run[start : start + cut_part.size]), cut_part.degraded))
                start += cut_part.size
        waiting = [*self._waiting, *messages]
        self._interrupted, self._waiting = {}, []
        for message in waiting:
            for block in self._open.feed(message, self.reader.cut):
                self._settle(block)

    def take(self) -> Prepared:
        """Changes since the last call. Embeds messages without an episode; names themes of new episodes."""
        pending = {message.seq: message for open_ in self._open.pending.values() for message in open_}
        gone = [key for seq, keys in self._open_parts.items() if seq not in pending for key in keys]
        new = [message for seq, message in sorted(pending.items()) if seq not in self._open_parts]
        rows = open_units(new, self._tokenizer, self.reader.embed)
        self._open_parts = {seq: keys for seq, keys in self._open_parts.items() if seq in pending}
        for row in rows:
            seq = row.sources[0]
            self._open_parts[seq] = (*self._open_parts.get(seq, ()), (seq, row.part))
        made, self._episodes = tuple(self._episodes), []
        stated, self._statements = self._statements, []
        for theme, facts in self.structure.unnamed().items() if made else ():
            name, made_by = self.reader.name(facts)
            if made_by:
                self.structure.name(theme, name, made_by)
        written = self.structure.take()
        state = self.structure.state
        return Prepared(self, self.stored, made, (*stated, *rows), tuple(gone), written, state)

    def _settle(self, block: Block) -> None:
        embed = self.reader.embed
        episode, semantics = self.reader.read(block, self.structure)
        (vector,) = embed([f"{episode.title}. {episode.narrative}"])
        stated = embed([said.text for semantic in semantics for said in semantic.statements])
        messages = {message.seq: message for message in block.messages}
        self._statements += self.structure.settle(semantics, stated, messages)
        self._episodes.append((episode, vector))
