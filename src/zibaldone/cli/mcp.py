"""`zibaldone mcp`: the memory as tools of an editor or an agent, and the lines that tell these of it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.errors import InvalidInput, MissingExtra


@runs("mcp")
def mcp(call: CliCall) -> None:
    if sys.stdin is not None and sys.stdin.isatty():
        _write(_entries(None, Local(_arguments(call))))
    else:
        serve(call)


@runs("mcp config")
def config(call: CliCall) -> None:
    url = call.given["url"]
    server = Local(_arguments(call)) if url is None else _Remote(f"{url.rstrip('/')}/mcp", call.whose)
    entries = _entries(call.given["client"], server)
    if call.as_json:
        out.write_json(entries)
    else:
        _write(entries)
    if url is None and find_spec("mcp") is None:
        out.note("a client cannot start it yet: pip install 'zibaldone[mcp]'", "yellow")


@dataclass(frozen=True, slots=True)
class Local:
    """A server that the client starts itself."""

    arguments: list[str]  # the command first


@dataclass(frozen=True, slots=True)
class _Remote:
    """A server that runs already. Its key, if it needs one, is put in by hand: it is nothing to print."""

    url: str
    user: str


@dataclass(frozen=True, slots=True)
class _Entry:
    """The lines for one client, and where they go."""

    client: str
    name: str
    where: str
    text: str


def _entries(client: str | None, server: Local | _Remote) -> list[_Entry]:
    if client not in (None, *_CLIENTS):
        raise InvalidInput(f"no client {client!r}: there is {', '.join(_CLIENTS)}")
    entries = [
        _Entry(name, shown, where, text)
        for name, (shown, where, write) in _CLIENTS.items()
        if client in (None, name) and (text := write(server)) is not None
    ]
    if not entries:
        raise InvalidInput(
            f"{client} is told of no --url: leave it out, and the client starts a server itself"
        )
    return entries


def _write(entries: list[_Entry]) -> None:
    out.write("\n\n".join(f"{entry.name}, {entry.where}:\n\n{entry.text}" for entry in entries))


def _arguments(call: CliCall) -> list[str]:
    """The command that a client starts: whole paths, since it has another directory and another PATH."""
    agent, read_only = call.given["agent"], call.given["read_only"]
    options = ["--user", call.whose, "--memory", whole(call.folder)]
    options += [] if agent is None else ["--agent", agent]
    return [program_path(), "mcp", "serve", *options, *(["--read-only"] if read_only else [])]


def program_path() -> str:
    """The command `zibaldone` with its whole path, if it can be found."""
    script = Path(sys.executable).with_name("zibaldone")
    return str(script) if script.exists() else shutil.which("zibaldone") or "zibaldone"


def whole(memory: Path) -> str:
    """A memory's URL, or its whole path."""
    from zibaldone.storage.database import url_in

    return url_in(memory) or str(memory.expanduser().absolute())


def server_entry(server: Local | _Remote, url_key: str = "url") -> dict[str, Any]:
    """Describe the server as most clients write it."""
    if isinstance(server, Local):
        return {"command": server.arguments[0], "args": server.arguments[1:]}
    return {url_key: server.url, "headers": {"X-Memory-User": server.user}}


def _servers(server: Local | _Remote, key: str = "mcpServers", url_key: str = "url", **more: str) -> str:
    entry = {**more, **server_entry(server, url_key)}
    return json.dumps({key: {"zibaldone": entry}}, indent=2, ensure_ascii=False)


def _claude_desktop(server: Local | _Remote) -> str | None:
    return _servers(server) if isinstance(server, Local) else None  # its file knows no addresses


def _claude_code(server: Local | _Remote) -> str:
    if isinstance(server, Local):
        return f"claude mcp add zibaldone -- {shlex.join(server.arguments)}"
    header = shlex.quote(f"X-Memory-User: {server.user}")
    return f"claude mcp add --transport http zibaldone {shlex.quote(server.url)} --header {header}"


def _vscode(server: Local | _Remote) -> str:
    return _servers(server, "servers", type="stdio" if isinstance(server, Local) else "http")


def codex_lines(server: Local | _Remote) -> str:
    """The table of a server in Codex's configuration."""
    # a JSON string or list of strings is a TOML one, too
    if isinstance(server, Local):
        lines = [f"{key} = {json.dumps(value)}" for key, value in server_entry(server).items()]
    else:
        headers = f'{{ "X-Memory-User" = {json.dumps(server.user)} }}'
        lines = [f"url = {json.dumps(server.url)}", f"http_headers = {headers}"]
    return "\n".join(["[mcp_servers.zibaldone]", *lines])


def _windsurf(server: Local | _Remote) -> str:
    return _servers(server, url_key="serverUrl")


# Each client's name, where it is told, and how.
_CLIENTS: dict[str, tuple[str, str, Callable[[Local | _Remote], str | None]]] = {
    "claude-desktop": (
        "Claude Desktop",
        "in claude_desktop_config.json (Settings, Developer, Edit Config)",
        _claude_desktop,
    ),
    "claude-code": ("Claude Code", "in a shell", _claude_code),
    "cursor": ("Cursor", "in ~/.cursor/mcp.json", _servers),
    "vscode": ("VS Code", "in .vscode/mcp.json", _vscode),
    "codex": ("Codex", "in ~/.codex/config.toml", codex_lines),
    "windsurf": ("Windsurf", "in ~/.codeium/windsurf/mcp_config.json", _windsurf),
}


@runs("mcp serve")
def serve(call: CliCall) -> None:
    """Serve over standard input and output until the client goes away."""
    import logging

    from anyio import run

    from zibaldone.api.aio import AsyncMemory
    from zibaldone.api.config import Config

    if find_spec("mcp") is None:
        raise MissingExtra("no module 'mcp': pip install 'zibaldone[mcp]'")
    from zibaldone.server.mcp.serving import serve_stdio

    logging.basicConfig(format="%(levelname)s %(message)s", level=logging.WARNING)  # on standard error
    memory = AsyncMemory.from_env(call.folder, config=Config(background=True))
    agent, read_only = call.given["agent"], call.given["read_only"]
    run(partial(serve_stdio, memory, user=call.whose, agent=agent, read_only=read_only))
