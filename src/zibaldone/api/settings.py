"""The one module that reads environment variables, for `Memory.from_env` and the command line.

docs/cli.md lists the ZIBALDONE_* variables; ZIBALDONE_WALL_KEY is in docs/fleet.md, ZIBALDONE_AUDIT in
docs/security.md. For an embedder of OpenAI's, OPENAI_API_KEY stands in where no other server is named.
"""

from __future__ import annotations

import os
import shlex
import subprocess
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Literal

from zibaldone.errors import InvalidInput
from zibaldone.models import named
from zibaldone.models.base import ChatModel, Embedder
from zibaldone.models.meter import Ceilings
from zibaldone.models.named import FASTEMBED, OPENAI

_PREFIX, OTEL = "ZIBALDONE_", "OTEL_"
_COMMAND_S = 120.0  # for a person to unlock a key ring
# Variables by which programs that print a key find a key ring, and the person who unlocks it.
_OF_KEY_RINGS = "DBUS_SESSION_BUS_ADDRESS DISPLAY WAYLAND_DISPLAY GNUPGHOME GPG_TTY PASSWORD_STORE_".split()


def memory_path() -> str:
    """The place of the memory. Raises InvalidInput where the environment names none."""
    path = text("MEMORY")
    if path is None:
        raise InvalidInput(f"no memory is named: give its path, or set {_PREFIX}MEMORY")
    return path


def chat() -> ChatModel | None:
    """The chat model that the environment names. Raises MissingExtra."""
    model = text("CHAT_MODEL")
    if model is None:
        return None
    from zibaldone.models.openai import OpenAIChat

    return OpenAIChat(
        model,
        base_url=text("CHAT_BASE_URL"),
        api_key=text("CHAT_API_KEY"),
        timeout_s=whole("CHAT_TIMEOUT_S", least=1) or 60.0,
    )


def use_chat(model: str, base_url: str, api_key: str | None) -> None:
    """Let the environment name a chat model, for this process and those that it starts."""
    os.environ |= {f"{_PREFIX}CHAT_MODEL": model, f"{_PREFIX}CHAT_BASE_URL": base_url}
    os.environ[f"{_PREFIX}CHAT_API_KEY"] = api_key or ""


def embedder() -> Embedder | None:
    """The embedder that the environment names. Raises InvalidInput, MissingExtra and ModelFailed."""
    name = text("EMBED_MODEL")
    if name is None:
        return None
    is_whole = name.partition(":")[0] in (FASTEMBED, OPENAI)
    return embedder_called(name if is_whole else f"{OPENAI}:{name}")


def embedder_called(name: str) -> Embedder:
    """The embedder of that name, with the key that the environment has for it.

    Raises InvalidInput, MissingExtra and ModelFailed.
    """
    library, _, model = name.partition(":")
    if library != OPENAI or not model:
        return named.embedder_called(name)
    from zibaldone.models.openai import OpenAIEmbedder

    address = text("EMBED_BASE_URL")
    own = None if address else os.environ.get("OPENAI_API_KEY", "").strip()
    api_key, dimension = text("EMBED_API_KEY") or own or None, whole("EMBED_DIMENSION", least=1)
    return OpenAIEmbedder(model, base_url=address, api_key=api_key, dimension=dimension)


def ceilings() -> Ceilings:
    """The ceilings, those that the environment sets and the defaults for the others."""
    values = {one.name: whole(f"MAX_{one.name.upper()}") for one in fields(Ceilings)}
    return Ceilings(**{name: value for name, value in values.items() if value is not None})


def otel(*signals: Literal["TRACES", "METRICS"]) -> bool:
    """True if the environment names where these signals, or any, go, by OpenTelemetry's names."""
    names = [f"{signal}_ENDPOINT" for signal in signals or ("TRACES", "METRICS")]
    return any(os.environ.get(f"{OTEL}EXPORTER_OTLP_{name}", "").strip() for name in ("ENDPOINT", *names))


def key(name: str = "KEY") -> str | None:
    """The key that the environment has, or that a command which it names prints.

    Raises InvalidInput for a command that fails or prints nothing.
    """
    command = text(f"{name}_COMMAND")
    return text(name) if command is None else _printed_by(command, f"{_PREFIX}{name}_COMMAND")


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


def read_by_others(place: str | Path, bucket: str | None = None) -> list[str]:
    """How variables begin that others read for the memory at this place, with its blocks in `bucket`."""
    names = [OTEL] if otel() else []
    if any("://" in str(bucket) for bucket in (bucket or text("BLOCKS"), text("USER_KEYS"))):
        names.append("AWS_")  # obstore
    if ":/" in str(place):
        names.append("PG")  # libpq
    if (text("EMBED_MODEL") or FASTEMBED).partition(":")[0] != FASTEMBED:
        names.append("OPENAI_API_KEY")  # ours, for an embedder
    if text("KEY_COMMAND") or text("WALL_KEY_COMMAND"):
        names += _OF_KEY_RINGS
    return names


def secret(variable: str) -> str:
    """The key that a variable of the caller's choice holds. Raises InvalidInput where it holds none."""
    value = os.environ.get(variable, "").strip()
    if not value:
        raise InvalidInput(f"the environment variable {variable!r} is not set: put the key into it")
    return value


def switch(name: str) -> bool:
    """True where a ZIBALDONE_* variable is 1. Raises InvalidInput for what is neither 1 nor 0."""
    value = text(name) or "0"
    if value not in ("0", "1"):
        raise InvalidInput(f"{_PREFIX}{name} must be 1 or 0, not {value!r}")
    return value == "1"


def text(name: str) -> str | None:
    """The value of a ZIBALDONE_* variable; None where it is not set, or blank."""
    return os.environ.get(_PREFIX + name, "").strip() or None


def whole(name: str, least: int = 0) -> int | None:
    """The number that a ZIBALDONE_* variable is set to. Raises InvalidInput."""
    value = text(name)
    try:
        number = None if value is None else int(value)
    except ValueError:
        number = least - 1
    if number is not None and number < least:
        raise InvalidInput(f"{_PREFIX}{name} must be a whole number of at least {least}, not {value!r}")
    return number
