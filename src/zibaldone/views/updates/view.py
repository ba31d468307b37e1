"""The updates view: links between sentences of messages, and nothing that recall could find by itself.

It is an overlay. What others find is looked up here: which sentence no longer holds, and which took its place
(`links_of`). Offline the rules decide; a chat model is shown what they are not sure of as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from zibaldone import log
from zibaldone.core import Message
from zibaldone.models.answer_log import note_parts
from zibaldone.models.asker import OFFLINE, Asker
from zibaldone.models.task import shown_message
from zibaldone.search.explanation import Explanation
from zibaldone.storage.database import Database
from zibaldone.views.base import (
    Content,
    Counted,
    Generation,
    PrepareContext,
    Query,
    RestingView,
    Retrieved,
    TakeSnapshot,
)
from zibaldone.views.links import Link
from zibaldone.views.updates import table
from zibaldone.views.updates.detect import Candidates, Detector, Place, WordIndex
from zibaldone.views.updates.tasks import Ended, EndedPair, JudgeUpdates, NumberedSentence
from zibaldone.views.updates.unread import UnreadLinks, before, behind, read_unread, with_unread
from zibaldone.views.user_cache import UserCache

_MOST_USERS = 1000
_ANALYSIS = 10  # raise it when other links would be made of the same log without a model


@dataclass(frozen=True, slots=True)
class _NewLinks:
    """What a batch says: words with their places, and links as (older place, newer place, rule)."""

    words: list[tuple[int, Place]]
    links: list[tuple[Place, Place, str]]


class UpdatesView(RestingView):
    """Which sentence took the place of which."""

    name = "updates"
    batch_messages = 256

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        self._unread: UserCache[UnreadLinks] = UserCache(_MOST_USERS)

    @property
    def fingerprint(self) -> str:
        """The rules; a model only says more."""
        return str(_ANALYSIS)

    def prepare(
        self,
        messages: Sequence[Message],
        basis: PrepareContext | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> _NewLinks | None:
        """What each message ends of what was said before it."""
        if basis is None:
            return None
        user, generation = basis.user, basis.generation

        def stored(words: Sequence[int]) -> Mapping[int, Sequence[Place]]:
            if generation is None:
                return {}
            with basis.read() as connection:
                return table.places(connection, generation, words)

        def fetch(seqs: Sequence[int]) -> Mapping[int, Message]:
            with basis.read() as connection:
                return log.fetch(connection, user, seqs)

        first = messages[0].seq

        def recent() -> Sequence[Message]:
            with basis.read() as connection:
                return before(connection, user, first)

        index = WordIndex(stored)
        detector = Detector(index, recent, fetch, widely=self._asker.has_model)
        links: dict[tuple[Place, Place], str] = {}
        for done, message in enumerate(messages, 1):
            candidates = list(detector.read(message))
            for old, new, rule in self._judged(candidates, detector, user, patient=basis.patient):
                links.setdefault((old, new), rule)
            if progress:
                progress(done)
        words = [(word, place) for word, at in index.added.items() for place in at]
        return _NewLinks(sorted(words), [(old, new, rule) for (old, new), rule in sorted(links.items())])

    def _judged(
        self, candidates: Sequence[Candidates], detector: Detector, user: str, *, patient: bool
    ) -> list[tuple[Place, Place, str]]:
        """The links of one message."""
        sure: dict[tuple[Place, Place], str] = {}
        for change in candidates:
            for old in change.settled:
                sure.setdefault((old, change.new), change.rule)  # the most explicit rule comes first
        if not self._asker.has_model or not any(change.places for change in candidates):
            return [(old, new, rule) for (old, new), rule in sure.items()]
        newer = sorted({change.new for change in candidates})
        older = sorted({place for change in candidates for place in change.places})
        task = JudgeUpdates(
            tuple(_numbered(newer, detector)),
            tuple(_numbered(older, detector)),
            lambda: Ended(
                ended=[EndedPair(older=older.index(old), newer=newer.index(new)) for old, new in sure]
            ),
        )
        answer = self._asker.ask(task, user=user, patient=patient)
        unknown = [
            f"{pair} has no such number" for pair in answer.result.ended if not _is_known(pair, older, newer)
        ]
        note_parts(task.name, len(answer.result.ended), unknown)
        links = []
        for pair in answer.result.ended:
            if _is_known(pair, older, newer):
                old, new = older[pair.older], newer[pair.newer]
                rule = sure[old, new] if answer.made_by == OFFLINE else answer.made_by
                links.append((old, new, rule))
        return links

    def commit(
        self,
        connection: Connection,
        generation: Generation,
        messages: Sequence[Message],  # noqa: ARG002 - their words are in what was prepared
        prepared: _NewLinks,
    ) -> None:
        """Words and links."""
        table.write(connection, generation, prepared.words, prepared.links)

    def retrieve(self, take_snapshot: TakeSnapshot, query: Query) -> Retrieved:  # noqa: ARG002
        """Nothing: links are looked up for what other views find."""
        return Retrieved((), 0, 0.0, Explanation.of_nothing())

    def links(self, take_snapshot: TakeSnapshot, user: str, seqs: Iterable[int]) -> tuple[Link, ...]:
        """`links_of` these messages; what the view has not read yet is read on the spot, by the rules."""
        wanted = set(seqs)
        with take_snapshot() as now:
            generation = now.generation
            number, cursor = (generation.number, generation.cursor) if generation else (0, 0)
            stored = table.links_of(now.connection, user, number, wanted) if generation else ()
            state = now.state
            if state.last_seq <= cursor:
                return stored
            kept = self._unread.get(user, number)
            unread = None
            if kept is None or not kept.is_of(state, cursor):
                kept, unread = behind(now.connection, user, state, cursor, kept)
        if unread is not None:
            kept = read_unread(take_snapshot, user, number, kept, unread)
            self._unread.put(user, kept, kept.state, number)
        return with_unread(stored, kept.links, wanted) if kept.links else stored

    def warm(self, take_snapshot: TakeSnapshot, user: str) -> None:
        """Read what the view has not read yet."""
        self.links(take_snapshot, user, ())

    def refresh(self, database: Database, user: str, generation: Generation | None) -> None:  # noqa: ARG002
        """Nothing of what was read on the spot stays."""
        with database.read(user) as connection:
            state = log.state(connection, user)
        self._unread.drop(user, state)

    def forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """Both ends of a link are its sources."""
        return table.forget(connection, user, seqs)

    def shed(self, connection: Connection, user: str, seqs: Sequence[int], most: int) -> int:  # noqa: ARG002
        """Nothing: of one message there are few rows."""
        return 0

    def preview_forget(self, connection: Connection, user: str, seqs: Sequence[int]) -> tuple[Counted, ...]:
        """What forget would remove."""
        return table.preview_forget(connection, user, seqs)

    def drop(self, connection: Connection, generation: Generation) -> None:
        """One generation whole."""
        table.drop(connection, generation)

    def contents(self, take_snapshot: TakeSnapshot) -> list[Content]:
        """The links: what no longer holds, and what took its place."""
        with take_snapshot() as now:
            if now.generation is None:
                return []
            links = table.links(now.connection, now.generation)
            seqs = sorted({seq for link in links for seq in (link.old_seq, link.new_seq)})
            messages = log.fetch(now.connection, now.generation.user, seqs)
        return [
            Content(
                tuple(sorted({link.old_seq, link.new_seq})),
                "link",
                f"{messages[link.old_seq].content[link.old_start : link.old_end]} -> "
                f"{messages[link.new_seq].content[link.new_start : link.new_end]}",
            )
            for link in links
            if link.old_seq in messages and link.new_seq in messages
        ]

    def stats(self, connection: Connection, user: str) -> tuple[Counted, ...]:
        """Links, and words of what may stop holding."""
        return table.stats(connection, user)

    def faults(self, connection: Connection, generation: Generation) -> list[str]:
        """Where rows disagree with the log."""
        return table.faults(connection, generation)


def _is_known(pair: EndedPair, older: Sequence[Place], newer: Sequence[Place]) -> bool:
    return pair.older in range(len(older)) and pair.newer in range(len(newer))


def _numbered(places: Sequence[Place], detector: Detector) -> list[NumberedSentence]:
    shown = []
    for number, (seq, start, end) in enumerate(places):
        message = detector.message(seq)
        shown.append(NumberedSentence(number, shown_message(message, message.content[start:end])))
    return shown
