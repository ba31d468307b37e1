"""MCP: a user's memory as tools, for editors and agents (extra `mcp`)."""

from zibaldone.errors import MissingExtra

try:
    import mcp as _  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingExtra(f"no module {error.name!r}: pip install 'zibaldone[mcp]'") from error
