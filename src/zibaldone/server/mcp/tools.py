"""The tools: what each takes, what it gives, and how it asks the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from zibaldone.api.operations import OPERATIONS, Operation
from zibaldone.core import DEFAULT_SESSION
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import Receipt
from zibaldone.errors import InvalidInput
from zibaldone.log.filters import Filter
from zibaldone.server.mcp.caller import McpCaller
from zibaldone.server.mcp.looking import (
    InScope,
    ListSessions,
    ReadNotes,
    ReadSession,
    RecallWords,
    notes,
    read_session,
    recall,
    sessions,
)
from zibaldone.text.rendering import quotation
from zibaldone.views.topics.read.agent_tools import TOOLS as TOPIC_TOOLS
from zibaldone.views.topics.read.agent_tools import Arguments, described

LONGEST_CONTENT = 200_000  # characters
_MOST_SEQS = 1000


class Remember(InScope):
    """Keep something that was said, word for word, for later conversations.

    Call it when the user states something that should outlast this conversation: facts about them,
    preferences, decisions, instructions, plans. Give the user's own words, not a summary.
    """

    content: Annotated[str, Field(min_length=1, max_length=LONGEST_CONTENT, description="the words")]
    role: Annotated[Literal["user", "assistant"], Field(description="who said them")] = "user"
    session: Annotated[str, Field(min_length=1, description="a name for this conversation")] = DEFAULT_SESSION


class Forget(Arguments):
    """Delete messages for good, with all that was made from them. Give exactly one of the selectors.

    Without `confirm` nothing is deleted: the answer says what would be. Show that to the user, and call again
    with `confirm` when they agree.
    """

    seqs: Annotated[
        list[Annotated[int, Field(ge=1)]] | None,
        Field(
            min_length=1, max_length=_MOST_SEQS, description="numbers of messages, as the other tools give"
        ),
    ] = None
    session: Annotated[str | None, Field(min_length=1, description="all of this session")] = None
    before: Annotated[str | None, Field(description="all that was said before then: ISO 8601")] = None
    everything: Annotated[bool, Field(description="all that is known of the user")] = False
    confirm: Annotated[bool, Field(description="true: really delete it")] = False


Call = Callable[[McpCaller, Any], Awaitable[str]]  # as text for a model


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool; what it may change is its operation's right."""

    name: str
    title: str
    arguments: type[Arguments]  # whose docstring is the tool's description
    call: Call
    operation: Operation

    @property
    def reads(self) -> bool:
        """True if it changes nothing."""
        return self.operation.right == "read"

    @property
    def destroys(self) -> bool:
        """True if it forgets."""
        return self.operation.right == "forget"

    @property
    def of_topics(self) -> bool:
        """True if it reads topic documents, which are made of all agents' messages."""
        return self.operation.name == "getTopic"

    def parameters(self, *, shared: bool = True) -> dict[str, Any]:
        """The JSON schema of its arguments; without that of shared memories where nothing is shared."""
        schema: dict[str, Any] = described(self.name, self.arguments)["function"]["parameters"]
        if not shared:
            schema["properties"].pop("scope", None)
        return schema

    def validated(self, given: object) -> Arguments:
        """Its arguments. Raises InvalidInput that says what is wrong with them."""
        try:
            return self.arguments.model_validate(_without_nulls(given))
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_context=False, include_input=False)[:5]
            )
            wanted = ", ".join(self.arguments.model_fields) or "none"
            raise InvalidInput(
                f"{self.name} cannot be called so ({faults}); its arguments are {wanted}"
            ) from error


def _without_nulls(given: object) -> object:
    """Arguments without those that are null: a model says so of what it does not give."""
    return (
        {name: value for name, value in given.items() if value is not None}
        if isinstance(given, Mapping)
        else given or {}
    )


async def _remember(caller: McpCaller, given: Remember) -> str:
    message = {"role": given.role, "content": given.content}
    (stored,) = await caller.memory.add(
        message, user=caller.user, session=given.session, agent=caller.agent, by=caller.by
    )
    return f"Kept, as message {stored.seq}."


async def _forget(caller: McpCaller, given: Forget) -> str:
    receipt = await _forgotten(caller, given)
    number = f"{receipt.messages} message{'' if receipt.messages == 1 else 's'}"
    if receipt.dry_run:
        return f"Nothing was deleted yet. {number} would be: ask the user, then confirm."
    return f"Deleted for good: {number}, and all that was made from them."


async def _forgotten(caller: McpCaller, given: Forget) -> Receipt:
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


_TITLES = {
    "grep": "Search all topic documents by a pattern",
    "grep_doc": "Search one topic document by a pattern",
    "search": "Search topic documents by words",
    "list_docs": "List topic documents",
    "read_lines": "Read lines of a topic document",
}
_CALLS: dict[str, tuple[str, type[Arguments], Call]] = {
    "recall": ("Recall", RecallWords, recall),
    "sessions": ("List sessions", ListSessions, sessions),
    "read_session": ("Read a session", ReadSession, read_session),
    "notes": ("Read notes", ReadNotes, notes),
    "remember": ("Remember", Remember, _remember),
    "forget": ("Forget", Forget, _forget),
}
for _name, _given in TOPIC_TOOLS.items():
    _CALLS[f"topics_{_name}"] = (_TITLES[_name], _given, partial(_topics, _name))
_OPERATIONS = {tool: operation for operation in OPERATIONS for tool in operation.mcp}
TOOLS: Mapping[str, McpTool] = {
    name: McpTool(name, *called, _OPERATIONS[name]) for name, called in _CALLS.items()
}


async def tools_for(caller: McpCaller, names: Iterable[str] = TOOLS) -> dict[str, McpTool]:
    """Return the named tools that a caller may use, and that have something to show."""
    tools = {name: TOOLS[name] for name in names if name in TOOLS}
    has_topics = caller.agent is None and any(tool.of_topics for tool in tools.values())
    has_topics = has_topics and bool(await caller.memory.user(caller.user).topics.documents())
    return {
        name: tool
        for name, tool in tools.items()
        if (has_topics if tool.of_topics else tool.reads or not caller.read_only)
    }
