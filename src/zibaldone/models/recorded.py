"""A chat model whose answers are kept in a folder of readable files: repeated runs cost nothing.

A file is a Markdown page: the request word for word, and below `# Reply` the answer. A page with an empty
reply is an open question, to be answered by hand or by another model: on the page, or many at once in
`answers.jsonl` (or `answers-2.jsonl` ...) beside the pages or in the folder above, with a line
`{"id": ..., "answer": ...}` for each page `<id>.md`; a JSON answer may be given as an object. The page's own
answer wins. An answer in a list needs no page.
"""

from __future__ import annotations

import json
import os
import re
import threading
import uuid
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal

from zibaldone.core.fork_safety import start_anew_in_children
from zibaldone.errors import InvalidInput, ModelFailed, QuestionOpen
from zibaldone.models.base import ChatModel, ChatReply, ChatRequest, TokenLogprob, storable

OnMiss = Literal["ask", "leave_open", "offline", "error"]
_CHOICES = ("ask", "leave_open", "offline", "error")
_REPLY = "# Reply"
_LISTS = "answers*.jsonl"
_FACTS = ("finish", "prompt_tokens", "completion_tokens", "attempts")  # of a reply, beside its text
_ID = re.compile(r"[0-9a-f]{24}")
_FENCED = re.compile(r"^(`{3,})\w*\n(.*?)\n?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_FENCED_OR_REPLY = re.compile(rf"{_FENCED.pattern}|^{_REPLY}(?P<answer>)[ \t]*$", _FENCED.flags)


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
        self.name = inner.name if inner else "recorded"
        self.start_anew()
        start_anew_in_children(self)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(
                f"{str(folder)!r} cannot be a folder of recordings: {error.strerror}"
            ) from error

    def start_anew(self) -> None:
        """Make a new lock, in a forked child too: a thread of the parent may have held the old one."""
        self._writing = threading.Lock()

    def chat(self, request: ChatRequest) -> ChatReply:
        """The recorded answer, or what `on_miss` says. Raises InvalidInput for a file that cannot be read."""
        path = self.path(request)
        if kept := self._find(path):
            return kept
        if self._on_miss == "ask":
            assert self._inner is not None
            reply = self._inner.chat(request)
            with self._writing:  # of two threads with one question the first one's answer is kept
                if kept := self._find(path):
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
        """Pages without an answer, of this run or of earlier ones."""
        return [path for path in sorted(self.folder.glob("*/*.md")) if self._find(path) is None]

    def _find(self, path: Path) -> ChatReply | None:
        """The answer to the question of a page, or None. Raises InvalidInput for a damaged file."""
        if path.exists() and (kept := read_page(path)):
            return kept
        for file in (*sorted(path.parent.glob(_LISTS)), *sorted(self.folder.glob(_LISTS))):
            now = file.stat()
            if kept := _read_list(file, now.st_mtime_ns, now.st_size).get(path.stem):
                return kept
        return None

    def path(self, request: ChatRequest) -> Path:
        """Return the path of a request's page, named by a hash of all that the answer depends on."""
        depends = {
            "task": request.task,
            "turns": [[turn.role, turn.content] for turn in request.turns],
            "schema": request.schema,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "logprobs": request.logprobs,
        }
        text = json.dumps(depends, sort_keys=True, ensure_ascii=False)
        name = f"{blake2b(text.encode(), digest_size=12).hexdigest()}.md"
        return self.folder / (re.sub(r"[^\w.-]", "_", request.task) or "_") / name


def page(request: ChatRequest, reply: ChatReply | None, model: str) -> str:
    """A request and its answer, as a person reads them."""
    settings = {name: getattr(request, name) for name in ("temperature", "max_tokens", "logprobs")}
    parts = [f"# {request.task}", _fenced(json.dumps(settings), "json")]
    for turn in request.turns:
        parts += [f"## {turn.role}", _fenced(turn.content, "text")]
    if request.schema is not None:
        parts += ["## schema", _fenced(json.dumps(request.schema, ensure_ascii=False, indent=1), "json")]
    parts.append(_REPLY)
    if reply is not None:
        facts: dict[str, Any] = {"model": model, **{name: getattr(reply, name) for name in _FACTS}}
        if reply.logprobs is not None:
            facts["logprobs"] = [[one.token, one.logprob, list(one.alternatives)] for one in reply.logprobs]
        parts += [_fenced(json.dumps(facts, ensure_ascii=False), "json"), _fenced(reply.text, "text")]
    return "\n\n".join(parts) + "\n"


def read_page(path: Path) -> ChatReply | None:
    """The answer of a page; None while it is open. Raises InvalidInput when it is no page.

    Below the heading stand figures and text, each in its fence, as `page` writes them; or just the answer, as
    somebody wrote it by hand, with or without a fence.
    """
    text = _text_of(path)
    question, heading, answer = _divided(text)
    if not heading or not question.startswith("# "):
        raise InvalidInput(
            f"{str(path)!r} is no recording: it has no line {_REPLY!r}; delete it to ask again"
        )
    fences = list(_FENCED.finditer(answer))
    if len(fences) == 2:
        try:
            facts = json.loads(fences[0][2])
            return _reply(facts, fences[1][2])
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(
                f"the figures of the recording {str(path)!r} cannot be read ({error}): correct or delete it"
            ) from error
    by_hand = fences[0][2] if len(fences) == 1 else answer
    return ChatReply(by_hand.strip()) if by_hand.strip() else None


@lru_cache(maxsize=64)
def _read_list(file: Path, _mtime_ns: int, _size: int) -> dict[str, ChatReply]:
    """Read answers by id from a file of JSON lines, once per state of it. Raises InvalidInput."""
    answers: dict[str, ChatReply] = {}
    for number, line in enumerate(_text_of(file).split("\n"), 1):
        if not line.strip():
            continue
        at = f"{str(file)!r}, line {number}"
        try:
            row = json.loads(line)
            own_id, answer = row["id"], row["answer"]
            text = json.dumps(answer, ensure_ascii=False) if isinstance(answer, dict) else answer.strip()
            if not (_ID.fullmatch(own_id) and text):
                raise ValueError(f"{own_id!r:.80} with the answer {text!r:.80}")
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            raise InvalidInput(
                f"{at} is not an object whose 'id' is the name of a page without '.md' and whose 'answer' is"
                f" a text or an object: {error}"
            ) from error
        kept = ChatReply(storable(text))
        if own_id in answers and answers[own_id] != kept:
            raise InvalidInput(f"{at}: {own_id} has another answer further up: delete one of them")
        answers[own_id] = kept
    return answers


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the recording {str(path)!r} cannot be read: {error}") from error


def _divided(text: str) -> tuple[str, str, str]:
    """Split a page at its reply heading, ignoring fenced blocks: (before, heading, after)."""
    for part in _FENCED_OR_REPLY.finditer(text):
        if part["answer"] is not None:
            return text[: part.start()], _REPLY, text[part.end() :]
    return text, "", ""


def _reply(facts: Mapping[str, Any], text: str) -> ChatReply:
    logprobs = facts.get("logprobs")
    if logprobs is not None:
        logprobs = tuple(
            TokenLogprob(token, value, tuple((other, p) for other, p in others))
            for token, value, others in logprobs
        )
    return ChatReply(text, logprobs=logprobs, **{name: facts[name] for name in _FACTS})


def _fenced(text: str, language: str) -> str:
    """Fence a text with more backticks than any run inside it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _write(path: Path, text: str) -> None:
    """Write a file atomically; the last of two writers wins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.{uuid.uuid4().hex[:8]}")
    with beside.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    beside.replace(path)
