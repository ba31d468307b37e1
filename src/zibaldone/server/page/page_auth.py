"""The door of the page: who comes in, whose memory it is, and what an answer looks like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from zibaldone.api.aio import AsyncMemory
from zibaldone.core import MYSELF
from zibaldone.errors import ZibaldoneError
from zibaldone.server.access import Principal
from zibaldone.server.metrics import Metrics
from zibaldone.server.page.environment import render
from zibaldone.server.page.jobs import Jobs
from zibaldone.server.problems import Problem, problem_of

SIGN_IN = "/sign-in"
# No script and no style but our files', nothing of another origin, nobody's frame around it. Nothing is kept
# by the browser, or what was forgotten could still be looked at.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "Vary": "HX-Request",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_LONGEST_FIELD = 8 * 2**20  # bytes of a field of a form, such as a document's text
_MOST_FIELDS = 2000
_MOST_USERS = 500  # that are listed to choose from


@dataclass(frozen=True, slots=True)
class PageCall:
    """One request of the page, by somebody who may."""

    request: Request
    memory: AsyncMemory
    metrics: Metrics
    jobs: Jobs
    principal: Principal
    user: str  # whose memory

    @property
    def may_write(self) -> bool:
        """True if the forms that change something are shown; `Door` refuses them anyway."""
        return not self.principal.read_only

    @property
    def is_fragment(self) -> bool:
        """True if htmx asks for a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    def text(self, name: str, default: str = "") -> str:
        """A parameter of the query, trimmed."""
        return self.request.query_params.get(name, default).strip()

    def number(self, name: str, default: int, *, most: int) -> int:
        """A whole number of the query from 1; the default where it is none, and never more than `most`."""
        given = self.text(name)
        return min(int(given), most) if given.isdecimal() and len(given) < 19 and int(given) else default

    async def form(self) -> FormData:
        """The fields of a form."""
        return await self.request.form(max_files=1, max_fields=_MOST_FIELDS, max_part_size=_LONGEST_FIELD)

    def href(self, path: str, **parameters: object) -> str:
        """A link of the page, with whose memory it is where the key does not say it."""
        given = {name: value for name, value in parameters.items() if value not in (None, "")}
        if self.principal.user is None:
            given["user"] = self.user
        return f"{path}?{urlencode(given, doseq=True)}" if given else path

    def page(self, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
        """An answer."""
        return HTMLResponse(render(template, call=self, **values), status_code=status, headers=HEADERS)

    def see(self, path: str, **parameters: object) -> RedirectResponse:
        """Lead on to another of the page's paths, by GET."""
        return RedirectResponse(self.href(path, **parameters), status_code=303, headers=HEADERS)


@dataclass(frozen=True, slots=True)
class PageAction:
    """One method of one path. What is posted writes, unless it `reads`: who may only read is refused it."""

    path: str
    handle: Callable[[PageCall], Awaitable[Response]]
    posts: bool = False
    reads: bool = False


class Door:
    """All actions of one path, as an ASGI app."""

    def __init__(
        self, actions: Sequence[PageAction], memory: AsyncMemory, metrics: Metrics, jobs: Jobs
    ) -> None:
        self._path = actions[0].path
        self._actions: Mapping[bool, PageAction] = {action.posts: action for action in actions}
        self._memory, self._metrics, self._jobs = memory, metrics, jobs

    def route(self) -> Route:
        """Its route."""
        return Route(self._path, self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except (HTTPException, Problem, ZibaldoneError) as error:
            response = refusal(problem_of(error))
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        principal: Principal | None = getattr(request.state, "principal", None)
        if principal is None:
            return _to_sign_in(request)
        if principal.agent is not None:
            raise Problem(
                403, "other-agent", "this key is for one agent's messages; the page shows all of them"
            )
        if request.method not in ("GET", "HEAD", "POST"):
            raise HTTPException(405)
        action = self._actions.get(request.method == "POST")
        if action is None:
            raise HTTPException(405)
        if action.posts:
            check_sender(request)
            if not action.reads:
                principal.must_write()
        user = await self._whose(principal, request)
        if user is None:
            return RedirectResponse("/users", status_code=303, headers=HEADERS)
        return await action.handle(
            PageCall(request, self._memory, self._metrics, self._jobs, principal, user)
        )

    async def _whose(self, principal: Principal, request: Request) -> str | None:
        """The user that the request names, or the only one there is; None where one has to be chosen."""
        named = request.query_params.getlist("user")
        if len(named) > 1:
            raise Problem(422, "invalid-input", "the parameter user comes twice")
        if principal.user is not None or named:
            return principal.whose(named[0] if named else None)
        known = await self._memory.users()
        if len(known) < 2 or self._path == "/users":
            return known[0] if known else MYSELF
        if request.method == "POST":
            raise Problem(400, "no-user", "say whose memory: add the parameter user")
        return None


def field(form: FormData, name: str) -> str:
    """A text as it was typed: browsers send line breaks as CR LF. Empty where there is none."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


def check_sender(request: Request) -> None:
    """Refuse a form that does not say that a page of ours has sent it, as every browser does.

    What says that another's page sent it never comes here: see `Access`.
    """
    if "origin" not in request.headers and request.headers.get("sec-fetch-site") != "same-origin":
        raise Problem(403, "cross-origin", "forms are for browsers: programs use REST, below /v1/memory")


def refusal(problem: Problem) -> HTMLResponse:
    """A problem, for people."""
    title, hint = problem.body("/v1/memory")["title"], ""
    if problem.status == 404:
        hint = "It may have been forgotten."
    shown = render("problem.html", call=None, title=title, detail=problem.detail, hint=hint)
    return HTMLResponse(shown, status_code=problem.status, headers={**problem.headers, **HEADERS})


def _to_sign_in(request: Request) -> Response:
    """Where a key is asked for; afterwards it goes on where it was meant to go."""
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = request.url.path + query if request.method == "GET" else "/"
    if request.headers.get("hx-request") == "true":
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN, **HEADERS})
    target = SIGN_IN if wanted == "/" else f"{SIGN_IN}?{urlencode({'next': wanted})}"
    return RedirectResponse(target, status_code=303, headers=HEADERS)


def own_path(wanted: str) -> str:
    """A path of this server to lead on to, or else the first page: never another's address."""
    parts = urlsplit(wanted)
    is_own = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and not parts.netloc
    return wanted if is_own and wanted.isprintable() else "/"
