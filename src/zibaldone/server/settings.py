"""Settings of a server."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput


class MemoryMode(StrEnum):
    """The gateway's ways to give a model memory."""

    CONTEXT = "context"  # recalled text before the user's words
    TOOL = "tool"  # a tool to search with
    BOTH = "both"


def to_mode(given: object) -> MemoryMode:
    """Return the checked mode. Raises InvalidInput."""
    if given not in set(MemoryMode):
        raise InvalidInput(f"the memory mode is {', '.join(MemoryMode)}, not {shown(given)}")
    return MemoryMode(given)  # type: ignore[arg-type] # it is one of them


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Options of `zibaldone serve`."""

    host: str = "127.0.0.1"
    port: int = 8787  # 0: any that is free
    upstream: str | None = None  # such as http://localhost:8000/v1; None: no gateway
    upstream_key: str | None = field(default=None, repr=False)  # sent upstream in place of the client's own
    memory_mode: MemoryMode = MemoryMode.CONTEXT  # default for requests and keys
    user: str | None = None  # of every request without a key; None: a request names its user
    allowed_hosts: tuple[str, ...] = ()  # accepted Host headers besides loopback and `host`
    max_body_bytes: int = 32 * 2**20
    max_import_bytes: int = 2 * 2**30  # of a file uploaded to the page
    header_timeout_s: float = 10.0  # from the first byte, or the opening, to the end of the headers
    body_timeout_s: float = 60.0  # from the end of the headers to that of the body
    import_timeout_s: float = 600.0  # the same for a file uploaded to the page
    max_connections: int = 4000
    requests_per_minute: int = 6000  # of one key; 0: no limit
    burst: int = 500  # requests that a key may send at once
    shutdown_timeout_s: int = 15
    recall_timeout_ms: int = 300  # then the gateway goes on without memory

    def __post_init__(self) -> None:
        """Raises InvalidInput."""
        if not 0 <= self.port <= 65_535:
            raise InvalidInput(f"port must be a number from 0 to 65535, not {shown(self.port)}")
