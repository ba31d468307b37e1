"""`zibaldone mcp`: the memory as tools of an editor or an agent, and the lines that tell these of it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zibaldone.cli import output as out
from zibaldone.cli.frame import CliCall, runs
from zibaldone.errors import InvalidInput, MissingExtra

Entry = dict[str, Any]  # a server as most clients write it


@runs("mcp config")
def config(call: CliCall) -> None:
    url, client = call.given["url"], call.given["client"]
    if client not in (None, *_CLIENTS):
        raise InvalidInput(f"no client {client!r}: there is {', '.join(_CLIENTS)}")
    if url is None:
        entry = started(program_path(), _arguments(call))
    else:  # its key, if it needs one, is put in by hand: it is nothing to print
        entry = {"url": f"{url.rstrip('/')}/mcp", "headers": {"X-Memory-User": call.whose}}
    chosen = [name for name in _CLIENTS if client in (None, name)]
    lines = {name: text for name in chosen if (text := _lines(name, entry))}
    if not lines:
        raise InvalidInput(f"{client} takes no --url: leave it out, and the client starts a server itself")
    shown = "\n\n".join(f"{_CLIENTS[name]}:\n\n{text}" for name, text in lines.items())
    call.answer(lines, shown)
    if url is None and find_spec("mcp") is None:
        out.note("a client cannot start it yet: pip install 'zibaldone[mcp]'", "yellow")


def _arguments(call: CliCall) -> list[str]:
    """The arguments with which a client starts the command."""
    agent, read_only = call.given["agent"], call.given["read_only"]
    options = ["--user", call.whose, "--memory", whole(call.folder)]
    options += [] if agent is None else ["--agent", agent]
    return ["mcp", "serve", *options, *(["--read-only"] if read_only else [])]


def program_path() -> str:
    """The command `zibaldone` with its whole path, if it can be found: a client has another PATH."""
    script = Path(sys.executable).with_name("zibaldone")
    return str(script) if script.exists() else shutil.which("zibaldone") or "zibaldone"


def whole(memory: Path) -> str:
    """A memory's URL, or its whole path: a client has another directory."""
    from zibaldone.storage.database import url_in

    return url_in(memory) or str(memory.expanduser().absolute())


def started(program: str, arguments: list[str]) -> Entry:
    """A server that the client starts itself."""
    return {"command": program, "args": arguments}


def codex_lines(entry: Entry) -> str:
    """The table of a server in Codex's configuration."""
    if "url" in entry:
        ((header, user),) = entry["headers"].items()
        headers = f"{{ {json.dumps(header)} = {json.dumps(user)} }}"
        lines = [f"url = {json.dumps(entry['url'])}", f"http_headers = {headers}"]
    else:  # a JSON string or list of strings is a TOML one, too
        lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
    return "\n".join(["[mcp_servers.zibaldone]", *lines])


def _lines(client: str, entry: Entry) -> str:
    """The lines that a client reads; "" where it takes no address."""
    typed = {"type": "http" if "url" in entry else "stdio", **entry}
    if client == "codex":
        return codex_lines(entry)
    if client == "claude-code":
        return f"claude mcp add-json zibaldone {shlex.quote(json.dumps(typed))}"
    if client == "claude-desktop" and "url" in entry:
        return ""
    if client == "windsurf":
        entry = {"serverUrl" if key == "url" else key: value for key, value in entry.items()}
    servers = (
        {"servers": {"zibaldone": typed}} if client == "vscode" else {"mcpServers": {"zibaldone": entry}}
    )
    return json.dumps(servers, indent=2, ensure_ascii=False)


_CLIENTS = {  # where each is told
    "claude-desktop": "Claude Desktop, in claude_desktop_config.json (Settings, Developer, Edit Config)",
    "claude-code": "Claude Code, in a shell",
    "cursor": "Cursor, in ~/.cursor/mcp.json",
    "vscode": "VS Code, in .vscode/mcp.json",
    "codex": "Codex, in ~/.codex/config.toml",
    "windsurf": "Windsurf, in ~/.codeium/windsurf/mcp_config.json",
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
