"""The page: a memory in the browser, for its user.

Plain HTML that works without JavaScript. htmx lets the search answer while typing, and a job show its
progress. All content is escaped; nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import BaseRoute

from zibaldone.server.keys import KeyStore
from zibaldone.server.page import messages, searching, upkeep, views, watching
from zibaldone.server.page.environment import static_routes
from zibaldone.server.page.page_auth import (
    PageAction,
    PageServices,
    page_route,
    sign_in_routes,
)

ACTIONS: tuple[PageAction, ...] = (
    *searching.ACTIONS,
    *messages.ACTIONS,
    *views.ACTIONS,
    *upkeep.ACTIONS,
    *watching.ACTIONS,
)


def page_routes(services: PageServices, keys: KeyStore) -> Sequence[BaseRoute]:
    """Return one route per path."""
    by_path: dict[str, list[PageAction]] = {}
    for action in ACTIONS:
        by_path.setdefault(action.path, []).append(action)
    actions = (page_route(path, same, services) for path, same in by_path.items())
    return [*static_routes(), *sign_in_routes(keys), *actions]
