"""A log and one view of it, driven by hand: what the views' contract suite stands on."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from sqlalchemy import Connection, event, inspect, text

from zibaldone import log
from zibaldone.core import Message, Scope
from zibaldone.engine import forgetting, generations, maintenance
from zibaldone.engine.forgetting import Receipt, Selector
from zibaldone.log.filters import Narrowing
from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.recall import read_question
from zibaldone.search.question import Question
from zibaldone.storage.database import Database
from zibaldone.storage.opening import open_database
from zibaldone.text.purgeable_cache import forget_texts, sweeping
from zibaldone.views.base import Generation, PrepareContext, Retrieved, Snapshot, View
from zibaldone.views.messages import MessagesView

STATIC = shared_static_embedder()
NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
USER = "ann"
LOG_TABLES = {"migrations", "users", "messages", "forgotten_ids", "view_states"}


class Reversed:
    """Another model: the default embedder's vectors, pointing the other way."""

    name = "reversed"
    dimension = STATIC.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Vectors that the default embedder would never give."""
        return -STATIC.embed(texts)


@dataclass(frozen=True)
class Plant:
    """A fault planted by SQL, and what `faults` says of it."""

    sql: str
    says: str


@dataclass(frozen=True)
class ViewCase:
    """One view, as the suite needs to know it."""

    name: str
    make: Callable[[Embedder, Database], View]
    plants: tuple[Plant, ...] = field(default=(), repr=False)
    # Whether a message's units depend on that message alone: then forgetting it leaves what a view makes that
    # never read it. A view that compacts messages together forgets in place: it is not made anew for that.
    local: bool = True
    # Whether an offer grows with the budget. A view that stops when more would not help need not.
    fills: bool = True
    # SQL for the seqs that its rows of a user were made from, of a view whose offers do not name them all.
    sources_sql: str = ""
    # Whether every message can be found. A view that keeps some of what is said offers that alone, and one of
    # keys and values nothing.
    all_of_it: bool = True
    # Of the questions. A view whose model was never trained needs room for everything, to find anything.
    budget_tokens: int = 200
    preset: str = ""  # of its settings, in the names of tests

    def view(self, database: Database) -> View:
        """A fresh instance, with empty caches."""
        return self.make(STATIC, database)

    def another_model(self, database: Database) -> View:
        """The same view with another fingerprint."""
        return self.make(Reversed(), database)


class Hooked:
    """A view that calls back before it prepares a batch: the place where models are slow or fail."""

    def __init__(self, view: View, before_prepare: Callable[[Sequence[Message]], None]) -> None:
        self._view = view
        self._before_prepare = before_prepare

    def __getattr__(self, name: str) -> Any:
        return getattr(self._view, name)

    def prepare(self, messages: Sequence[Message], basis: PrepareContext | None = None) -> Any:
        """Call back, then prepare."""
        self._before_prepare(messages)
        return self._view.prepare(messages, basis)


class Crash(BaseException):
    """The process dies here."""


class Rig:
    """One folder and one view of its log."""

    def __init__(self, place: Path | str, case: ViewCase, key: bytes | None = None) -> None:
        self.place, self.key = place, key
        self.database = open_database(place, busy_timeout_s=30, key=key)
        self.case = case
        self.batch_messages: int | None = None  # None: the view's own
        self.view = self.new_view()

    def read_in_batches(self, messages: int) -> None:
        """Let this rig's views read so many messages at a time from now on."""
        self.batch_messages = self.view.batch_messages = messages

    def _in_batches(self, view: View) -> View:
        if self.batch_messages is not None:
            view.batch_messages = self.batch_messages
        return view

    def new_view(self) -> View:
        """Another instance over the same folder."""
        return self._in_batches(self.case.view(self.database))

    def another_model(self) -> View:
        """Another instance with another fingerprint."""
        return self._in_batches(self.case.another_model(self.database))

    def append(self, messages: Sequence[Message], user: str = USER) -> list[Message]:
        """Into the log alone: the view lags behind."""
        with self.database.write(user) as connection:
            return log.append(connection, user, messages, NOW).stored

    def add(self, messages: Sequence[Message], user: str = USER) -> list[Message]:
        """Into the log and the view, in one transaction where the view allows it."""
        prepared = self.view.prepare(messages)
        with self.database.write(user) as connection:
            stored = log.append(connection, user, messages, NOW).stored
            seqs = [message.seq for message in stored]
            done = maintenance.commit_new(connection, user, self.view, seqs, prepared)
        assert done or self.advance(user=user)
        return stored

    def advance(self, view: View | None = None, user: str = USER) -> bool:
        """To the end of the log."""
        return maintenance.advance(self.database, user, view or self.view)

    def read(self, messages: Sequence[Message], forgotten: Sequence[int] = ()) -> Rig:
        """Into the log, but for what is forgotten at once, and the view to its end; the rig itself."""
        self.append(messages)
        if forgotten:
            self.forget(forgotten)
        assert self.advance()
        return self

    def assert_as(self, expected: Rig) -> None:
        """Rows and offers are bit-equal."""
        assert self.rows() == expected.rows()
        assert self.offers() == expected.offers()

    def rebuild(self, view: View | None = None, user: str = USER) -> None:
        """Make the view anew."""
        maintenance.rebuild(self.database, user, view or self.view)

    def forget(self, seqs: Sequence[int], user: str = USER, *, dry_run: bool = False) -> Receipt:
        """These messages, in the log and in the view."""
        selected = {user: Selector(seqs=tuple(seqs))}
        (receipt,) = forgetting.forget_each(self.database, [self.view], selected, dry_run=dry_run)
        return receipt

    def recall_while(self, question: Question, happens: Callable[[], None], snapshot: int) -> None:
        """Let something happen behind the back of a retrieval's first, second, ... snapshot, or after it."""
        taken = 0

        @contextmanager
        def take() -> Iterator[Snapshot]:
            nonlocal taken
            with generations.snapshots(self.database, question.scope.user, self.view)() as now:
                taken += 1
                if taken == snapshot:
                    happens()
                yield now

        with sweeping():  # as every recall reads messages
            self.view.retrieve(take, question)
        if taken < snapshot:
            happens()

    def unlog(self, seqs: Sequence[int], user: str = USER) -> None:
        """Forget, but for purging the files: that waits for open snapshots."""
        with self.database.write() as connection:
            self.view.forget(connection, user, seqs)
            log.remove(connection, user, seqs)
        forget_texts()
        self.view.refresh(self.database, user, self.serving(user))

    def serving(self, user: str = USER) -> Generation | None:
        """The generation that recall reads."""
        with self.database.read() as connection:
            return generations.serving(connection, user, self.view)

    def offers(self, user: str = USER, view: View | None = None, session: str | None = None) -> list[Any]:
        """All that the view says on each question, explanations included, ready to be compared."""
        asked = view or self.view
        said = []
        with self.database.read() as connection:
            last = log.state(connection, user).last_seq
        for text_ in QUESTIONS:
            offer = self.retrieve(self.question(text_, user, session), asked)
            explained = [offer.explain(seq) for seq in range(1, last + 2)]
            said.append((offer.evidence, offer.considered, offer.confidence, offer.note, explained))
        return said

    def question(
        self, asked: str, user: str = USER, session: str | None = None, budget_tokens: int | None = None
    ) -> Question:
        """A question as recall makes it, of messages that no view has read: whatever view is asked."""
        room = self.case.budget_tokens if budget_tokens is None else budget_tokens
        unread = Question(asked, Scope(user, session), room, NOW)
        return read_question(self.database, MessagesView(STATIC, STATIC, STATIC), unread, Narrowing())

    def retrieve(self, question: Question, view: View | None = None) -> Retrieved:
        """The view's answer to one question."""
        asked = view or self.view
        return asked.retrieve(generations.snapshots(self.database, question.scope.user, asked), question)

    def sources(self, user: str = USER, view: View | None = None) -> set[int]:
        """Every message that some unit of some offer names."""
        return {seq for offer in self.offers(user, view) for evidence in offer[0] for seq in evidence.sources}

    def made_from(self, user: str = USER) -> set[int]:
        """Every message that some row was made from, as far as offers or the case's SQL tell."""
        if not self.case.sources_sql:
            return self.sources(user)
        with self.database.read() as connection:
            return set(connection.execute(text(self.case.sources_sql), {"user": user}).scalars())

    def rows(self, user: str | None = USER) -> dict[str, list[tuple[Any, ...]]]:
        """What the view's tables hold, but for the numbers of generations."""
        held = {}
        with self.database.read() as connection:
            for name, columns in _columns(connection).items():
                if name in LOG_TABLES or "user" not in columns:
                    continue
                listed = ", ".join(f'"{column}"' for column in columns if column != "generation")
                whose = "" if user is None else 'WHERE "user" = :user'
                query = text(f'SELECT {listed} FROM "{name}" {whose} ORDER BY {listed}')
                held[name] = connection.execute(query, {} if user is None else {"user": user}).fetchall()
        return {name: [tuple(row) for row in rows] for name, rows in held.items()}

    def states(self, user: str = USER) -> list[tuple[Any, ...]]:
        """The view's cursors, one row per generation."""
        with self.database.read() as connection:
            query = text('SELECT generation, fingerprint, cursor, serving FROM view_states WHERE "user" = :u')
            return sorted(tuple(row) for row in connection.execute(query, {"u": user}))

    def everything(self) -> list[object]:
        """Every value of every column of every table of the database."""
        with self.database.read() as connection:
            tables = [connection.exec_driver_sql(f'SELECT * FROM "{name}"') for name in _columns(connection)]
            return [value for rows in tables for row in rows.fetchall() for value in row]

    def faults(self, user: str = USER) -> list[str]:
        """What the view finds wrong with itself."""
        generation = self.serving(user)
        if generation is None:
            return []
        with self.database.read() as connection:
            return self.view.faults(connection, generation)

    def stats(self, user: str = USER) -> dict[str, int]:
        """Rows by kind."""
        with self.database.read() as connection:
            return {counted.kind: counted.rows for counted in self.view.stats(connection, user)}

    @contextmanager
    def dies_before_statement(self, number: int) -> Iterator[None]:
        """Raise Crash in place of the statement of this number, counted from 1."""
        left = number

        def count_down(*_: object) -> None:
            nonlocal left
            left -= 1
            if left == 0:
                raise Crash

        event.listen(self.database._engine, "before_cursor_execute", count_down)
        try:
            yield
        finally:
            event.remove(self.database._engine, "before_cursor_execute", count_down)


