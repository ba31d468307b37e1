"""The user that a message of the protocol is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.requests import Request

from zibaldone.api.aio import AsyncMemory
from zibaldone.log.grants import must_be_granted
from zibaldone.server.access import Principal, named_in

_USER, _AGENT = "x-memory-user", "x-memory-agent"


@dataclass(frozen=True, slots=True)
class McpCaller:
    """One user's memory, and what may be done with it."""

    memory: AsyncMemory
    user: str
    agent: str | None = None  # whose messages alone; None: all of the user's
    read_only: bool = False
    key_id: str | None = None  # None: no key was needed
    by: str | None = None  # who acts, by a grant, in the shared memory `user`; None: it is their own

    async def within(self, scope: str, *, write: bool) -> McpCaller:
        """This caller in a shared memory, to read or to write; "": their own. Raises NotGranted."""
        if not scope:
            return self
        granted = {grant.scope: grant for grant in await self.memory.admin.grants(user=self.user)}
        must_be_granted(granted, scope, self.user, write=write)
        return replace(self, user=scope, by=self.user)


def caller_of(memory: AsyncMemory, request: Request | None) -> McpCaller:
    """Return the caller over HTTP: the key's user, or whom X-Memory-User names where no key does.

    Raises a Problem for somebody else than the key's user or agent, and where nobody is named.
    """
    assert request is not None  # over HTTP there is one
    principal: Principal = request.state.principal
    return McpCaller(
        memory,
        principal.whose(named_in(request.headers, _USER)),
        principal.which_agent(named_in(request.headers, _AGENT)),
        principal.read_only,
        principal.key_id,
    )
