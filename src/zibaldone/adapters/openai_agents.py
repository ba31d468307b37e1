"""OpenAI's Agents SDK: a session whose items are messages of a user's memory (extra `openai-agents`).

    session = MemorySession("trip", memory, user="ann")
    config = RunConfig(call_model_input_filter=session.with_recall)
    result = await Runner.run(agent, "Where do I stay?", session=session, run_config=config)

Items come back exactly as they were added. What an item says is a message like any other: it is recalled in
the user's other sessions, and forgotten with `Memory.forget`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from zibaldone.adapters.quotation import recalled_for, text_of
from zibaldone.api.aio import AsyncMemory
from zibaldone.core import Message
from zibaldone.core.validation import count, key, option, shown
from zibaldone.errors import InvalidInput, MissingExtra, UnknownName
from zibaldone.log.filters import Filter
from zibaldone.log.message_input import to_messages
from zibaldone.recall.recall import RECALL_TOKENS

try:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import resolve_session_limit
    from agents.run_config import CallModelData, ModelInputData
except ModuleNotFoundError as error:
    raise MissingExtra("no module 'agents': pip install 'zibaldone[openai-agents]'") from error

if TYPE_CHECKING:
    from agents import TResponseInputItem

ITEM = "agents_item"  # in a message's metadata: the item as JSON text, where the message says less than it
_SPEAKERS = ("user", "assistant", "system", "developer")
_UNREAD = ("id", "status", "session", "time", "metadata")  # fields of an item that say nothing of its message


class MemorySession:
    """The SDK's `Session` over one session of a user's memory; `session_id` is that session's name.

    What else was said in the session, through the gateway or with `Memory.add`, is part of it.
    """

    session_id: str
    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: AsyncMemory,
        *,
        user: str,
        session_settings: SessionSettings | None = None,
        budget_tokens: int = RECALL_TOKENS,
    ) -> None:
        """`budget_tokens` is what `with_recall` may add to a request at most. Raises InvalidInput."""
        self.session_id = key("session_id", session_id)
        self.session_settings = session_settings
        self._memory = option("memory", memory, AsyncMemory)
        self._user = key("user", user)
        self._budget_tokens = count("budget_tokens", budget_tokens, least=1)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in their order; the newest `limit`, or as many as the settings say."""
        most = resolve_session_limit(limit, self.session_settings)
        return [item for _, item in await self._items(most)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items; they are durable when this returns. Raises InvalidMessage for what is no JSON."""
        if items:
            await self._memory.add([_to_message(item, self.session_id) for item in items], user=self._user)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item away, for good; None when there is none."""
        while items := await self._items(1):
            seq, item = items[-1]
            receipt = await self._memory.forget(user=self._user, seqs=[seq])
            if seq in receipt.seqs:  # or another took it first
                return item
        return None

    async def clear_session(self) -> None:
        """Forget the session: its items and all that was made from them."""
        with suppress(UnknownName):  # nothing was said in it
            await self._memory.forget(user=self._user, session=self.session_id)

    async def with_recall(self, data: CallModelData[Any]) -> ModelInputData:
        """A request with what memory says of it, and it does not, in the last turn of the user.

        For `RunConfig(call_model_input_filter=...)`: unlike what a `session_input_callback` adds, what a
        filter adds is sent and never stored. A fault of the memory is logged, and the request goes as it is.
        """
        given = data.model_data
        messages = (_read(cast("Mapping[str, Any]", item), self.session_id) for item in given.input)
        turns = [{"role": message.role, "content": message.content} for message in messages]
        recalled = await recalled_for(self._memory, turns, user=self._user, budget_tokens=self._budget_tokens)
        return replace(given, input=recalled.as_messages(given.input)) if recalled else given

    async def _items(self, most: int | None) -> list[tuple[int, TResponseInputItem]]:
        """The newest items, each with its message's seq; None or a negative number: all of them."""
        messages = await self._memory.messages(user=self._user, filter=Filter(session=self.session_id))
        items = [(message.seq, item) for message in messages if (item := _to_item(message)) is not None]
        return items if most is None or most < 0 else items[max(0, len(items) - most) :]


def _to_message(item: object, session: str) -> Message:
    """The message of an item, with the item itself where that is not all of it."""
    if not isinstance(item, Mapping):
        raise InvalidInput(f"an item must be a mapping, not {shown(item)}")
    try:
        whole = json.dumps(item, separators=(",", ":"))
        message = _read(item, session)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"item {shown(item)} is not JSON ({error})") from error
    if message.role in _SPEAKERS and {"role": message.role, "content": message.content} == item:
        return message
    # Of a kind without a shape of ours, such as a search of files, `to_messages` keeps the item there, too.
    kept = {name: value for name, value in message.metadata.items() if name != "item"}
    return replace(message, metadata={**kept, ITEM: whole})


def _read(item: Mapping[str, Any], session: str) -> Message:
    """Read an item as a message; of one in no known shape the text alone.

    Half a character, which a model may give and no file can hold, becomes a question mark.
    """
    fields = {name: value for name, value in item.items() if name not in _UNREAD}
    text = json.dumps(fields, ensure_ascii=False).encode("utf-16", "surrogatepass")
    readable = json.loads(text.decode("utf-16", "replace"))
    try:
        (message,) = to_messages(readable, session=session)
    except ValueError:  # InvalidInput, or several messages in one
        role = readable.get("role")
        spoken = text_of(readable.get("content"))
        message = Message(spoken, role=role if role in _SPEAKERS else "assistant", session=session)
    return message


def _to_item(message: Message) -> TResponseInputItem | None:
    """The item that a message was made from; a turn of somebody else's as a plain message, if it is one."""
    whole = message.metadata.get(ITEM)
    if isinstance(whole, str):
        return cast("TResponseInputItem", json.loads(whole))
    if message.role in _SPEAKERS:
        return cast("TResponseInputItem", {"role": message.role, "content": message.content})
    return None