def _columns(connection: Connection) -> dict[str, list[str]]:
    """The columns of each table, by its name."""
    looking = inspect(connection)
    return {
        table: [column["name"] for column in looking.get_columns(table)]
        for table in sorted(looking.get_table_names())
    }


def mentions(values: Sequence[object], words: str) -> bool:
    """Whether any value has the words, in text or in bytes, in any case."""
    sought = words.casefold()
    return any(
        sought in (value.decode(errors="replace") if isinstance(value, bytes) else str(value)).casefold()
        for value in values
    )


def held_by(root: object) -> list[object]:
    """Every text and all bytes that an object holds, however deep; classes, modules and globals apart."""
    seen: dict[int, object] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, type | ModuleType):
            continue
        seen[id(thing)] = thing
        if isinstance(thing, FunctionType):
            waiting.extend(thing.__closure__ or ())
        else:
            waiting.extend(gc.get_referents(thing))
            waiting.extend(
                thing if isinstance(thing, dict) else ()
            )  # where they are all texts, gc skips keys
    return [thing for thing in seen.values() if isinstance(thing, str | bytes)]


def messages_from(*lines: tuple[str, str, str], start: datetime = NOW - timedelta(days=90)) -> list[Message]:
    """Messages of (session, name, content), some hours apart."""
    return [
        Message(content, name=name, session=session, time=start + timedelta(hours=9 * i))
        for i, (session, name, content) in enumerate(lines)
    ]


