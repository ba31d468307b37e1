"""Google's ADK: a memory service over a memory's folder (extra `google-adk`).

runner = Runner(agent=agent, app_name="concierge", memory_service=MemoryService(memory), ...)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from zibaldone.adapters.quotation import without_tags
from zibaldone.api.aio import AsyncMemory
from zibaldone.core import Evidence
from zibaldone.core.validation import count, function, key, option, shown
from zibaldone.errors import InvalidInput, MissingExtra
from zibaldone.log.filters import Filter
from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.text.rendering import indented, mark

try:
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types
except ModuleNotFoundError as error:
    raise MissingExtra("no module 'google.adk': pip install 'zibaldone[google-adk]'") from error

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session as AdkSession

DELETED = "adk_deleted"  # in the metadata of an empty message: an event of this id is not taken again
_TAG = "PAST_CONVERSATIONS"  # what ADK puts around what it preloads


def user_of_app(app_name: str, user_id: str) -> str:
    """A user of ours for each user of each app: "app/user", with a slash in either one escaped."""
    return f"{quote(key('app_name', app_name), safe=' ')}/{quote(key('user_id', user_id), safe=' @')}"


class MemoryService(BaseMemoryService):
    """ADK's memory service. Users of different apps are different users, unless `user` says otherwise."""

    def __init__(
        self,
        memory: AsyncMemory,
        *,
        user: Callable[[str, str], str] = user_of_app,
        budget_tokens: int = RECALL_TOKENS,
    ) -> None:
        """`user` gives whose memory it is, from the app's name and the user's id.

        `budget_tokens` is how much a search gives at most. Raises InvalidInput.
        """
        self._user = function("user", user)
        self._budget_tokens = count("budget_tokens", budget_tokens, least=1)
        self._memory = option("memory", memory, AsyncMemory)

    async def add_session_to_memory(self, session: AdkSession) -> None:
        """Store what the session's events say; those that are stored, or were deleted, are left alone.

        Raises InvalidMessage, StorageError.
        """
        user = self._user(session.app_name, session.user_id)
        stored = await self._memory.messages(user=user, filter=Filter(session=session.id))
        known = {message.id for message in stored}
        turns = (turn for event in session.events for turn in _turns(event, session.id))
        if fresh := [turn for turn in turns if turn["id"] not in known]:
            await self._memory.add(fresh, user=user, session=session.id)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Recall for a query, within the budget, in the order of time; an id is a message's seq."""
        recalled = await self._memory.recall(
            query, user=self._user(app_name, user_id), budget_tokens=self._budget_tokens, shared=()
        )
        return SearchMemoryResponse(memories=[_entry(unit) for unit in recalled.evidence])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget the messages of an entry, also when their session is added again. Raises InvalidInput."""
        if not memory_id:
            return
        if not all(seq.isdecimal() for seq in memory_id.split("-")):
            raise InvalidInput(
                f"memory_id {shown(memory_id)} is none: give the id of an entry that was found"
            )
        seqs = [int(seq) for seq in memory_id.split("-")]
        user = self._user(app_name, user_id)
        gone = [message for seq in seqs if (message := await self._memory.get(seq, user=user)) is not None]
        await self._memory.forget(user=user, seqs=seqs)
        for message in gone:
            empty = {"role": "system", "content": "", "id": message.id, "metadata": {DELETED: True}}
            await self._memory.add(empty, user=user, session=message.session)


def _turns(event: Event, session: str) -> list[dict[str, Any]]:
    """An event's words and calls as one message, and one for each result; thoughts are nobody's words.

    A part of a stream says nothing, since the whole of it follows.
    """
    if event.content is None or event.partial:
        return []
    role = "user" if event.author == "user" else "assistant"
    words: list[Any] = []
    turns: list[dict[str, Any]] = []
    for part in event.content.parts or []:
        if part.text and not part.thought:
            words.append(part.text)
        elif call := part.function_call:
            words.append({"type": "tool_use", "id": call.id, "name": call.name, "input": call.args or {}})
        elif result := part.function_response:
            output = json.dumps(result.response or {}, ensure_ascii=False, default=str)
            turns.append({"role": "tool", "content": output, "name": result.name, "tool_call_id": result.id})
        elif kind := next((kind for kind in ("inline_data", "file_data") if getattr(part, kind)), None):
            words.append(f"[{getattr(part, kind).mime_type or 'file'}]")
    if words:
        speaker = None if event.author in ("user", "model", "assistant") else event.author
        turns.insert(0, {"role": role, "content": words, "name": speaker})
    time = datetime.fromtimestamp(event.timestamp, UTC)
    for place, turn in enumerate(turns):
        name = f"{session}/{event.id}/{place}" if event.id else None
        turn.update(time=time, id=name)
    return turns


def _entry(unit: Evidence) -> MemoryEntry:
    """A unit as ADK shows it to a model: no words in it can look like another entry, or end the quotation."""
    text = without_tags(indented(unit.text) + mark(unit), _TAG)
    role = "user" if unit.speaker == "user" else "model"
    return MemoryEntry(
        id="-".join(map(str, unit.sources)),
        content=types.Content(role=role, parts=[types.Part(text=text)]),
        author=unit.speaker,
        timestamp=unit.time.isoformat() if unit.is_dated else None,
        custom_metadata={"session": unit.session, "view": unit.view},
    )
