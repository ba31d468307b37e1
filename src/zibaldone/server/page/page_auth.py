"""Requests of the page: key, user, forms and answers; signing in with a key in a cookie."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute

from zibaldone.api.aio import AsyncMemory
from zibaldone.core import MYSELF, Evidence
from zibaldone.core.threads import in_thread
from zibaldone.engine.ingest import Progress
from zibaldone.errors import InvalidInput
from zibaldone.server.access import KEY_COOKIE, Principal, is_page
from zibaldone.server.border import routes_of
from zibaldone.server.keys import KeyStore
from zibaldone.server.live import Live
from zibaldone.server.metrics import Metrics
from zibaldone.server.page.environment import render
from zibaldone.server.page.jobs import Jobs, Report
from zibaldone.server.problems import FOR_PROGRAMS, Problem

T = TypeVar("T")
SIGN_IN = "/sign-in"
# Only our own scripts and styles, nothing of other origins, no framing. Nothing is cached by the browser, or
# forgotten messages could still be seen.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Vary": "Accept, HX-Request",
    "X-Content-Type-Options": "nosniff",
}
_LONGEST_FIELD = 8 * 2**20  # bytes of a form's field, such as a document's text
_MOST_FIELDS = 2000


@dataclass(frozen=True, slots=True)
class PageServices:
    """The objects that all requests of the page share."""

    memory: AsyncMemory
    metrics: Metrics
    jobs: Jobs
    live: Live | None  # None: there is no gateway


@dataclass(frozen=True, slots=True)
class PageCall(PageServices):
    """An authorized request of the page."""

    request: Request
    principal: Principal
    user: str
    scope: str = ""  # the memory shared with the user that is read; "": their own

    @property
    def whose(self) -> str:
        """Whose messages are read: the user's, or those of the shared memory."""
        return self.scope or self.user

    @property
    def may_write(self) -> bool:
        """True if forms that change something are shown; `answer` refuses them otherwise."""
        return not (self.principal.read_only or self.scope)

    @property
    def me(self) -> str:
        """How the user is called: "You", unless an admin's key looks at somebody's memory."""
        is_theirs = self.principal.user is None and self.principal.key_id is not None
        return self.user if is_theirs else "You"

    @property
    def is_fragment(self) -> bool:
        """True if htmx requests a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    def text(self, name: str, default: str = "") -> str:
        """Return a query parameter, trimmed."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int = 0, *, most: int = 10**18) -> int:
        """Return a query parameter as a number from 1 to `most`; the default if it is none."""
        given = self.text(name)
        return min(int(given), most) if given.isdecimal() and len(given) < 19 and int(given) else default

    def part(self, things: Sequence[T], step: int) -> dict[str, Any]:
        """Return the things that a page of a list shows, `step` from the parameter skip on, and its place."""
        skip = self.number("skip")
        return {"shown": things[skip : skip + step], "skip": skip, "step": step, "total": len(things)}

    def day(self, name: str, *, end: bool = False) -> datetime | None:
        """Return a query parameter as the beginning of a day, or its end. Raises InvalidInput."""
        given = self.text(name)
        try:
            return datetime.fromisoformat(f"{given}T00:00+00:00") + timedelta(days=end) if given else None
        except (ValueError, OverflowError) as error:
            raise InvalidInput(f"{given[:40]!r} is no day: write it as 2024-05-31") from error

    async def form(self) -> FormData:
        """Read the form."""
        return await self.request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=_LONGEST_FIELD)

    async def titles(self, sessions: Iterable[str], scope: str = "") -> Mapping[str, str]:
        """Return the titles of some sessions by their names."""
        among = set(sessions)
        if not among:
            return {}
        held, _ = await self.memory.user(scope or self.user).titled_sessions(among=among, limit=len(among))
        return {session.session: session.title for session in held}

    async def titles_of(self, passages: Sequence[Evidence]) -> Mapping[tuple[str, str], str]:
        """Return the titles of passages' sessions by shared memory and name."""
        titles: dict[tuple[str, str], str] = {}
        for scope in {passage.scope for passage in passages}:
            held = await self.titles((unit.session for unit in passages if unit.scope == scope), scope)
            titles |= {(scope, session): title for session, title in held.items()}
        return titles

    def href(self, path: str, **parameters: object) -> str:
        """Return a link of the page, with the user if the key has none."""
        given = {name: value for name, value in parameters.items() if value not in (None, "")}
        if self.principal.user is None:
            given["user"] = self.user
        return f"{path}?{urlencode(given, doseq=True)}" if given else path

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """Render a page."""
        return HTMLResponse(render(template, call=self, **values), status_code=status, headers=HEADERS)

    async def to_job(
        self, title: str, path: str, work: Callable[[Progress], Awaitable[Report]]
    ) -> RedirectResponse:
        """Start a job, and redirect to its page, which has its report."""
        deletions = await self.memory.user(self.user).deletions()
        started = await self.jobs.start(self.user, title, path, work, deletions)
        return self.see(f"/jobs/{started.id}")

    def see(self, path: str, at: str = "") -> RedirectResponse:
        """Redirect to another path of the page, `at` the element of an id."""
        return RedirectResponse(f"{self.href(path)}{at and f'#{at}'}", status_code=303, headers=HEADERS)


