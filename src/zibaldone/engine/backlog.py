"""Find users with pending maintenance through marks in the database, so that idle users cost nothing.

Whatever raises a user's version (`log.touch`) marks the user in the same transaction. A scan reads the marked
users and clears the marks of those for whom no view has work: at the version that was read, so that a message
added meanwhile keeps its mark.

Neither time nor new settings, such as another embedder, mark anybody, and a worker clears marks of users whom
another one with further views has yet to maintain. So each scan also reads one page of all users, and the
next scan the next page.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, Row, bindparam, select, text, update

from zibaldone.engine.generations import users_behind
from zibaldone.errors import StorageError
from zibaldone.log import retention as retaining
from zibaldone.log.retention import Retention
from zibaldone.storage.batches import in_chunks
from zibaldone.storage.database import Database
from zibaldone.storage.schema import users
from zibaldone.views.base import View

PAGE = 1000  # users read together
MOST_PAGES = 10  # of marked users, in one scan
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
            settled = self._look_at_marked(connection, views, lagging, most)
            due = set().union(*(view.due(connection) for view in views))
            lagging |= dict.fromkeys(sorted(due)[: most - len(lagging)])
            self._look_at_some(connection, views, lagging, most)
        if settled:
            self._clear(settled)
        return list(lagging)

    def _look_at_marked(
        self, connection: Connection, views: Sequence[View], lagging: dict[str, None], most: int
    ) -> dict[str, int]:
        """Add marked users who lag behind to `lagging`; returns those without work, with their versions."""
        settled: dict[str, int] = {}
        to_share = most - most // 4  # the rest is for users without a mark
        for _ in range(MOST_PAGES):
            limit = to_share - len(lagging)
            page = _page(connection, self._marked_to, limit, is_marked=True)
            self._marked_to = page[-1].user if page and len(page) == limit else ""
            names = [row.user for row in page]
            late = set().union(*(users_behind(connection, view, among=names) for view in views))
            lagging |= dict.fromkeys(sorted(late))
            settled |= {row.user: row.version for row in page if row.user not in late}
            if not self._marked_to or len(lagging) >= to_share:
                break
        return settled

    def _look_at_some(
        self, connection: Connection, views: Sequence[View], lagging: dict[str, None], most: int
    ) -> None:
        """Add users of the next page who lag behind or have something to forget to `lagging`."""
        rows = _page(connection, self._walked_to, PAGE, is_marked=False)
        page = [row.user for row in rows]
        late = set().union(*(users_behind(connection, view, among=page) for view in views))
        late |= retaining.due(connection, self._retention, self._now(), page)
        taken_to, self._walked_to = self._walked_to, page[-1] if len(page) == PAGE else ""
        for user in sorted(late - lagging.keys()):
            if len(lagging) >= most:
                self._walked_to = taken_to
                break
            lagging[user] = None
            taken_to = user

    def _clear(self, settled: Mapping[str, int]) -> None:
        """Clear marks of users without work; a failed write is left to the next scan."""
        try:
            with self._database.unlocked() as connection:
                for names in in_chunks(sorted(settled), _PER_STATEMENT):
                    # Rows locked by a writer are skipped: the writer marks the user again.
                    free = select(users.c.user).where(users.c.user.in_(names), _IS_MARKED)
                    those = connection.execute(free.with_for_update(skip_locked=True)).scalars().all()
                    if those:
                        rows = [{"of": user, "at": settled[user]} for user in those]
                        connection.execute(_CLEAR, rows)
        except StorageError as error:
            _logger.warning("users who were maintained stay marked until the next look: %s", error)


def _page(connection: Connection, after: str, limit: int, *, is_marked: bool) -> Sequence[Row[str, int]]:
    """Return the next users in the order of their names, with their versions."""
    query = select(users.c.user, users.c.version).where(users.c.user > after)
    query = query.where(_IS_MARKED) if is_marked else query
    return connection.execute(query.order_by(users.c.user).limit(limit)).all()
