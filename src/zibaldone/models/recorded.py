"""A chat model whose answers stand in a folder of readable files: runs that cost nothing and are the same.

A file is a Markdown page: what was asked, word for word, and below `# Reply` what was answered. A page with
an empty reply is an open question, to be answered by hand or by another model.
"""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from zibaldone.errors import InvalidInput, ModelFailed, QuestionOpen
from zibaldone.fork_safety import start_anew_in_children
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, TokenLogprob

OnMiss = Literal["ask", "leave_open", "offline", "error"]
_CHOICES = ("ask", "leave_open", "offline", "error")
_REPLY = "# Reply"
_FENCED = re.compile(r"^(`{3,})\w*\n(.*?)\n?^\1[ \t]*$", re.MULTILINE | re.DOTALL)


class RecordedModel:
    """Wraps another chat model, or none. Safe to share among threads and processes."""

    def __init__(self, folder: str | Path, inner: ChatModel | None = None, on_miss: OnMiss = "ask") -> None:
        """`on_miss` says what becomes of a question that is not in the folder.

        It is asked and kept ("ask"), kept as an open question ("leave_open", QuestionOpen), answered offline
        by whoever asks ("offline", ModelFailed), or refused ("error", QuestionOpen). Raises InvalidInput.
        """
        if on_miss not in _CHOICES:
            raise InvalidInput(f"on_miss must be one of {', '.join(_CHOICES)}, not {on_miss!r}")
        if on_miss == "ask" and inner is None:
            raise InvalidInput(
                "there is no model to ask: give inner=, or on_miss='leave_open', 'offline' or 'error'"
            )
        if not isinstance(folder, str | Path) or not str(folder):
            raise InvalidInput(f"folder must be a path, not {folder!r}")
        self.folder = Path(folder)
        self._inner, self._on_miss = inner, on_miss
        self.start_anew()
        start_anew_in_children(self)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"{str(folder)!r} cannot be a folder of recordings: {error.strerror}"
            ) from error

    def start_anew(self) -> None:
        """In a forked child too: a thread of the parent's may have held the lock."""
        self._writing = threading.Lock()

    @property
    def name(self) -> str:
        """Of the model inside; "recorded" without one."""
        return self._inner.name if self._inner else "recorded"

    def chat(self, request: ChatRequest) -> ChatReply:
        """The recorded answer, or what `on_miss` says. Raises InvalidInput for a page that is not one."""
        path = self.path(request)
        if path.exists() and (reply := read_page(path)) is not None:
            return reply
        if self._on_miss == "ask":
            assert self._inner is not None
            reply = self._inner.chat(request)
            with self._writing:  # of two threads with one question the first one's answer is kept
                if path.exists() and (kept := read_page(path)) is not None:
                    return kept
                _write(path, page(request, reply, self._inner.name))
            return reply
        if self._on_miss == "leave_open":
            if not path.exists():
                _write(path, page(request, None, ""))
            raise QuestionOpen(f"nobody has answered {str(path)!r} yet: write the answer below {_REPLY!r}")
        if self._on_miss == "error":
            raise QuestionOpen(f"{str(path)!r} is not recorded")
        raise ModelFailed(f"{str(path)!r} is not recorded", requests=0)

    def open_questions(self) -> list[Path]:
        """Pages without an answer."""
        return [path for path in sorted(self.folder.glob("*/*.md")) if read_page(path) is None]

    def path(self, request: ChatRequest) -> Path:
        """Where the page of a request is: its name is a hash of all that the answer depends on."""
        depends = {
            "task": request.task,
            "turns": [[turn.role, turn.content] for turn in request.turns],
            "schema": request.schema,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "logprobs": request.logprobs,
        }
        text = json.dumps(depends, sort_keys=True, ensure_ascii=False)
        folder = re.sub(r"[^\w.-]", "_", request.task) or "_"
        return self.folder / folder / f"{blake2b(text.encode(), digest_size=12).hexdigest()}.md"


def page(request: ChatRequest, reply: ChatReply | None, model: str) -> str:
    """A request and its answer, as a person reads them."""
    settings = {
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "logprobs": request.logprobs,
    }
    parts = [f"# {request.task}", _fenced(json.dumps(settings), "json")]
    for turn in request.turns:
        parts += [f"## {turn.role}", _fenced(turn.content, "text")]
    if request.schema is not None:
        parts += ["## schema", _fenced(json.dumps(request.schema, ensure_ascii=False, indent=1), "json")]
    parts.append(_REPLY)
    if reply is not None:
        told: dict[str, Any] = {
            "model": model,
            "finish": reply.finish,
            "prompt_tokens": reply.prompt_tokens,
            "completion_tokens": reply.completion_tokens,
            "attempts": reply.attempts,
        }
        if reply.logprobs is not None:
            told["logprobs"] = [[one.token, one.logprob, list(one.alternatives)] for one in reply.logprobs]
        parts += [_fenced(json.dumps(told, ensure_ascii=False), "json"), _fenced(reply.text, "text")]
    return "\n\n".join(parts) + "\n"


def read_page(path: Path) -> ChatReply | None:
    """The answer of a page; None while it is open. Raises InvalidInput when it is no page.

    Below the heading stand figures and text, each in its fence, as `page` writes them; or just the answer, as
    somebody wrote it by hand, with or without a fence.
    """
    try:
        text = path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the recording {str(path)!r} cannot be read: {error}") from error
    asked, heading, answer = _divided(text)
    if not heading or not asked.startswith("# "):
        raise InvalidInput(
            f"{str(path)!r} is no recording: it has no line {_REPLY!r}; delete it to ask again"
        )
    fences = list(_FENCED.finditer(answer))
    if len(fences) == 2:
        try:
            return _reply(json.loads(fences[0][2]), fences[1][2])
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(
                f"the figures of the recording {str(path)!r} cannot be read ({error}): correct or delete it"
            ) from error
    by_hand = fences[0][2] if len(fences) == 1 else answer
    return ChatReply(by_hand.strip()) if by_hand.strip() else None


def _divided(text: str) -> tuple[str, str, str]:
    """What stands before the reply's heading, the heading, and what is below; in a fence it is no heading."""
    end = 0
    for fence in _FENCED.finditer(text):
        found = re.compile(rf"^{_REPLY}[ \t]*$", re.MULTILINE).search(text, end, fence.start())
        if found:
            return text[: found.start()], _REPLY, text[found.end() :]
        end = fence.end()
    found = re.compile(rf"^{_REPLY}[ \t]*$", re.MULTILINE).search(text, end)
    return (text[: found.start()], _REPLY, text[found.end() :]) if found else (text, "", "")


def _reply(told: Mapping[str, Any], text: str) -> ChatReply:
    logprobs = told.get("logprobs")
    return ChatReply(
        text=text,
        finish=told["finish"],
        prompt_tokens=told["prompt_tokens"],
        completion_tokens=told["completion_tokens"],
        logprobs=None
        if logprobs is None
        else tuple(
            TokenLogprob(token, value, tuple((other, p) for other, p in others))
            for token, value, others in logprobs
        ),
        attempts=told["attempts"],
    )


def _fenced(text: str, language: str) -> str:
    """In a fence that is longer than any run of backticks inside."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _write(path: Path, text: str) -> None:
    """Whole or not at all; of two writers the last one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.{uuid.uuid4().hex[:8]}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    beside.replace(path)
