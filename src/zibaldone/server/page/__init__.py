"""The page: a memory in the browser, for its user.

Plain HTML that works without JavaScript. htmx lets the search answer while typing, and a job show its
progress. All content is escaped; nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.routing import BaseRoute

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import MissingExtra
from zibaldone.server.keys import KeyStore
from zibaldone.server.live import Live
from zibaldone.server.metrics import Metrics

try:
    import jinja2 as _jinja2
    import markdown_it as _markdown_it
    import nh3 as _nh3
    import python_multipart as _multipart
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

from zibaldone.server.page import messages, searching, upkeep, views, watching
from zibaldone.server.page.environment import static_routes
from zibaldone.server.page.jobs import Jobs
from zibaldone.server.page.page_auth import PageAction, PageEndpoint, PageServices, sign_in_routes

del _jinja2, _markdown_it, _multipart, _nh3

ACTIONS: tuple[PageAction, ...] = (
    *searching.ACTIONS,
    *messages.ACTIONS,
    *views.ACTIONS,
    *upkeep.ACTIONS,
    *watching.ACTIONS,
)


class PagePart:
    """The part of the server that serves the page."""

    def __init__(
        self, memory: AsyncMemory, metrics: Metrics, keys: KeyStore, live: Live | None = None
    ) -> None:
        """`live`: the gateway's requests, where there is a gateway."""
        self._keys, self._jobs = keys, Jobs()
        self._services = PageServices(memory, metrics, self._jobs, live)

    def routes(self) -> Sequence[BaseRoute]:
        """Return one route per path."""
        by_path: dict[str, list[PageAction]] = {}
        for action in ACTIONS:
            by_path.setdefault(action.path, []).append(action)
        endpoints = [PageEndpoint(same, self._services) for same in by_path.values()]
        return [*static_routes(), *sign_in_routes(self._keys), *(endpoint.route() for endpoint in endpoints)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """At the end, stop the jobs; what they have not done is done when asked again."""
        try:
            yield
        finally:
            await self._jobs.stop()
