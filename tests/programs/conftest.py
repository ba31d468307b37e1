"""Agents as their users run them, from npm and PyPI, before a model server on the loopback.

`make test-programs` has them; else PROGRAMS names the folder of their commands, HERMES that of Hermes Agent.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_socket import enable_socket, socket_allow_hosts

sys.path.insert(0, str(Path(__file__).parent.parent / "server"))

from upstream import FakeUpstream

from zibaldone import Memory, Message

_OURS = Path(sys.executable).parent  # where `zibaldone` is
_THEIRS = [
    Path(os.environ.get("PROGRAMS") or _OURS.parent / "programs" / "node_modules" / ".bin").absolute(),
    Path(os.environ.get("HERMES") or _OURS.parent / "programs" / "hermes" / "bin").absolute(),
]
_RUN_S = 240


@dataclass
class Desk:
    """A home of a user's own, with the programs on the path and a model that says what it is told to."""

    home: Path
    model: FakeUpstream
    environment: dict[str, str]

    @property
    def project(self) -> Path:
        """The folder that is worked in."""
        return self.home / "shop"

    def run(self, *command: str, at: Path | None = None, **more: str) -> str:
        """Run a command to its end; what it wrote. The environment has `more`."""
        done = subprocess.run(
            command,
            cwd=at or self.project,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def put(self, name: str, text: str) -> Path:
        """A file of the user's."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def stored(self) -> list[Message]:
        """All that the user's memory holds, noise included."""
        with Memory(self.home / ".local" / "share" / "zibaldone" / "memory") as memory:
            return memory.messages(user="me", include_tool_traffic=True)

    def sent(self, question: str) -> dict[str, Any]:
        """The last request that the model got with a question; its title has others."""
        bodies = [request.json for request in self.model.sent if question.encode() in request.body]
        return max(bodies, key=lambda body: len(json.dumps(body)))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Callable[[str], Desk]]:
    """Makes the desk of a program's user. Skips where there is no such program."""
    enable_socket()
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    model = FakeUpstream()
    runtime = tempfile.mkdtemp(prefix="zb-")

    def desk(program: str) -> Desk:
        if not any((folder / program).exists() for folder in _THEIRS):
            pytest.skip(f"no {program} in {_THEIRS[0]}: make test-programs, with npm and a network")
        (tmp_path / "shop").mkdir()
        environment = {
            "HOME": str(tmp_path),
            "PATH": os.pathsep.join(map(str, (_OURS, *_THEIRS, os.environ["PATH"]))),
            "XDG_RUNTIME_DIR": runtime,
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": model.url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "FAKE_KEY": "none",
        }
        return Desk(tmp_path, model, environment)

    yield desk
    model.stop()
    shutil.rmtree(runtime, ignore_errors=True)
