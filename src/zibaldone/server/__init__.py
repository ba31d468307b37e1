"""The server: REST, the gateway and MCP over one memory (extra `server`)."""

from __future__ import annotations

from zibaldone.errors import MissingExtra

try:
    import starlette as _starlette
except ModuleNotFoundError as error:
    raise MissingExtra("no module 'starlette': pip install 'zibaldone[server]'") from error

del _starlette
