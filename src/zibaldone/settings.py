"""The one module that reads environment variables.

    ZIBALDONE_CHAT_MODEL        a chat model's name; none: views work offline
    ZIBALDONE_CHAT_BASE_URL     of an OpenAI-compatible endpoint, such as http://localhost:8000/v1
    ZIBALDONE_CHAT_API_KEY
    ZIBALDONE_CHAT_TIMEOUT_S    for one attempt; 60 unless set
    ZIBALDONE_EMBED_MODEL       an embedder's name; none: the embedded one
    ZIBALDONE_EMBED_BASE_URL, ZIBALDONE_EMBED_API_KEY
    ZIBALDONE_EMBED_DIMENSION   numbers per vector, where the model lets one choose
    ZIBALDONE_MAX_TOKENS_PER_CALL, ZIBALDONE_MAX_CALLS_PER_USER_PER_DAY,
    ZIBALDONE_MAX_TOKENS_PER_USER_PER_DAY, ZIBALDONE_MAX_TOKENS_PER_DAY   ceilings

The command line reads ZIBALDONE_MEMORY and ZIBALDONE_USER beside them.
"""

from __future__ import annotations

import os
from dataclasses import fields
from enum import Enum
from typing import Final, Literal

from zibaldone.errors import InvalidInput
from zibaldone.models.base import ChatModel, Embedder
from zibaldone.models.meter import Ceilings

_PREFIX = "ZIBALDONE_"


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


def embedder(given: Embedder | FromEnvironment | None) -> Embedder | None:
    """What was given, or else the embedder that the environment names. Raises MissingExtra."""
    if not isinstance(given, _Source):
        return given
    model = _text("EMBED_MODEL")
    if model is None:
        return None
    from zibaldone.models.openai import OpenAIEmbedder

    return OpenAIEmbedder(
        model,
        base_url=_text("EMBED_BASE_URL"),
        api_key=_text("EMBED_API_KEY"),
        dimension=_whole("EMBED_DIMENSION", least=1),
    )


def ceilings() -> Ceilings:
    """The ceilings, those that the environment sets and the defaults for the others."""
    values = {one.name: _whole(f"MAX_{one.name.upper()}") for one in fields(Ceilings)}
    return Ceilings(**{name: value for name, value in values.items() if value is not None})


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
