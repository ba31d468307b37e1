"""Options of all kinds, each put where a memory takes it."""

from dataclasses import fields
from pathlib import Path
from typing import Any

from zibaldone import AsyncMemory, Config, Filter, Memory

_OF_CONFIG = {part.name for part in fields(Config)}
_OF_FILTER = {part.name for part in fields(Filter)}


def _with_config(options: dict[str, Any]) -> dict[str, Any]:
    settings = {name: value for name, value in options.items() if name in _OF_CONFIG}
    given = {name: value for name, value in options.items() if name not in _OF_CONFIG}
    return given | {"config": Config(**settings)}


def open_memory(path: str | Path, **options: Any) -> Memory:
    """Open a memory, with the options of Config among the others."""
    return Memory(path, **_with_config(options))


def open_async_memory(path: str | Path, **options: Any) -> AsyncMemory:
    """Open an AsyncMemory, with the options of Config among the others."""
    return AsyncMemory(path, **_with_config(options))


def with_filter(**options: Any) -> dict[str, Any]:
    """Options of a recall, those of Filter among them, as it takes them."""
    limits = {name: value for name, value in options.items() if name in _OF_FILTER}
    given = {name: value for name, value in options.items() if name not in _OF_FILTER}
    return given | ({"filter": Filter(**limits)} if limits else {})
