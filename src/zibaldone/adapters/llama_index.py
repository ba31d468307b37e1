"""LlamaIndex: a memory block that keeps what short-term memory lets go, and recalls it (extra `llama-index`).

block = RecallBlock(memory=memory, user="ann")
chat = Memory.from_defaults(session_id="trip", memory_blocks=[block])
await agent.run("Where do I stay?", memory=chat)
await block.aput(await chat.aget_all(), session_id="trip")   # what is left of a chat that has ended
"""

from __future__ import annotations

from typing import Any

from zibaldone.adapters.quotation import recalled_for, without_tags
from zibaldone.api.aio import AsyncMemory
from zibaldone.core import DEFAULT_SESSION
from zibaldone.errors import MissingExtra
from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.text.rendering import quotation

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
    from llama_index.core.bridge.pydantic import Field
    from llama_index.core.memory import BaseMemoryBlock
except ModuleNotFoundError as error:
    raise MissingExtra("no module 'llama_index': pip install 'zibaldone[llama-index]'") from error

_ROLES = {MessageRole.CHATBOT: "assistant", MessageRole.MODEL: "assistant"}
_NOBODY = (MessageRole.SYSTEM, MessageRole.DEVELOPER)  # what they say is the program's
_MEDIA = ("image", "audio", "video", "document")


class RecallBlock(BaseMemoryBlock[str]):
    """A recall for the user's last turn, from earlier conversations and this one's flushed turns.

    A fault of the memory is logged when something is recalled, and raised when something is to be stored.
    """

    name: str = "earlier_conversations"
    memory: AsyncMemory = Field(exclude=True, repr=False)
    user: str = Field(min_length=1)
    budget_tokens: int = Field(default=RECALL_TOKENS, ge=1)

    async def _aget(self, messages: list[ChatMessage] | None = None, **_: Any) -> str:
        turns = [_turn(message) for message in messages or []]
        recalled = await recalled_for(self.memory, turns, user=self.user, budget_tokens=self.budget_tokens)
        return quotation(without_tags(recalled.text, "memory", self.name)) if recalled else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        turns: dict[str, list[dict[str, Any]]] = {}
        for message in messages:
            if message.role not in _NOBODY:
                session = str(message.additional_kwargs.get("session_id") or DEFAULT_SESSION)
                turns.setdefault(session, []).append(_turn(message))
        for session, given in turns.items():
            await self.memory.add(given, user=self.user, session=session)


def _turn(message: ChatMessage) -> dict[str, Any]:
    """A message as `Memory.add` takes it; pictures and files are named in brackets."""
    role = _ROLES.get(message.role, message.role.value)
    parts: list[Any] = []
    for block in message.blocks:
        if isinstance(block, TextBlock):
            parts.append(block.text)
        elif isinstance(block, ToolCallBlock):
            called = {"id": block.tool_call_id, "name": block.tool_name, "input": block.tool_kwargs}
            parts.append({"type": "tool_use", **called})
        elif block.block_type in _MEDIA:
            parts.append(f"[{block.block_type}]")
    turn: dict[str, Any] = {"role": role, "content": parts}
    if call_id := message.additional_kwargs.get("tool_call_id"):
        turn["tool_call_id"] = str(call_id)
    return turn
