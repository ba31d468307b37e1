"""Who has something to be maintained: workers look at those who are marked, so that idle users cost nothing.

A user is marked by what raises the user's version (`log.touch`), in the same transaction. A look reads who is
marked, and clears the marks of those for whom no view has anything to do: at the version that was looked at,
so that what is added meanwhile keeps its mark. Views that other workers keep count, too: each look notes
those that this worker keeps.

Time marks nobody, nor do new settings, such as another embedder. So each look goes over some of all users as
well, marked or not, and the next look over the next ones: everybody is looked at in the end.
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

PAGE = 1000  # users who are looked at together
MOST_PAGES = 10  # of the marked, in one look
_NOTED_US = 3_600_000_000  # a view is noted again after an hour,
_KEPT_US = 7 * 24 * _NOTED_US  # and counts for a week: then whoever keeps it looks at everybody anyway
_PER_STATEMENT = 500
_IS_MARKED = text("behind = 1")  # as the index says it: SQLite does not compare what is bound
_CLEAR = (
    update(users)
    .where(users.c.user == bindparam("of"), users.c.version == bindparam("at"), _IS_MARKED)
    .values(behind=0)
)
_logger = logging.getLogger(__name__)


class Backlog:
    """The looks of one worker, each from where the last one ended. Called by one thread at a time."""

    def __init__(
        self,
        database: Database,
        views: Callable[[], Sequence[View]],
        retention: Retention,
        now: Callable[[], datetime],
    ) -> None:
        """`views` are those that the worker keeps; `retention` holds for whom no other was set."""
        self._database, self._views, self._retention, self._now = database, views, retention, now
        self._marked_to = self._walked_to = ""

    def look(self, most: int = PAGE) -> list[str]:
        """Users who have something to be maintained, at most so many; others come with the next look.

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
        """Add those who lag behind; returns for whom nothing is left to do, with their versions."""
        settled: dict[str, int] = {}
        to_share = most - most // 4  # the rest is for those whom nobody marks
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
        """Add those of the next page of all users who lag behind, or have something to forget."""
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
        """Clear marks, and say which views are kept. What cannot be written now, a later look writes."""
        try:
            with self._database.unlocked() as connection:
                for view in sorted(kept):
                    put(connection, maintained_views, {"view": view, "seen_us": now_us})
                for names in in_chunks(sorted(settled), _PER_STATEMENT):
                    # Whoever is being written now is marked again in any case, and waited for by nobody.
                    free = select(users.c.user).where(users.c.user.in_(names), _IS_MARKED)
                    those = connection.execute(free.with_for_update(skip_locked=True)).scalars().all()
                    if those:
                        rows = [{"of": user, "at": settled[user]} for user in those]
                        connection.execute(_CLEAR, rows)
        except StorageError as error:
            _logger.warning("users who were maintained stay marked until the next look: %s", error)


def _others(noted: Mapping[str, int], views: Sequence[View], now_us: int) -> list[str]:
    """Views that this worker does not keep, and others do."""
    own = {view.name for view in views}
    return sorted(view for view, seen_us in noted.items() if view not in own and seen_us > now_us - _KEPT_US)


def _page(connection: Connection, after: str, limit: int, *, is_marked: bool) -> Sequence[Row[str, int]]:
    """The next users by their names, with their versions."""
    query = select(users.c.user, users.c.version).where(users.c.user > after)
    query = query.where(_IS_MARKED) if is_marked else query
    return connection.execute(query.order_by(users.c.user).limit(limit)).all()
