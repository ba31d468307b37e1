"""The memory of a server, over REST, with methods, arguments and results of Memory (extra `server`).

    with RestMemory("http://127.0.0.1:8787", key="...") as memory:
        memory.add("I moved to Lisbon in May.", user="ann")
        memory.recall("Where does Ann live?", user="ann").text

An argument that REST does not have, such as a `chat` model, raises InvalidInput; a recall comes without its
trace. A message without an id gets one, so that an attempt that broke off can be repeated.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import fields
from datetime import date
from functools import cache, wraps
from inspect import signature
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, cast, get_type_hints
from urllib.parse import quote
from uuid import uuid4

from pydantic import AfterValidator, TypeAdapter

from zibaldone.api.memory import Memory
from zibaldone.api.operations import BY_NAME, LONGEST_PAGE, Operation
from zibaldone.core import Evidence, Message
from zibaldone.core.validation import key
from zibaldone.errors import InvalidInput, MissingExtra, StorageUnreachable, ZibaldoneError
from zibaldone.log.filters import Filter
from zibaldone.log.message_input import to_messages
from zibaldone.recall.result import Passages
from zibaldone.server.problems import ERRORS

try:
    import httpx2
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[server]'") from error

P = ParamSpec("P")
T = TypeVar("T")
_FOUND = Annotated[tuple[tuple[Evidence, ...], float], AfterValidator(lambda given: Passages(*given))]
_ROOT, _MESSAGE = "/v1/memory/", ("content", "role", "name", "time", "session", "metadata", "id")
# May have happened although no answer came, and would happen twice: not sent again then.
_ONCE = frozenset(("ask", "forget", "correctMessage"))
_FIRST_WAIT_S, _LONGEST_WAIT_S, _ASK_S, _MORE_S = 0.25, 60.0, 120.0, 10.0
_BY_CODE = {name: kind for kind, name, *_ in ERRORS} | {"no-message": InvalidInput}


def _is_json(answer: httpx2.Response) -> bool:
    return "json" in answer.headers.get("content-type", "")


def _error(answer: httpx2.Response) -> ZibaldoneError:
    """Return the library's own error for a problem, or the root of all."""
    problem = answer.json() if _is_json(answer) else {}
    code = problem.get("type", f"HTTP {answer.status_code}").rpartition(":")[2]
    detail = problem.get("detail", "is it a zibaldone server?")
    return _BY_CODE[code](detail) if code in _BY_CODE else ZibaldoneError(f"{code}: {detail}")


def _over_rest(name: str, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """The method of the library that an operation calls, over REST."""
    operation, parameters = BY_NAME[name], signature(method)
    assert operation.rest
    in_url = None if not operation.rest.body else operation.rest.in_url
    known = {part.name for part in operation.parameters_of("rest")}
    defaults = {part.name: part.default for part in parameters.parameters.values()}
    is_paged = {"after", "limit"} <= known

    @cache
    def returned() -> TypeAdapter[Any]:  # made when it is needed
        declared = get_type_hints(method)["return"]
        return TypeAdapter(_FOUND if declared is Passages else declared)

    @wraps(method)
    def call(self: RestMemory, /, *args: P.args, **options: P.kwargs) -> T:
        _, *given = parameters.bind(self, *args, **options).arguments.items()
        arguments = dict(given)
        user, which = arguments.pop("user", None), arguments.pop("which", "")
        if isinstance(which, int):
            raise InvalidInput("a server knows a message by its id, and not by its seq")
        if isinstance(narrowed := arguments.pop("filter", None), Filter):
            arguments |= {part.name: getattr(narrowed, part.name) for part in fields(Filter)}
        url: dict[str, Any] = {} if user is None else {"user": key("user", user)}
        body: dict[str, Any] = {}
        if arguments.get("messages") is not None:
            arguments["messages"] = to_messages(arguments["messages"], session=arguments.get("session"))
        for argument, value in arguments.items():
            if value is None or (argument not in known and value in ((), defaults.get(argument))):
                continue
            if argument not in known:
                raise InvalidInput(f"{argument} does not go to a server: leave it out, or open the folder")
            shown = _as_json(value)
            if in_url is None or argument in in_url:
                url[argument] = json.dumps(shown) if isinstance(shown, Mapping) else shown
            else:
                body[argument] = shown
        if is_paged and "last" not in url:
            return cast("T", returned().validate_python(self._listed(operation, url)))
        return cast("T", returned().validate_python(_content(self._send(operation, url, body, str(which)))))

    return call


def _content(answer: Any) -> Any:
    """Return what the library's method returns of an answer: a page's list, or all of it."""
    if not isinstance(answer, dict):
        return answer
    if "quoted" in answer:  # a recall
        trace = {**answer, "views": (), "decisions": (), "floor": 0.0, "note": answer["reason"]}
        return answer | {"trace": trace}
    if "passages" in answer:
        return answer["passages"], answer["confidence"]
    if "steps" in answer:
        return answer | {"evidence": _content(answer["evidence"])}
    lists = [value for name, value in answer.items() if isinstance(value, list)]
    return lists[0] if len(answer) <= 2 and lists else answer


def _as_json(value: Any) -> Any:
    if isinstance(value, Message):
        return {name: _as_json(getattr(value, name)) for name in _MESSAGE} | {"id": value.id or uuid4().hex}
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, bool | int | float | str | Mapping):
        return value
    return [_as_json(part) for part in value] if isinstance(value, Iterable) else str(value)


