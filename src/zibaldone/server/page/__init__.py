"""The page: a memory in the browser, for its user.

Plain HTML that works without JavaScript. htmx lets the search answer while typing, and a job show its
progress. All content is escaped; nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.routing import BaseRoute

from zibaldone.server.border import routes_of
from zibaldone.server.keys import KeyStore
from zibaldone.server.page import messages, searching, upkeep, views, watching
from zibaldone.server.page.environment import static_routes
from zibaldone.server.page.page_auth import (
    PageAction,
    PageServices,
    answer,
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
    endpoints = (
        (action.path, "POST" if action.posts else "GET", partial(answer, action, services))
        for action in ACTIONS
    )
    return [*static_routes(), *sign_in_routes(keys), *routes_of(endpoints)]
