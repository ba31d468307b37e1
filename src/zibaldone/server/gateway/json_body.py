"""JSON of requests and answers, of which clients and upstreams may send anything."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_COMPACT = (",", ":")


class NotAnObject(ValueError):
    """The text is not a JSON object, or is nested too deeply."""


def read_object(data: bytes | str) -> dict[str, Any]:
    """Parse a JSON object. Raises NotAnObject."""
    try:
        read = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotAnObject(str(error)) from error
    if not isinstance(read, dict):
        raise NotAnObject(f"a {type(read).__name__}")
    return read


def dumped(value: object) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=_COMPACT)


def encoded(value: object) -> bytes:
    """Return compact JSON in UTF-8. Raises NotAnObject for what is nested too deeply."""
    try:
        return dumped(value).encode()
    except UnicodeEncodeError:  # a lone surrogate, for which JSON has an escape
        return json.dumps(value, separators=_COMPACT).encode()
    except RecursionError as error:
        raise NotAnObject(str(error)) from error


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else ()


def index(value: object) -> int:
    """Return the value if it is a number, else 0: some upstreams omit the index of a single thing."""
    return value if isinstance(value, int) else 0


def text(value: object) -> str:
    """Return the value if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""