class RestMemory(AbstractContextManager["RestMemory"]):
    """See Memory. Safe to share among threads."""

    def __init__(
        self, url: str, *, key: str | None = None, timeout_s: float = 30.0, retries: int = 3
    ) -> None:
        """`key` is one of the server, as `zibaldone keys create` prints it; `timeout_s` is for an attempt."""
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._client = httpx2.Client(base_url=url, headers=headers, timeout=timeout_s)
        self._retries = retries

    add = _over_rest("addMessages", Memory.add)
    recall = _over_rest("recall", Memory.recall)
    ask = _over_rest("ask", Memory.ask)
    search = _over_rest("search", Memory.search)
    messages = _over_rest("listMessages", Memory.messages)
    get = _over_rest("getMessage", Memory.get)
    update = _over_rest("correctMessage", Memory.update)
    users = _over_rest("listUsers", Memory.users)
    forget = _over_rest("forget", Memory.forget)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, operation: Operation, url: Mapping[str, Any], body: Mapping[str, Any], which: str) -> Any:
        """Send a request, and again where that helps; return the JSON. Raises ZibaldoneError."""
        assert operation.rest
        path = _ROOT + operation.rest.path.partition("{")[0] + quote(which, safe="")
        options: dict[str, Any] = {"json": body} if operation.rest.body else {}
        if operation.name == "ask":
            options["timeout"] = body.get("timeout_s", _ASK_S) + _MORE_S
        attempt = 0
        while True:
            wait_s, again = 0.0, operation.name not in _ONCE
            try:
                answer = self._client.request(operation.rest.method, path, params=url, **options)
            except httpx2.TransportError as error:
                where = f"no whole answer came from {self._client.base_url} ({type(error).__name__})"
                failure: ZibaldoneError = StorageUnreachable(f"{where}: check that it runs")
            else:
                if answer.is_success and _is_json(answer):
                    return answer.json()
                if answer.status_code == 404 and operation.name == "getMessage":
                    return None
                failure, again = _error(answer), answer.status_code in (429, 503)
                if (wait := answer.headers.get("retry-after", "")).isdecimal():
                    wait_s = float(wait)
            if not again or attempt == self._retries or wait_s > _LONGEST_WAIT_S:
                raise failure
            attempt += 1
            time.sleep(wait_s or _FIRST_WAIT_S * 2**attempt * random.uniform(0.3, 0.7))  # noqa: S311

    def _listed(self, operation: Operation, url: dict[str, Any]) -> list[Any]:
        """Return a list's pages, up to `limit` things of them; all without one."""
        limit, things = url.pop("limit", sys.maxsize), list[Any]()
        while len(things) < limit:
            page = self._send(operation, url | {"limit": min(LONGEST_PAGE, limit - len(things))}, {}, "")
            things += _content(page)
            if page["next"] is None:
                break
            url["after"] = page["next"]
        return things
