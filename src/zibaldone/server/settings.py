"""How a server is set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput


class MemoryMode(StrEnum):
    """How the gateway's model gets at memory."""

    CONTEXT = "context"  # what is recalled stands before the user's words
    TOOL = "tool"  # it searches, if it wants to
    BOTH = "both"


def to_mode(given: object) -> MemoryMode:
    """Check a mode. Raises InvalidInput."""
    if given not in set(MemoryMode):
        raise InvalidInput(f"the memory mode is {', '.join(MemoryMode)}, not {shown(given)}")
    return MemoryMode(given)  # type: ignore[arg-type] # it is one of them


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """What `zibaldone serve` is told; times in seconds unless the name says otherwise."""

    host: str = "127.0.0.1"
    port: int = 8787  # 0: any that is free
    upstream: str | None = None  # such as http://localhost:8000/v1; None: no gateway
    upstream_key: str | None = field(default=None, repr=False)  # sent upstream in place of the client's own
    memory_mode: MemoryMode = MemoryMode.CONTEXT  # where neither request nor key says one
    allowed_hosts: tuple[str, ...] = ()  # names that a Host header may say besides loopback and `host`
    max_body_bytes: int = 32 * 2**20
    max_import_bytes: int = 2 * 2**30  # of a file that is dropped on the page
    header_timeout_s: float = 10.0  # from the first byte, or the opening, to the end of the headers
    body_timeout_s: float = 60.0  # from the end of the headers to that of the body
    import_timeout_s: float = 600.0  # the same for a file that is dropped on the page
    max_connections: int = 4000
    requests_per_minute: int = 6000  # of one key; 0: no limit
    burst: int = 500  # requests that a key may send at once
    shutdown_timeout_s: int = 15
    recall_timeout_ms: int = 300  # the gateway goes on without memory afterwards
