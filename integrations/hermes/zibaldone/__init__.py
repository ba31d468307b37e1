"""A memory provider for Hermes Agent: what memory knows before each turn, and each turn kept word for word.

It runs the command `zibaldone hook`, so zibaldone may have an environment of its own; a fault is a line in
its log, and Hermes goes on. ZIBALDONE_COMMAND names the command where it is not on the path.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.memory_provider import MemoryProvider

_HOOK_S = 30


def _command() -> list[str]:
    return shlex.split(os.environ.get("ZIBALDONE_COMMAND", "zibaldone"))


class Zibaldone(MemoryProvider):
    """See MemoryProvider; its memory and user are those of ZIBALDONE_MEMORY and ZIBALDONE_USER."""

    def __init__(self) -> None:
        self._session, self._keeps = "", True
        self._storing: list[threading.Thread] = []

    @property
    def name(self) -> str:
        return "zibaldone"

    def is_available(self) -> bool:
        return shutil.which(_command()[0]) is not None

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        self._session = session_id
        self._keeps = kwargs.get("agent_context", "primary") == "primary"  # no model's words to a subagent

    def system_prompt_block(self) -> str:
        return self._hook("SessionStart", {"session_id": self._session})

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        return self._hook("UserPromptSubmit", {"session_id": session_id or self._session, "prompt": query})

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: list[dict[str, Any]] | None = None,  # noqa: ARG002 - tools' calls and results
    ) -> None:
        if not self._keeps:
            return
        turn, at = time.time_ns(), datetime.now(UTC).isoformat()
        turns = [("user", user_content), ("assistant", assistant_content)]
        given = {
            "session_id": session_id or self._session,
            "cwd": str(Path.cwd()),
            "messages": [
                {"id": f"{turn}/{role}", "role": role, "content": text, "time": at}
                for role, text in turns
                if text
            ],
        }
        thread = threading.Thread(target=self._hook, args=("Stop", given))
        thread.start()
        self._storing = [*(one for one in self._storing if one.is_alive()), thread]

    def on_session_switch(self, new_session_id: str, **_: Any) -> None:
        self._session = new_session_id

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return []  # tools come over MCP: hermes mcp add zibaldone --command zibaldone --args mcp serve

    def shutdown(self) -> None:
        for thread in self._storing:
            thread.join(_HOOK_S)

    def backup_paths(self) -> list[str]:
        memory = (
            os.environ.get("ZIBALDONE_MEMORY") or Path.home() / ".local" / "share" / "zibaldone" / "memory"
        )
        return [str(memory)]

    def _hook(self, event: str, given: dict[str, Any]) -> str:
        words = [*_command(), "hook", event, "--agent", "hermes"]
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command
                words, input=json.dumps(given), capture_output=True, text=True, timeout=_HOOK_S, check=False
            )
            return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"] if done.stdout else ""
        except (OSError, ValueError, KeyError, subprocess.TimeoutExpired):
            return ""


def register(ctx: Any) -> None:
    """Register the provider, as Hermes asks for."""
    ctx.register_memory_provider(Zibaldone())
