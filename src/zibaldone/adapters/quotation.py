"""The recall that an adapter puts into a request, marked as a quotation."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from zibaldone.api.aio import AsyncMemory
from zibaldone.errors import ZibaldoneError
from zibaldone.recall.result import Recall

_logger = logging.getLogger(__name__)


async def recalled_for(
    memory: AsyncMemory, turns: Sequence[Mapping[str, Any]], *, user: str, budget_tokens: int
) -> Recall | None:
    """Recall for a conversation's last turn of the user, beside what the turns say themselves.

    They are such as `Memory.add` takes. None without a turn of the user, or when memory fails: a fault is
    logged, and an agent goes on without its memory.
    """
    contents = (turn.get("content") for turn in reversed(turns) if turn.get("role") == "user")
    if not text_of(next(contents, "")).strip():
        return None
    try:
        return await memory.recall(messages=turns, user=user, budget_tokens=budget_tokens)
    except ZibaldoneError as error:
        _logger.warning("nothing was recalled, the request goes on without: %s", error)
        return None


def text_of(content: object) -> str:
    """The text of a message's content: of a string, or of the parts that have some."""
    if isinstance(content, str):
        return content.encode(errors="replace").decode()
    if not isinstance(content, Sequence):
        return ""
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(text_of(part) for part in parts if isinstance(part, str))


def without_tags(text: str, *tags: str) -> str:
    """The text with another bracket before each of these tags' names, so that it cannot close them."""
    names = "|".join(map(re.escape, tags))
    return re.sub(rf"<(?=\s*/?\s*(?:{names})\b)", "‹", text, flags=re.IGNORECASE)
