"""Signing in: a key of the server, kept in a cookie that no script can read and no other site can send."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from zibaldone.core.threads import in_thread
from zibaldone.server.access import KEY_COOKIE
from zibaldone.server.keys import KeyStore
from zibaldone.server.page.environment import render
from zibaldone.server.page.page_auth import HEADERS, check_sender, field, own_path, refusal
from zibaldone.server.problems import Problem

_LONGEST_FORM = 2**14


def routes(keys: KeyStore) -> Sequence[BaseRoute]:
    """/sign-in and /sign-out."""

    async def ask(request: Request) -> Response:
        wanted = own_path(request.query_params.get("next", "/"))
        if not await in_thread(keys.exist):
            return RedirectResponse(wanted, status_code=303, headers=HEADERS)
        return _form(wanted)

    async def sign_in(request: Request) -> Response:
        try:
            check_sender(request)
        except Problem as problem:
            return refusal(problem)
        form = await request.form(max_files=0, max_fields=4, max_part_size=_LONGEST_FORM)
        wanted, token = own_path(field(form, "next")), field(form, "key").strip()
        key = await in_thread(keys.authenticate, token)
        if key is None:
            return _form(wanted, "This key is unknown, or was revoked.", status=401)
        if key.agent is not None:
            return _form(wanted, "This key is for one agent's messages; the page shows all.", status=403)
        signed_in = RedirectResponse(wanted, status_code=303, headers=HEADERS)
        # Behind a proxy with TLS the browser says so by its origin.
        is_secure = request.headers.get("origin", "").startswith("https:")
        signed_in.set_cookie(KEY_COOKIE, token, httponly=True, samesite="strict", secure=is_secure)
        return signed_in

    async def sign_out(request: Request) -> Response:
        try:
            check_sender(request)
        except Problem as problem:
            return refusal(problem)
        signed_out = RedirectResponse("/sign-in", status_code=303, headers=HEADERS)
        signed_out.delete_cookie(KEY_COOKIE, httponly=True, samesite="strict")
        return signed_out

    return [
        Route("/sign-in", ask, methods=["GET"]),
        Route("/sign-in", sign_in, methods=["POST"]),
        Route("/sign-out", sign_out, methods=["POST"]),
    ]


def _form(wanted: str, fault: str = "", status: int = 200) -> HTMLResponse:
    return HTMLResponse(
        render("sign_in.html", call=None, next=wanted, fault=fault), status_code=status, headers=HEADERS
    )