QUESTIONS = (
    "What does Bea play in the orchestra?",
    "When did Ann move to Lisbon?",
    "What happened last month?",
    "犬は好きですか",
    "quantum chromodynamics",
    "",
)

CONVERSATION = messages_from(
    ("1", "Ann", "Hi Bea! I moved to Lisbon yesterday. The flat has a view of the river."),
    ("1", "Bea", "Wow. How is the weather there?"),
    ("1", "Ann", "Sunny, 25 degrees. I bought a red bicycle for 90 euros."),
    ("1", "Bea", "I joined an orchestra on 3 December 2023. I play the bassoon there."),
    ("2", "Ann", "   \n "),
    ("2", "Ann", "The bassoon! Remember that my grandmother Marguerite played it in Vienna."),
    ("2", "Bea", "犬が好きです。猫も好きです。"),
    (
        "2",
        "Ann",
        "A long story. "
        + " ".join(
            f"On day {i} we climbed the hill number {i * 7} and slept in a hut." for i in range(1, 25)
        ),
    ),
    ("3", "Bea", "Yes. Thanks! See you."),
    ("1", "Ann", "The rent went up last week, by a tenth."),
    ("3", "Ann", "Do you still have the orchestra on Mondays?"),
    ("3", "Bea", "On Tuesdays now. The conductor is called Ottoline."),
)
