"""Memory in a request to a serving engine: whose, and which blocks.

Imports no torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from hashlib import blake2b
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from zibaldone.core.validation import key, shown
from zibaldone.errors import InvalidInput

KEY = "zibaldone"  # our part of a request's kv_transfer_params
FIX = "send what KVMemory.prompt() gives, unchanged: its body() has prompt, kv_transfer_params and cache_salt"
Number = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]  # of a row


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class KVScope:
    """Of one user, and of one generation of that user's pool."""

    user: Annotated[str, Field(strict=True)]
    generation: Number
    fingerprint: Annotated[str, Field(strict=True)]
    pinned: Annotated[bool, Field(strict=True)]  # the pinned prefix stands before the blocks
    blocks: tuple[Number, ...]  # in the order in which they stand in the prompt

    def params(self) -> dict[str, Any]:
        """As kv_transfer_params."""
        return {KEY: {**asdict(self), "blocks": list(self.blocks)}}  # type: ignore[call-overload, unused-ignore]

    @staticmethod
    def of(params: object) -> KVScope | None:
        """What kv_transfer_params say; None where they say nothing of memory. Raises InvalidInput."""
        if not isinstance(params, Mapping) or KEY not in params:
            return None
        try:
            scope = _SCOPES.validate_python(params[KEY])
        except ValidationError as error:
            fault = error.errors()[0]
            place = "".join(f"[{one!r}]" for one in (KEY, *fault["loc"]))
            raise InvalidInput(
                f"kv_transfer_params{place}, {shown(fault['input'])}: {fault['msg']}; {FIX}"
            ) from error
        key("user", scope.user)
        return scope

    def salt(self, checksums: Iterable[int | None]) -> str:
        """What keeps an engine's prefix cache apart: another for every user, pool, choice and content.

        `checksums` are those of the blocks, in their order. Keys of a block depend on what it was encoded
        behind, so equal tokens do not make equal caches: an engine that only compares tokens would mix
        memories up, and memory with text.
        """
        parts = (self.user, self.generation, self.fingerprint, self.pinned, self.blocks, tuple(checksums))
        return blake2b(repr(parts).encode(), digest_size=16).hexdigest()


_SCOPES = TypeAdapter(KVScope)
