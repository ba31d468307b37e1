"""The page: a memory in the browser, for the person whose it is.

Plain HTML, made here, that can be read without JavaScript. htmx, which stands beside it, lets the search
answer as one types, and a long work say how far it is. Everything that is shown is escaped; nothing comes
from elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import MissingExtra
from zibaldone.server.keys import KeyStore
from zibaldone.server.metrics import Metrics

try:
    import jinja2 as _jinja2
    import python_multipart as _multipart
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

from zibaldone.server.page import (
    asking,
    forgetting,
    importing,
    profile,
    reading,
    searching,
    signing_in,
    themes,
    timeline,
    topics,
    usage,
)
from zibaldone.server.page.jobs import Jobs
from zibaldone.server.page.page_auth import Door, PageAction
from zibaldone.server.page.static_files import static_routes

del _jinja2, _multipart

ACTIONS: tuple[PageAction, ...] = (
    *searching.ACTIONS,
    *asking.ACTIONS,
    *reading.ACTIONS,
    *timeline.ACTIONS,
    *profile.ACTIONS,
    *topics.ACTIONS,
    *themes.ACTIONS,
    *forgetting.ACTIONS,
    *importing.ACTIONS,
    *usage.ACTIONS,
)


class PagePart:
    """The part of the server that serves people."""

    def __init__(self, memory: AsyncMemory, metrics: Metrics, keys: KeyStore) -> None:
        self._memory, self._metrics, self._keys = memory, metrics, keys
        self._jobs = Jobs()

    def routes(self) -> Sequence[BaseRoute]:
        """A route per path."""
        by_path: dict[str, list[PageAction]] = {}
        for action in ACTIONS:
            by_path.setdefault(action.path, []).append(action)
        doors = (Door(same, self._memory, self._metrics, self._jobs) for same in by_path.values())
        return [*static_routes(), *signing_in.routes(self._keys), *(door.route() for door in doors)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end, stop what works in the background: what it has not done is done again when asked."""
        try:
            yield
        finally:
            await self._jobs.stop()
