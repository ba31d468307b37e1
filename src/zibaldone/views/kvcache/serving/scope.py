"""What a request to a serving engine says of memory: whose, and which blocks.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import blake2b
from typing import Any

from zibaldone.errors import InvalidInput
from zibaldone.validation import key, shown

KEY = "zibaldone"  # our part of a request's kv_transfer_params
FIX = "send what KVMemory.prompt() gives, unchanged: its body() has prompt, kv_transfer_params and cache_salt"


def _is_number(value: object) -> bool:
    """True if it can number a row."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


_FIELDS: tuple[tuple[str, Callable[[Any], bool], str], ...] = (
    ("user", lambda value: isinstance(value, str), "a user's name"),
    ("generation", _is_number, "a number"),
    ("fingerprint", lambda value: isinstance(value, str), "a fingerprint"),
    ("pinned", lambda value: isinstance(value, bool), "true or false"),
    (
        "blocks",
        lambda value: isinstance(value, list | tuple) and all(map(_is_number, value)),
        "numbers of blocks",
    ),
)


@dataclass(frozen=True, slots=True)
class KVScope:
    """Of one user, and of one generation of that user's pool."""

    user: str
    generation: int
    fingerprint: str
    pinned: bool  # the pinned prefix stands before the blocks
    blocks: tuple[int, ...]  # numbers, in the order in which they stand in the prompt

    def params(self) -> dict[str, Any]:
        """As kv_transfer_params."""
        return {KEY: {**asdict(self), "blocks": list(self.blocks)}}

    @staticmethod
    def of(params: object) -> KVScope | None:
        """What kv_transfer_params say; None where they say nothing of memory. Raises InvalidInput."""
        if not isinstance(params, Mapping) or KEY not in params:
            return None
        given = params[KEY]
        if not isinstance(given, Mapping):
            raise InvalidInput(f"kv_transfer_params[{KEY!r}] must be an object, not {shown(given)}: {FIX}")
        names = {field.name for field in fields(KVScope)}
        if missing := sorted(names - set(given)):
            raise InvalidInput(f"kv_transfer_params[{KEY!r}] lacks {', '.join(missing)}: {FIX}")
        if strange := sorted(str(name) for name in set(given) - names):
            raise InvalidInput(f"kv_transfer_params[{KEY!r}] has no {', '.join(strange)}: {FIX}")
        for name, fits, what in _FIELDS:
            if not fits(given[name]):
                raise InvalidInput(
                    f"kv_transfer_params[{KEY!r}][{name!r}] must be {what}, not {shown(given[name])}: {FIX}"
                )
        key("user", given["user"])
        return KVScope(**{**given, "blocks": tuple(given["blocks"])})

    def salt(self, checksums: Iterable[int | None]) -> str:
        """What keeps an engine's prefix cache apart: another for every user, pool, choice and content.

        `checksums` are those of the blocks, in their order. Keys of a block depend on what it was encoded
        behind, so equal tokens do not make equal caches: an engine that only compares tokens would mix
        memories up, and memory with text.
        """
        parts = (self.user, self.generation, self.fingerprint, self.pinned, self.blocks, tuple(checksums))
        return blake2b(repr(parts).encode(), digest_size=16).hexdigest()
