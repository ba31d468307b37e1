"""Themes as lists: all of them, and the facts of each."""

from __future__ import annotations

from starlette.responses import Response

from zibaldone.server.page.page_auth import PageAction, PageCall
from zibaldone.server.problems import Problem

_SHOWN, _FACTS = 60, 60  # themes and facts on a page


async def themes(call: PageCall) -> Response:
    """All themes, the largest first."""
    held = await call.memory.user(call.user).themes()
    held.sort(key=lambda theme: (-len(theme.semantics), theme.id))
    skip = call.number("skip", 0, most=10**9)
    return call.page(
        "themes.html",
        themes=held[skip : skip + _SHOWN],
        total=len(held),
        skip=skip,
        step=_SHOWN,
        job=call.jobs.running(call.user, "/themes"),
    )


async def theme(call: PageCall) -> Response:
    """One theme: its facts with their messages, and what is near it."""
    held = {theme.id: theme for theme in await call.memory.user(call.user).themes()}
    chosen = held.get(call.request.path_params["id"])
    if chosen is None:
        raise Problem(404, "no-theme", "there is no theme of this number")
    skip = call.number("skip", 0, most=10**9)
    near = [held[other] for other in chosen.near if other in held]
    facts = sorted(chosen.semantics, key=lambda fact: (fact.time, fact.id), reverse=True)
    return call.page(
        "theme.html",
        theme=chosen,
        facts=facts[skip : skip + _FACTS],
        skip=skip,
        step=_FACTS,
        near=near,
    )


ACTIONS = (PageAction("/themes", themes), PageAction("/themes/{id:int}", theme))
