"""`zibaldone mcp`: the process that a client starts, and the lines that tell clients of it."""

import json
import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from zibaldone.cli.app import app

COMMAND = [sys.executable, "-c", "from zibaldone.cli.app import app; app()"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@pytest.fixture
def anyio_backend() -> str:
    """The SDK's client is run on asyncio."""
    return "asyncio"


def parameters(memory_path, *arguments):
    """How a client starts the server."""
    given = ["mcp", "serve", *arguments, "--memory", str(memory_path)]
    return StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], *given], env=dict(os.environ))


@pytest.mark.wide
@pytest.mark.anyio
async def test_a_client_starts_it(memory_path):
    """Two processes, one after the other: the second recalls what the first was told; bea's sees nothing."""
    async with Client(parameters(memory_path, "--user", "ann")) as session:
        await session.call_tool("remember", {"content": "My dog is called Biscuit."})
    async with Client(parameters(memory_path, "--user", "ann")) as session:
        answer = await session.call_tool("recall", {"query": "What is my dog called?"})
        assert "My dog is called Biscuit." in answer.content[0].text
    async with Client(parameters(memory_path, "--user", "bea", "--read-only")) as session:
        assert "remember" not in {tool.name for tool in (await session.list_tools()).tools}
        answer = await session.call_tool("recall", {"query": "dog Biscuit"})
        assert "Biscuit" not in answer.content[0].text


def drive(memory_path, *lines, answers, command=COMMAND):
    """The lines of the process's standard output, up to the last of the answers that are waited for."""
    given = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    arguments = [*command, "mcp", "serve", "--user", "ann", "--memory", str(memory_path)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(given.encode())
        process.stdin.flush()
        written = []
        while not all(any(f'"id":{answer},' in line for line in written) for answer in answers):
            written.append(process.stdout.readline().decode())
            assert written[-1], "the server has ended"
        process.stdin.close()
        written += process.stdout.read().decode().splitlines()
    assert process.returncode == 0
    return written


def test_standard_output_is_the_protocol_s_alone(memory_path):
    """Whatever goes wrong, and whoever prints: each line is a JSON-RPC message."""
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    noisy = (
        "import zibaldone.api.memory as m; recall = m.Memory.recall\n"
        "def loud(*a, **k):\n    print('a stray line'); return recall(*a, **k)\n"
        "m.Memory.recall = loud\nfrom zibaldone.cli.app import app; app()"
    )
    lines = drive(
        memory_path,
        HELLO,
        READY,
        {**call, "params": {"name": "recall", "arguments": {"query": "x"}}},
        {**call, "id": 3, "params": {"name": "forget", "arguments": {"seqs": "x"}}},
        "this is no JSON",
        {**call, "id": 4, "params": {"name": "sessions", "arguments": {"about": "y"}}},
        answers=[2, 3, 4],
        command=[sys.executable, "-c", noisy],
    )
    messages = [json.loads(line) for line in lines]
    assert all(message["jsonrpc"] == "2.0" for message in messages)


def config(*arguments):
    """What `zibaldone mcp config` prints, by client; and the server's part, read as its client reads it."""
    result = CliRunner().invoke(app, ["mcp", "config", *arguments, "--json"])
    assert result.exit_code == 0, result.output
    texts = json.loads(result.stdout)
    servers = {name: json.loads(text) for name, text in texts.items() if text.startswith("{")}
    servers["codex"] = tomllib.loads(texts["codex"])
    names = {"vscode": "servers", "codex": "mcp_servers"}
    return texts, {name: read[names.get(name, "mcpServers")]["zibaldone"] for name, read in servers.items()}


def test_the_lines_for_clients(tmp_path):
    """Each is what its client reads, with whole paths and the user."""
    texts, servers = config("--user", "ann's", "--memory", str(tmp_path / "my memory"), "--read-only")
    assert set(texts) == {"claude-desktop", "claude-code", "cursor", "vscode", "codex", "windsurf"}
    expected = ["mcp", "serve", "--user", "ann's", "--memory", str(tmp_path / "my memory"), "--read-only"]
    assert len(servers) == 5
    for server in servers.values():
        assert Path(server["command"]).name == "zibaldone"
        assert server["args"] == expected
    *command, given = shlex.split(texts["claude-code"])
    assert command == ["claude", "mcp", "add-json", "zibaldone"]
    assert json.loads(given) == servers["vscode"]


def test_the_lines_for_a_running_server():
    """Its address, and who asks; a key is nothing to print."""
    texts, servers = config("--url", "http://127.0.0.1:8787/", "--user", "ann")
    url, header = "http://127.0.0.1:8787/mcp", {"X-Memory-User": "ann"}
    assert servers == {
        "cursor": {"url": url, "headers": header},
        "vscode": {"type": "http", "url": url, "headers": header},
        "windsurf": {"serverUrl": url, "headers": header},
        "codex": {"url": url, "http_headers": header},
    }
    assert json.loads(shlex.split(texts["claude-code"])[-1]) == servers["vscode"]


def test_one_client_and_none():
    """One is printed alone; a name that nobody has is refused, as is one that takes no address."""
    shown = CliRunner().invoke(app, ["mcp", "config", "codex"])
    assert "[mcp_servers.zibaldone]" in shown.stdout
    assert "claude" not in shown.stdout
    for arguments in (["emacs"], ["claude-desktop", "--url", "http://x"]):
        assert CliRunner().invoke(app, ["mcp", "config", *arguments]).exit_code == 2


def test_without_the_extra_it_says_which(run, monkeypatch):
    """Not one that would not do."""
    monkeypatch.setattr("zibaldone.cli.mcp.find_spec", lambda _: None)
    code, _, errors = run("mcp", "serve", "--user", "ann")
    assert code == 4
    assert "pip install 'zibaldone[mcp]'" in errors
