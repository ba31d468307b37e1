"""The doors of one server: REST and tools with a key, the page once it was shown the key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from loopback import servers

from zibaldone.api.operations import Operation
from zibaldone.server.keys import KeyStore
from zibaldone.server.page import ACTIONS

KEYS: Mapping[str, Mapping[str, Any]] = {
    **{name: {"user": name} for name in ("ann", "bob", "cid")},
    "reader": {"user": "ann", "read_only": True},
    "notes": {"user": "ann", "agent": "notes"},
    "admin": {"user": None},
}
TO_READ = [action for action in ACTIONS if not action.posts]
TO_CHANGE = [action for action in ACTIONS if action.posts]


class Doors:
    """Who asks is one of KEYS, or "nobody", who has none."""

    def __init__(self, home: Path, clients: Mapping[str, httpx2.Client], tokens: Mapping[str, str]) -> None:
        self.home, self.clients, self.tokens = home, clients, tokens
        self.program = clients["program"]  # sends keys, and no cookie

    def rest(
        self,
        who: str,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        **query: Any,
    ) -> httpx2.Response:
        """A request below /v1/memory; parameters that are None are left out."""
        key = {"Authorization": f"Bearer {self.tokens[who]}"} if who in self.tokens else {}
        given = {name: value for name, value in query.items() if value is not None}
        return self.program.request(
            method, f"/v1/memory/{path}", json=body, params=given or None, headers={**key, **(headers or {})}
        )

    def example(
        self, operation: Operation, who: str, user: str | None = "ann", **options: Any
    ) -> httpx2.Response:
        """An operation's example of the OpenAPI document, about a user's memory."""
        assert operation.rest is not None
        example = operation.rest.example
        path = operation.rest.path.replace(":path", "").format(**example.get("path", {}))
        query = {"user": user, **example.get("query", {})}
        return self.rest(who, operation.rest.method, path, example.get("body"), **options, **query)

    def mcp(self, who: str, method: str, headers: Mapping[str, str] | None = None, **params: Any) -> Any:
        """What MCP answers, as JSON."""
        accepted = {"Accept": "application/json, text/event-stream"}
        given = {"Authorization": f"Bearer {self.tokens[who]}", **accepted, **(headers or {})}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.program.post("/mcp", headers=given, json=body).json()

    def tool(self, who: str, name: str, headers: Mapping[str, str] | None = None, **arguments: Any) -> str:
        """The text of a tool's answer; an error begins with "error: "."""
        answer = self.mcp(who, "tools/call", headers, name=name, arguments=arguments)
        if "error" in answer:
            return f"error: {answer['error']['message']}"
        text: str = answer["result"]["content"][0]["text"]
        return text

    def page(self, who: str, path: str, status: int = 200, **query: Any) -> str:
        """A page, which has this status."""
        answer = self.clients[who].get(path, params=query or None, headers={"Accept": "text/html"})
        assert answer.status_code == status, (who, path, answer.text)
        return answer.text


@contextmanager
def doors(home: Path, **options: Any) -> Iterator[Doors]:
    """A served memory with all KEYS; each has signed in on the page."""
    keys = KeyStore(home)
    tokens = {name: keys.create(**given).token for name, given in KEYS.items()}
    keys.close()
    with servers(home) as serving, ExitStack() as stack:
        base = serving(**options)
        clients = {
            name: stack.enter_context(httpx2.Client(base_url=base, headers={"Origin": base}, timeout=60))
            for name in (*KEYS, "nobody")
        }
        clients["program"] = stack.enter_context(httpx2.Client(base_url=base, timeout=60))
        for name, token in tokens.items():
            clients[name].post("/sign-in", data={"key": token})
        yield Doors(home, clients, tokens)


def filled(path: str) -> str:
    """A path of the page with something in its braces."""
    return re.sub(r"\{(\w+)(:int)?\}", lambda m: "1" if m[2] else "CURRENT", path)
