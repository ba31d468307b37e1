"""The page: a memory in the browser, for its user.

Plain HTML that works without JavaScript. htmx lets the search answer while typing, and a job show its
progress. All content is escaped; nothing is loaded from elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from starlette.responses import RedirectResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from zibaldone.server.border import routes_of
from zibaldone.server.keys import KeyStore
from zibaldone.server.page import messages as messages
from zibaldone.server.page import searching as searching
from zibaldone.server.page import upkeep as upkeep
from zibaldone.server.page import views as views
from zibaldone.server.page.page_auth import ACTIONS, PageServices, answer, sign_in_routes


def page_routes(services: PageServices, keys: KeyStore) -> Sequence[BaseRoute]:
    """Return one route per path."""
    endpoints = (
        (action.path, "POST" if action.posts else "GET", partial(answer, action, services))
        for action in ACTIONS
    )
    static = Mount("/static", StaticFiles(packages=[("zibaldone.server.page", "static")]))
    icon = Route("/favicon.ico", lambda _: RedirectResponse("/static/mark.svg"))  # of pages without HTML
    return [static, icon, *sign_in_routes(keys), *routes_of(endpoints)]
