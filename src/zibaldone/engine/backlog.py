"""Find users with pending maintenance through marks in the database, so that idle users cost nothing.

Whatever raises a user's version (`log.touch`) marks the user in the same transaction. A scan reads the marked
users and clears the marks of those for whom no view has work: at the version that was read, so that a message
added meanwhile keeps its mark. Views that other workers maintain count, too; each scan notes this worker's.

Neither time nor new settings, such as another embedder, mark anybody. So each scan also reads one page of all
users, and the next scan the next page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, Row, bindparam, select, text, update

from zibaldone.engine.generations import users_behind, users_unread
from zibaldone.errors import StorageError
from zibaldone.log import retention as retaining
from zibaldone.log.retention import Retention
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.database import Database
from zibaldone.storage.schema import maintained_views, users
from zibaldone.storage.upsert import put
from zibaldone.views.base import View

PAGE = 1000  # users read together
MOST_PAGES = 10  # of marked users, in one scan
_NOTED_US = 3_600_000_000  # a view is noted again after an hour
_KEPT_US = 7 * 24 * _NOTED_US  # and counts for a week
_PER_STATEMENT = 500
_IS_MARKED = text("behind = 1")  # as the index says it: SQLite does not compare what is bound
_CLEAR = (
    update(users)
    .where(users.c.user == bindparam("of"), users.c.version == bindparam("at"), _IS_MARKED)
    .values(behind=0)
)
_logger = logging.getLogger(__name__)


class Backlog:
    """The scans of one worker, each continued where the last one ended. Called by one thread at a time."""

    def __init__(
        self,
        database: Database,
        views: Callable[[], Sequence[View]],
        retention: Retention,
        now: Callable[[], datetime],
    ) -> None:
        """`views` returns those that the worker maintains; `retention` is the default for users."""
        self._database, self._views, self._retention, self._now = database, views, retention, now
        self._marked_to = self._walked_to = ""

    def look(self, most: int = PAGE) -> list[str]:
        """Return at most `most` users with pending maintenance; the next call returns the next ones.

        Raises StorageError.
        """
        views = self._views()
        lagging: dict[str, None] = {}
        with self._database.read() as connection:
            now_us = self._database.now_us(connection)
            noted = {row.view: row.seen_us for row in connection.execute(select(maintained_views))}
            settled = self._look_at_marked(connection, views, _others(noted, views, now_us), lagging, most)
            due = set().union(*(view.due(connection) for view in views))
            lagging |= dict.fromkeys(sorted(due)[: most - len(lagging)])
            self._look_at_some(connection, views, lagging, most)
        fresh = {view.name for view in views if noted.get(view.name, 0) <= now_us - _NOTED_US}
        if settled or fresh:
            self._note(settled, fresh, now_us)
        return list(lagging)

    def _look_at_marked(
        self,
        connection: Connection,
        views: Sequence[View],
        others: Sequence[str],
        lagging: dict[str, None],
        most: int,
    ) -> dict[str, int]:
        """Add marked users who lag behind to `lagging`; returns those without work, with their versions."""
        settled: dict[str, int] = {}
        to_share = most - most // 4  # the rest is for users without a mark
        ends = 1 + bool(self._marked_to)
        for _ in range(MOST_PAGES):
            limit = to_share - len(lagging)
            if limit <= 0 or not ends:
                break
            page = _page(connection, self._marked_to, limit, is_marked=True)
            self._marked_to = page[-1].user if len(page) == limit else ""
            ends -= len(page) < limit
            names = [row.user for row in page]
            late = set().union(*(users_behind(connection, view, among=names) for view in views))
            lagging |= dict.fromkeys(sorted(late))
            unread = set().union(*(users_unread(connection, view, names) for view in others))
            settled |= {row.user: row.version for row in page if row.user not in late | unread}
        return settled

    def _look_at_some(
        self, connection: Connection, views: Sequence[View], lagging: dict[str, None], most: int
    ) -> None:
        """Add users of the next page who lag behind or have something to forget to `lagging`."""
        rows = _page(connection, self._walked_to, PAGE, is_marked=False)
        if not rows and self._walked_to:  # the last page was full, and was the last
            self._walked_to = ""
            rows = _page(connection, "", PAGE, is_marked=False)
        page = [row.user for row in rows]
        late = set().union(*(users_behind(connection, view, among=page) for view in views))
        late |= retaining.due(connection, self._retention, self._now(), page).keys()
        taken_to, self._walked_to = self._walked_to, page[-1] if len(page) == PAGE else ""
        for user in sorted(late - lagging.keys()):
            if len(lagging) >= most:
                self._walked_to = taken_to
                break
            lagging[user] = None
            taken_to = user

    def _note(self, settled: Mapping[str, int], kept: Collection[str], now_us: int) -> None:
        """Clear marks of `settled` users and note `kept` views; a failed write is left to the next scan."""
        try:
            with self._database.unlocked() as connection:
                for view in sorted(kept):
                    put(connection, maintained_views, {"view": view, "seen_us": now_us})
                for names in in_chunks(sorted(settled), _PER_STATEMENT):
                    # Rows locked by a writer are skipped: the writer marks the user again.
                    free = select(users.c.user).where(users.c.user.in_(names), _IS_MARKED)
                    those = connection.execute(free.with_for_update(skip_locked=True)).scalars().all()
                    if those:
                        rows = [{"of": user, "at": settled[user]} for user in those]
                        connection.execute(_CLEAR, rows)
        except StorageError as error:
            _logger.warning("users who were maintained stay marked until the next look: %s", error)


def _others(noted: Mapping[str, int], views: Sequence[View], now_us: int) -> list[str]:
    """Names of views that only other workers maintain."""
    own = {view.name for view in views}
    return sorted(view for view, seen_us in noted.items() if view not in own and seen_us > now_us - _KEPT_US)


def _page(connection: Connection, after: str, limit: int, *, is_marked: bool) -> Sequence[Row[str, int]]:
    """Return the next users in the order of their names, with their versions."""
    query = select(users.c.user, users.c.version).where(users.c.user > after)
    query = query.where(_IS_MARKED) if is_marked else query
    return connection.execute(query.order_by(users.c.user).limit(limit)).all()
