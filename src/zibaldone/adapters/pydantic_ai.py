"""Pydantic AI: a capability that recalls before each request and remembers each run (extra `pydantic-ai`).

    agent = Agent("openai:gpt-5", capabilities=[UserMemory(memory, user=lambda ctx: ctx.deps.user)])
    result = await agent.run("Where do I stay?", deps=deps, conversation_id="trip")

A conversation is a session of the user's memory, by its id.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from zibaldone.adapters.quotation import recalled_for
from zibaldone.api.aio import AsyncMemory
from zibaldone.core import DEFAULT_SESSION
from zibaldone.core.validation import count, function, key, option
from zibaldone.errors import MissingExtra, ZibaldoneError
from zibaldone.recall.recall import RECALL_TOKENS

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import (
        BaseToolCallPart,
        BaseToolReturnPart,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        TextPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import AgentDepsT, RunContext
except ModuleNotFoundError as error:
    raise MissingExtra("no module 'pydantic_ai': pip install 'zibaldone[pydantic-ai]'") from error

_logger = logging.getLogger(__name__)


@dataclass
class UserMemory(AbstractCapability[AgentDepsT]):
    """Send a recall right before the user's last turn, and store what the run adds.

    Recalled words are in no history and never stored. A fault of the memory is logged: the run goes on.
    """

    memory: AsyncMemory
    _: KW_ONLY
    user: str | Callable[[RunContext[AgentDepsT]], str]  # or who the user of a run is
    budget_tokens: int = RECALL_TOKENS  # of what is recalled for a request
    _seen: list[ModelMessage] = field(default_factory=list, init=False, repr=False)  # by the last request

    def __post_init__(self) -> None:
        option("memory", self.memory, AsyncMemory)
        count("budget_tokens", self.budget_tokens, least=1)
        if isinstance(self.user, str):
            key("user", self.user)
        else:
            function("user", self.user)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a memory cannot be written into a YAML file."""
        return None

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> UserMemory[AgentDepsT]:  # noqa: ARG002
        """One for each run, which knows what was said when the run fails."""
        return replace(self)

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The request with what was recalled."""
        self._seen = list(ctx.messages)
        messages = request_context.messages
        turns = [turn for message in messages for turn in _turns(message)]
        user = self._user_of(ctx)
        recalled = await recalled_for(self.memory, turns, user=user, budget_tokens=self.budget_tokens)
        if not recalled:
            return request_context
        return replace(request_context, messages=_with_quotation(messages, recalled.quoted()))

    async def after_run(
        self, ctx: RunContext[AgentDepsT], *, result: AgentRunResult[Any]
    ) -> AgentRunResult[Any]:
        """Store what the user, the model and the tools said."""
        await self._store(ctx, result.new_messages())
        return result

    async def on_run_error(self, ctx: RunContext[AgentDepsT], *, error: BaseException) -> AgentRunResult[Any]:
        """Store what was said before the run failed. Raises the error."""
        await self._store(ctx, [message for message in self._seen if message.run_id == ctx.run_id])
        raise error

    async def _store(self, ctx: RunContext[AgentDepsT], messages: Sequence[ModelMessage]) -> None:
        turns = [
            {**turn, "id": f"{ctx.run_id}/{place}/{part}"}
            for place, message in enumerate(messages)
            for part, turn in enumerate(_turns(message))
        ]
        try:
            if turns:
                await self.memory.add(turns, user=self._user_of(ctx), session=_session_of(ctx))
        except ZibaldoneError:
            _logger.exception("the run %s is not remembered", ctx.run_id)

    def _user_of(self, ctx: RunContext[AgentDepsT]) -> str:
        return self.user if isinstance(self.user, str) else self.user(ctx)


def _session_of(ctx: RunContext[Any]) -> str:
    return ctx.conversation_id or DEFAULT_SESSION


def _with_quotation(messages: Sequence[ModelMessage], text: str) -> list[ModelMessage]:
    """With one more part right before the user's last prompt; messages that are kept elsewhere stay."""
    changed = list(messages)
    for place, message in reversed([*enumerate(messages)]):
        prompts = [i for i, part in enumerate(message.parts) if isinstance(part, UserPromptPart)]
        if isinstance(message, ModelRequest) and prompts:
            at = prompts[-1]
            parts = [*message.parts[:at], UserPromptPart(text), *message.parts[at:]]
            changed[place] = replace(message, parts=parts)
            break
    return changed


def _turns(message: ModelMessage) -> Iterator[dict[str, Any]]:
    """The content of a message, as `Memory.add` takes it: no instructions, no thoughts, nothing recalled."""
    for part in message.parts:
        if isinstance(part, UserPromptPart):
            if text := _text(part.content):
                yield {"role": "user", "content": text, "time": part.timestamp}
        elif isinstance(part, TextPart) and isinstance(message, ModelResponse):
            if part.content:
                yield {"role": "assistant", "content": part.content, "time": message.timestamp}
        elif isinstance(part, BaseToolCallPart | BaseToolReturnPart):
            yield _tool_turn(part)


def _tool_turn(part: BaseToolCallPart | BaseToolReturnPart) -> dict[str, Any]:
    if isinstance(part, BaseToolReturnPart):
        return {
            "role": "tool",
            "content": part.model_response_str(),
            "tool_call_id": part.tool_call_id,
            "time": part.timestamp,
        }
    called = {"id": part.tool_call_id, "name": part.tool_name, "input": part.args_as_json_str()}
    return {"role": "assistant", "content": [{"type": "tool_use", **called}]}


def _text(content: object) -> str:
    """A prompt's words; what is no text is named in brackets."""
    if isinstance(content, str):
        return content
    assert isinstance(content, Sequence)
    texts = [part if isinstance(part, str) else getattr(part, "content", None) for part in content]
    kinds = [str(getattr(part, "kind", "file")).replace("-", " ") for part in content]
    return "\n".join(
        text if isinstance(text, str) else f"[{kind}]"
        for text, kind in zip(texts, kinds, strict=True)
        if kind != "cache point"
    )
