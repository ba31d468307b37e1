"""`zibaldone hook EVENT`: the command that coding agents run when a session, a prompt, a turn begins or ends.

The event's JSON comes on standard input, in the shape that Claude Code and Codex share. Before a prompt, what
memory knows goes back as context, quoted and said to be no instruction; after a turn, what the user and the
assistant said is stored word for word, from the transcript that the program keeps. The program never hears of
a fault: that is a line in a log, and the exit code is 0.

    ZIBALDONE_HOOKS   off: nothing is read or stored; recall: nothing is stored; store: nothing is recalled
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from argparse import ArgumentParser
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zibaldone.errors import ZibaldoneError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from zibaldone.api.memory import Memory
    from zibaldone.core import Message

MODE = "ZIBALDONE_HOOKS"
MOST_TOKENS = 800  # recalled for a prompt
# Silences .99 of prompts with code, .29 of questions that memory answers (docs/decisions.md), and UNTOLD.
LEAST_CONFIDENCE = 0.51
_MOST_CHARACTERS = 1500  # of rules, when a session starts
_RECALL_S = 5.0
_LONGEST_LOG_BYTES = 2**18
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")
_SPEAKERS = ("user", "assistant")
_FORMATS = {"claude-code": "claude_code", "codex": "codex"}  # of transcripts, by agent


def run(arguments: Sequence[str]) -> None:
    """Answer an event; log what fails."""
    errors = io.StringIO()
    try:
        if _mode() != "off":
            with redirect_stderr(errors):
                _answer(arguments)
            sys.stdout.flush()
    except ZibaldoneError as error:
        _log(arguments, f"error: {error}")
    except SystemExit as ended:
        if ended.code:  # the parser's, which has said why
            _log(arguments, errors.getvalue())
    except BaseException as error:  # noqa: BLE001 - the border of a program that has to go on
        _log(arguments, type(error).__name__)  # its text may quote what was said


def _answer(arguments: Sequence[str]) -> None:
    from zibaldone.cli.input import default_folder
    from zibaldone.core import MYSELF
    from zibaldone.log.audit import acting

    parser = ArgumentParser("zibaldone hook", description="Answer an event, whose JSON is standard input.")
    parser.add_argument("event", choices=EVENTS)
    parser.add_argument("--agent", default="", help="whose event it is")
    parser.add_argument("--user", default=os.environ.get("ZIBALDONE_USER") or MYSELF)
    parser.add_argument("--memory", default=os.environ.get("ZIBALDONE_MEMORY") or default_folder(), type=Path)
    given = parser.parse_args(arguments)
    event = _Event(given.event, given.agent, json.loads(sys.stdin.buffer.read().decode(errors="replace")))
    with acting("cli"):
        text = _answered(event, given.user, given.memory)
    if text:
        output = {"hookEventName": event.name, "additionalContext": text}
        print(json.dumps({"hookSpecificOutput": output}))


def _mode() -> str:
    return os.environ.get(MODE, "").strip().lower()


def log_path() -> Path:
    """Return the file that has a line for each event that failed."""
    from zibaldone.cli.input import default_folder

    return default_folder().parent / "hooks.log"


def _log(arguments: Sequence[str], why: str) -> None:
    try:
        path = log_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        anew = path.exists() and path.stat().st_size > _LONGEST_LOG_BYTES
        event = next((word for word in arguments if word in EVENTS), "an event")
        at = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if anew else os.O_APPEND), 0o600)
        with os.fdopen(opened, "w", encoding="utf-8", errors="replace") as file:
            file.write(f"{at} {event}: {' '.join(why.split())[:300]}\n")
    except OSError:
        return  # nowhere to write


@dataclass(frozen=True, slots=True)
class _Event:
    """An event of a program, as it gave it."""

    name: str
    agent: str
    given: dict[str, Any]

    def text(self, name: str) -> str:
        """A field, "" where there is none."""
        value = self.given.get(name)
        return value if isinstance(value, str) else ""


def _answered(event: _Event, user: str, folder: Path) -> str:
    """Do what an event is for; the context for its program, "" where there is nothing to say."""
    from zibaldone.cli.input import holds_memory, open_memory

    if event.name == "Stop":
        if _mode() != "recall" and (turns := list(_turns(event))):
            with open_memory(folder, create=True) as memory:
                memory.user(user).import_(_as_export(turns), format="jsonl")
        return ""
    if _mode() == "store" or not holds_memory(folder):
        return ""
    with open_memory(folder) as memory:
        return _rules(memory, user) if event.name == "SessionStart" else _recalled(memory, user, event)


def _recalled(memory: Memory, user: str, event: _Event) -> str:
    """Recall for the prompt, quoted; what its own session said is before the model already."""
    from zibaldone.log.filters import Filter
    from zibaldone.text.client_text import own_words

    prompt = own_words(event.text("prompt"))
    if not prompt.strip():
        return ""
    others = Filter(exclude_session=event.text("session_id") or None)
    recalled = memory.recall(prompt, user=user, filter=others, budget_tokens=MOST_TOKENS, timeout_s=_RECALL_S)
    return recalled.quoted() if recalled.confidence >= LEAST_CONFIDENCE else ""


def _rules(memory: Memory, user: str) -> str:
    """Instructions and constraints of the user, quoted: they hold in every session."""
    from zibaldone.api.profile import place_of
    from zibaldone.recall.result import WISHES
    from zibaldone.text.rendering import quotation
    from zibaldone.views.notes import RULES

    notes = [note for note in memory.user(user).profile.entries() if note.holds and note.kind in RULES]
    lines: list[str] = []
    for note in sorted(notes, key=place_of):
        line = f"- {' '.join(note.text.split())}"
        if line not in lines and len("\n".join((*lines, line))) <= _MOST_CHARACTERS:
            lines.append(line)
    return quotation("\n".join(lines), WISHES)


def _turns(event: _Event) -> Iterable[Message]:
    """The turns of the session so far: of its transcript, or as the program gave them."""
    from dataclasses import replace
    from datetime import UTC, datetime

    from zibaldone.core import AGENT, Message
    from zibaldone.importers.importing import reading
    from zibaldone.importers.source import opened_source
    from zibaldone.text.client_text import own_words

    folder = event.text("cwd")
    where = {"folder": folder} if folder else {}
    if transcript := event.text("transcript_path"):
        with opened_source(Path(transcript).expanduser()) as source:
            talks = list(reading(source, _FORMATS.get(event.agent)).conversations())
        turns = [turn for talk in talks for turn in talk.messages]
    else:
        session = event.text("session_id")
        turns = [
            Message(
                turn["content"],
                role=turn["role"],
                session=session,
                time=datetime.fromisoformat(turn["time"]),
                id=f"{event.agent}:{session}:{turn['id']}",
            )
            for turn in event.given.get("messages", ())
        ]
    for turn in turns:
        words = own_words(turn.content) if turn.role == "user" else turn.content
        if turn.role in _SPEAKERS and not turn.is_noise and words.strip():
            metadata = {**where, **turn.metadata, AGENT: event.agent}
            yield replace(turn, content=words, metadata=metadata, time=turn.time or datetime.now(UTC))


def _as_export(turns: Iterable[Message]) -> io.BytesIO:
    """Messages as a file to import: known ones are left out, and those that were forgotten stay so."""
    from zibaldone.importers.export import to_line

    return io.BytesIO("".join(f"{to_line(message)}\n" for message in turns).encode())
