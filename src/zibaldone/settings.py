"""The one module that reads environment variables.

    ZIBALDONE_CHAT_MODEL        a chat model's name; none: views work offline
    ZIBALDONE_CHAT_BASE_URL     of an OpenAI-compatible endpoint, such as http://localhost:8000/v1
    ZIBALDONE_CHAT_API_KEY
    ZIBALDONE_CHAT_TIMEOUT_S    for one attempt; 60 unless set
    ZIBALDONE_EMBED_MODEL       an embedder's name, such as fastembed:BAAI/bge-small-en-v1.5;
                                none: the embedded one
    ZIBALDONE_EMBED_BASE_URL, ZIBALDONE_EMBED_API_KEY
    ZIBALDONE_RERANKER          fastembed:MODEL, chat (the chat model) or words; none: search alone orders
    ZIBALDONE_EMBED_DIMENSION   numbers per vector, where the model lets one choose
    ZIBALDONE_MAX_TOKENS_PER_CALL, ZIBALDONE_MAX_CALLS_PER_USER_PER_DAY,
    ZIBALDONE_MAX_TOKENS_PER_USER_PER_DAY, ZIBALDONE_MAX_TOKENS_PER_DAY   ceilings
    ZIBALDONE_INDEX_MB          megabytes of memory for the indexes of all users, each view's by itself; an
                                eighth of the machine's unless set
    ZIBALDONE_BLOCKS            a bucket for blocks and saved indexes, such as s3://bucket/prefix; what it is
                                opened with is in AWS_* variables, which obstore reads
    ZIBALDONE_REPLICA           the URL of a hot standby of the memory's PostgreSQL database, for recalls
    ZIBALDONE_KEY               opens an encrypted folder: 64 hexadecimal digits, or a passphrase
    ZIBALDONE_KEY_COMMAND       a command that prints it, which is asked once by a process, in its place
    ZIBALDONE_NEW_KEY, ZIBALDONE_NEW_KEY_COMMAND   another one, for 'zibaldone rekey'
    ZIBALDONE_USER_KEYS         where keys of users lie: a folder apart from the memory, or s3://bucket/prefix
    ZIBALDONE_WALL_KEY, ZIBALDONE_WALL_KEY_COMMAND   by which a role of PostgreSQL proves whose rows it means:
                                see 'zibaldone wall'
    ZIBALDONE_AUDIT             1: note who reads, writes and forgets; see audit.py

For an embedder that is called openai:..., OPENAI_API_KEY stands in where no other server is named. The
command line reads ZIBALDONE_MEMORY and ZIBALDONE_USER beside them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import fields
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Final, Literal

from zibaldone.core.validation import shown
from zibaldone.errors import InvalidInput
from zibaldone.models.base import ChatModel, Embedder, Reranker
from zibaldone.models.meter import Ceilings
from zibaldone.models.named import FASTEMBED, FastEmbedder, FastReranker

_PREFIX = "ZIBALDONE_"
_CGROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # of a container; a word where it has none
_OPENAI = "openai"
BY_CHAT: Final = "chat"  # the reranker that is the chat model
_COMMAND_S = 120.0  # for a person to unlock a key ring
# Variables by which programs that print a key find a key ring, and the person who unlocks it.
_OF_KEY_RINGS = "DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY GNUPGHOME GPG_TTY PASSWORD_STORE_".split()
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class _Source(Enum):
    """Where a setting comes from when it is not given."""

    ENVIRONMENT = "environment"


FROM_ENVIRONMENT: Final = _Source.ENVIRONMENT
FromEnvironment = Literal[_Source.ENVIRONMENT]


def chat(given: ChatModel | FromEnvironment | None) -> ChatModel | None:
    """What was given, or else the chat model that the environment names. Raises MissingExtra."""
    if not isinstance(given, _Source):
        return given
    model = _text("CHAT_MODEL")
    if model is None:
        return None
    from zibaldone.models.openai import OpenAIChat

    return OpenAIChat(
        model,
        base_url=_text("CHAT_BASE_URL"),
        api_key=_text("CHAT_API_KEY"),
        timeout_s=_number("CHAT_TIMEOUT_S", 60.0),
    )


def use_chat(model: str, base_url: str, api_key: str | None) -> None:
    """Let the environment name a chat model, for this process and those that it starts."""
    os.environ |= {f"{_PREFIX}CHAT_MODEL": model, f"{_PREFIX}CHAT_BASE_URL": base_url}
    os.environ[f"{_PREFIX}CHAT_API_KEY"] = api_key or ""


def embedder(given: Embedder | str | FromEnvironment | None) -> Embedder | None:
    """What was given, or named, or else the embedder that the environment names.

    Raises InvalidInput, MissingExtra and ModelFailed.
    """
    if isinstance(given, str):
        return _embedder_called(given)
    if not isinstance(given, _Source):
        return given
    model = _text("EMBED_MODEL")
    if model is None:
        return None
    if model.partition(":")[0] in (FASTEMBED, _OPENAI):
        return _embedder_called(model)
    return _openai_embedder(model, _text("EMBED_API_KEY"))


def _embedder_called(name: str) -> Embedder:
    """By its library and its own name: "openai:text-embedding-3-small"."""
    library, _, model = name.partition(":")
    if not model or library not in (FASTEMBED, _OPENAI):
        known = f"'{FASTEMBED}:MODEL' or '{_OPENAI}:MODEL'"
        raise InvalidInput(f"no embedder is called {shown(name)}: give an Embedder, {known}")
    if library == FASTEMBED:
        return FastEmbedder(model)
    own = None if _text("EMBED_BASE_URL") else os.environ.get("OPENAI_API_KEY", "").strip()
    return _openai_embedder(model, _text("EMBED_API_KEY") or own or None)


def _openai_embedder(model: str, api_key: str | None) -> Embedder:
    from zibaldone.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        model,
        base_url=_text("EMBED_BASE_URL"),
        api_key=api_key,
        dimension=_whole("EMBED_DIMENSION", least=1),
    )


def reranker(
    given: Reranker | str | FromEnvironment | None, chat: ChatModel | None
) -> Reranker | Literal["chat"] | None:
    """The reranker that was given or named, or else the one that the environment names.

    Raises InvalidInput, MissingExtra and ModelFailed.
    """
    named = _text("RERANKER") if isinstance(given, _Source) else given
    if not isinstance(named, str):
        batch = getattr(named, "batch", None)
        if named is None or (
            isinstance(batch, int) and batch > 0 and callable(getattr(named, "scores", None))
        ):
            return named
        raise InvalidInput(f"reranker must have a name, a batch above 0 and scores(), not be {shown(named)}")
    library, _, model = named.partition(":")
    if library == FASTEMBED and model:
        return FastReranker(model)
    if named == BY_CHAT:
        if chat is None:
            raise InvalidInput("reranker 'chat' needs a chat model: give chat= or set ZIBALDONE_CHAT_MODEL")
        return BY_CHAT
    if named == "words":
        from zibaldone.models.reranking import WordsReranker

        return WordsReranker()
    raise InvalidInput(
        f"no reranker is called {shown(named)}: give a Reranker, '{FASTEMBED}:MODEL', '{BY_CHAT}' or 'words'"
    )


def ceilings() -> Ceilings:
    """The ceilings, those that the environment sets and the defaults for the others."""
    values = {one.name: _whole(f"MAX_{one.name.upper()}") for one in fields(Ceilings)}
    return Ceilings(**{name: value for name, value in values.items() if value is not None})


def audit(given: bool | FromEnvironment) -> bool:  # noqa: FBT001 - as it was given to Memory
    """What was given, or else whether the environment asks for an audit log."""
    if not isinstance(given, _Source):
        return given
    value = (_text("AUDIT") or "0").lower()
    if value not in (*_ON, *_OFF):
        raise InvalidInput(f"{_PREFIX}AUDIT must be 1 or 0, not {value!r}")
    return value in _ON


def blocks(given: str | FromEnvironment | None) -> str | None:
    """What was given, or else the bucket that the environment names."""
    return _text("BLOCKS") if isinstance(given, _Source) else given


def user_keys(given: str | Path | FromEnvironment | None) -> str | Path | None:
    """What was given, or else the place that the environment names."""
    return _text("USER_KEYS") if isinstance(given, _Source) else given


def replica(given: str | FromEnvironment | None) -> str | None:
    """What was given, or else the replica that the environment names."""
    return _text("REPLICA") if isinstance(given, _Source) else given


def key(given: str | bytes | FromEnvironment | None, name: str = "KEY") -> str | bytes | None:
    """What was given, or else the key that the environment has, or a command that it names prints.

    Raises InvalidInput for a command that fails or prints nothing.
    """
    if not isinstance(given, _Source):
        return given
    command = _text(f"{name}_COMMAND")
    return _text(name) if command is None else _printed_by(command, f"{_PREFIX}{name}_COMMAND")


def wall_key() -> str | bytes | None:
    """The key of proofs to PostgreSQL that the environment has."""
    return key(FROM_ENVIRONMENT, "WALL_KEY")


@cache
def _printed_by(command: str, variable: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command
            shlex.split(command), stdout=subprocess.PIPE, text=True, check=False, timeout=_COMMAND_S
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise InvalidInput(f"{variable} cannot be run ({type(error).__name__}): {command!r}") from error
    printed = done.stdout.strip()
    if done.returncode or not printed:
        raise InvalidInput(f"{variable} failed (exit code {done.returncode}), or printed no key: {command!r}")
    return printed


def index_bytes() -> int:
    """Of memory, for all indexes of a view: as the environment says, or an eighth of what there is."""
    megabytes = _whole("INDEX_MB", least=1)
    return _machine_bytes() // 8 if megabytes is None else megabytes * 10**6


def one_of(processes: int) -> dict[str, str]:
    """What is otherwise in the environment of one of several processes that share what indexes may take."""
    megabytes = max(1, index_bytes() // processes // 10**6)
    return {f"{_PREFIX}INDEX_MB": str(megabytes)}


def read_by_others(place: str | Path, given: str | FromEnvironment | None = FROM_ENVIRONMENT) -> list[str]:
    """How variables begin that others read for the memory at this place, with `given` for its blocks."""
    names = []
    if any("://" in str(bucket) for bucket in (blocks(given), user_keys(FROM_ENVIRONMENT))):
        names.append("AWS_")  # obstore
    if any(":/" in str(database) for database in (place, replica(FROM_ENVIRONMENT))):
        names.append("PG")  # libpq
    if (_text("EMBED_MODEL") or "").startswith(f"{_OPENAI}:"):
        names.append("OPENAI_API_KEY")  # ours, for an embedder
    if _text("KEY_COMMAND") or _text("WALL_KEY_COMMAND"):
        names += _OF_KEY_RINGS
    return names


def _machine_bytes() -> int:
    """The memory that this process can have; 8 GB where nobody says."""
    try:
        bytes_there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        bytes_there = 8 * 2**30
    try:
        limit = Path(_CGROUP_LIMIT).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return bytes_there
    return min(bytes_there, int(limit)) if limit.isdecimal() else bytes_there


def secret(variable: str) -> str:
    """The key that a variable of the caller's choice holds. Raises InvalidInput where it holds none."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InvalidInput(f"the environment variable {variable!r} is not set: put the key into it")
    return value


def _text(name: str) -> str | None:
    return os.environ.get(_PREFIX + name, "").strip() or None


def _whole(name: str, least: int = 0) -> int | None:
    value = _text(name)
    if value is None:
        return None
    try:
        number = int(value)
    except ValueError as error:
        raise InvalidInput(f"{_PREFIX}{name} must be a whole number, not {value!r}") from error
    if number < least:
        raise InvalidInput(f"{_PREFIX}{name} must be a whole number of at least {least}, not {value!r}")
    return number


def _number(name: str, default: float) -> float:
    value = _text(name)
    if value is None:
        return default
    try:
        number = float(value)
    except ValueError as error:
        raise InvalidInput(f"{_PREFIX}{name} must be a number, not {value!r}") from error
    if not 0 < number < float("inf"):
        raise InvalidInput(f"{_PREFIX}{name} must be a number above 0, not {value!r}")
    return number
