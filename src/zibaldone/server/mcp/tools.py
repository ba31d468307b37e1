"""The tools: those of the table of operations, with the functions that ask the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from zibaldone.api.operations import OPERATIONS, Operation, Tool
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import Receipt
from zibaldone.log.filters import Filter
from zibaldone.server.inputs import arguments_shape
from zibaldone.server.mcp.caller import McpCaller
from zibaldone.server.mcp.looking import notes, read_session, recall, sessions
from zibaldone.text.rendering import quotation
from zibaldone.views.topics.read.agent_tools import TOOLS as TOPIC_TOOLS
from zibaldone.views.topics.read.agent_tools import Arguments, described, validated

Call = Callable[[McpCaller, Any], Awaitable[str]]  # as text for a model


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool; what it may change is its operation's right."""

    tool: Tool
    operation: Operation
    arguments: type[Arguments]  # whose docstring is the tool's description
    call: Call

    @property
    def reads(self) -> bool:
        """True if it changes nothing."""
        return self.operation.right == "read"

    def parameters(self, *, shared: bool = True) -> dict[str, Any]:
        """The JSON schema of its arguments; without that of shared memories where nothing is shared."""
        schema: dict[str, Any] = described(self.tool.name, self.arguments)["function"]["parameters"]
        if not shared:
            schema["properties"].pop("scope", None)
        return schema

    def validated(self, given: Mapping[str, Any] | None) -> Arguments:
        """Its arguments; null is none. Raises InvalidInput that says what is wrong with them."""
        there = {name: value for name, value in (given or {}).items() if value is not None}
        return validated(self.tool.name, self.arguments, there)


async def _remember(caller: McpCaller, given: Any) -> str:
    message = {"role": given.role, "content": given.content}
    (stored,) = await caller.memory.add(
        message, user=caller.user, session=given.session, agent=caller.agent, by=caller.by
    )
    return f"Kept, as message {stored.seq}."


async def _forget(caller: McpCaller, given: Any) -> str:
    receipt = await _forgotten(caller, given)
    number = f"{receipt.messages} message{'' if receipt.messages == 1 else 's'}"
    if receipt.dry_run:
        return f"Nothing was deleted yet. {number} would be: ask the user, then confirm."
    return f"Deleted for good: {number}, and all that was made from them."


async def _forgotten(caller: McpCaller, given: Any) -> Receipt:
    chosen = given.model_dump(exclude={"confirm"})
    dry_run = not given.confirm
    if caller.agent is None:
        return await caller.memory.forget(user=caller.user, dry_run=dry_run, **chosen)
    looked = await caller.memory.forget(user=caller.user, dry_run=True, **chosen)  # checks the selectors, too
    own = await caller.memory.messages(user=caller.user, filter=Filter(agent=caller.agent))
    seqs = {message.seq for message in own}.intersection(looked.seqs)
    return await caller.memory.forget(user=caller.user, seqs=sorted(seqs), dry_run=dry_run)


async def _topics(name: str, caller: McpCaller, given: Arguments) -> str:
    tools = await caller.memory.user(caller.user).topics.tools()
    return quotation((await in_thread(tools.invoke, name, given.model_dump())).text)


_CALLS: Mapping[str, Call] = {
    "recall": recall,
    "sessions": sessions,
    "read_session": read_session,
    "notes": notes,
    "remember": _remember,
    "forget": _forget,
} | {f"topics_{name}": partial(_topics, name) for name in TOPIC_TOOLS}
_ARGUMENTS = {f"topics_{name}": arguments for name, arguments in TOPIC_TOOLS.items()}
_TOOLS = {tool.name: (tool, operation) for operation in OPERATIONS for tool in operation.tools}
TOOLS: Mapping[str, McpTool] = {
    name: McpTool(*_TOOLS[name], _ARGUMENTS.get(name) or arguments_shape(_TOOLS[name][0]), call)
    for name, call in _CALLS.items()
}


async def tools_for(caller: McpCaller, names: Iterable[str] = TOOLS) -> dict[str, McpTool]:
    """Return the named tools that a caller may use, and that have something to show."""
    wanted = [name for name in names if name in TOOLS]
    # Topic documents are made of all agents' words.
    has_topics = caller.agent is None and any(name in _ARGUMENTS for name in wanted)
    has_topics = has_topics and bool(await caller.memory.user(caller.user).topics.documents())
    return {
        name: TOOLS[name]
        for name in wanted
        if (has_topics if name in _ARGUMENTS else TOOLS[name].reads or not caller.read_only)
    }