Handle = Callable[[PageCall], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class PageAction:
    """A method of a path. POST needs a key that may write, unless the action only `reads`.

    One that `shares` can show a memory that is shared with the user.
    """

    path: str
    handle: Handle
    posts: bool = False
    reads: bool = False
    shares: bool = False


ACTIONS: list[PageAction] = []


def action(path: str, **options: bool) -> Callable[[Handle], Handle]:
    """Register the function that answers a path."""

    def register(handle: Handle) -> Handle:
        ACTIONS.append(PageAction(path, handle, **options))
        return handle

    return register


async def answer(action: PageAction, services: PageServices, request: Request) -> Response:
    """Answer a request. Raises what `problem_of` knows."""
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is None and request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN, **HEADERS})
    if principal is None:
        return RedirectResponse(SIGN_IN, status_code=303, headers=HEADERS)
    if principal.agent is not None:
        raise Problem(403, "other-agent", "this key is for one agent's messages; the page shows all of them")
    if action.posts:
        check_sender(request)
        if not action.reads:
            principal.must_write()
    user = await _whose(action, services.memory, principal, request)
    if user is None:
        return RedirectResponse("/users", status_code=303, headers=HEADERS)
    scope = request.query_params.get("shared", "")
    if scope and not (action.shares and await services.memory.admin.grants(user=user, scope=scope)):
        raise Problem(403, "not-granted", "no memory of this name is shared with you")
    memory, metrics, jobs, live = services.memory, services.metrics, services.jobs, services.live
    return await action.handle(PageCall(memory, metrics, jobs, live, request, principal, user, scope))


async def _whose(
    action: PageAction, memory: AsyncMemory, principal: Principal, request: Request
) -> str | None:
    """Return the user that the request names, or the only one; None if one has to be chosen."""
    named = request.query_params.getlist("user")
    if len(named) > 1:
        raise Problem(422, "invalid-input", "the parameter user comes twice")
    if principal.user is not None or named:
        return principal.whose(named[0] if named else None)
    known = await memory.users()
    if len(known) < 2 or action.path == "/users":
        return known[0] if known else MYSELF
    if action.posts:
        raise Problem(400, "no-user", "say whose memory: add the parameter user")
    return None


def field(form: FormData, name: str) -> str:
    """Return a text field with the line breaks as typed (browsers send CR LF); "" if it is missing."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def check_sender(request: Request) -> None:
    """Refuse a form without headers that say it comes from a page of ours, against CSRF.

    `Access` has refused those that say it comes from another page.
    """
    if "origin" not in request.headers and request.headers.get("sec-fetch-site") != "same-origin":
        raise Problem(403, "cross-origin", "forms are for browsers: programs use REST, below /v1/memory")


def answered(request: Request, problem: Problem) -> Response:
    """Answer a problem: a browser gets a page, but of what is for programs; a program gets JSON."""
    path, accepted = request.url.path, request.headers.get("accept", "")
    wants_page = "text/html" in accepted or (is_page(path) and accepted and "json" not in accepted)
    if path.startswith(FOR_PROGRAMS) or not wants_page:
        return problem.response(path)
    status, detail = problem.status, problem.detail
    if status in (401, 404):  # no key opens what is not there
        status, detail = 404, "There is nothing at this address, or nothing any more."
    title = "Not here" if status == 404 else "That did not work"
    shown = render("problem.html", call=None, title=title, detail=detail)
    return HTMLResponse(shown, status_code=status, headers={**problem.headers, **HEADERS})


_LONGEST_FORM = 2**14


def sign_in_routes(keys: KeyStore) -> Sequence[BaseRoute]:
    """Return the routes /sign-in and /sign-out."""

    async def ask(_: Request) -> Response:
        return _sign_in_form()

    async def sign_in(request: Request) -> Response:
        check_sender(request)
        form = await request.form(max_files=0, max_fields=4, max_part_size=_LONGEST_FORM)
        token = field(form, "key").strip()
        key = await in_thread(keys.authenticate, token)
        if key is None:
            return _sign_in_form("This key is unknown, or was revoked.", 401)
        if key.agent is not None:
            return _sign_in_form("This key is for one agent's messages; the page shows all.", 403)
        signed_in = RedirectResponse("/", status_code=303, headers=HEADERS)
        # Behind a TLS proxy the origin has the scheme.
        is_secure = request.headers.get("origin", "").startswith("https:")
        signed_in.set_cookie(KEY_COOKIE, token, httponly=True, samesite="strict", secure=is_secure)
        return signed_in

    async def sign_out(request: Request) -> Response:
        check_sender(request)
        signed_out = RedirectResponse(SIGN_IN, status_code=303, headers=HEADERS)
        signed_out.delete_cookie(KEY_COOKIE, httponly=True, samesite="strict")
        return signed_out

    return routes_of(((SIGN_IN, "GET", ask), (SIGN_IN, "POST", sign_in), ("/sign-out", "POST", sign_out)))


def _sign_in_form(fault: str = "", status: int = 200) -> HTMLResponse:
    shown = render("sign_in.html", call=None, fault=fault)
    return HTMLResponse(shown, status_code=status, headers=HEADERS)
