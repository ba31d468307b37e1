"""The tools: what each takes, what it gives, and how it asks the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from zibaldone.core import DEFAULT_SESSION, Evidence
from zibaldone.errors import InvalidInput
from zibaldone.forgetting import Receipt
from zibaldone.rendering import line, mark, quotation
from zibaldone.server.mcp.answers import (
    ForgetAnswer,
    McpAnswer,
    Passage,
    ProfileAnswer,
    ProfileLine,
    RecallAnswer,
    RememberAnswer,
    SearchAnswer,
    Source,
    TopicsAnswer,
)
from zibaldone.server.mcp.caller import McpCaller
from zibaldone.threads import in_thread
from zibaldone.views.topics.read.tool_arguments import TOOLS as TOPIC_TOOLS
from zibaldone.views.topics.read.tool_arguments import Arguments, described
from zibaldone.views.topics.read.tool_text import answer_text

MOST_PASSAGES = 50
MOST_BUDGET_TOKENS = 8000
LONGEST_CONTENT = 200_000  # characters
_MOST_SEQS = 1000
_NOTHING = "Memory has nothing about this."
_NO_TOPICS = "There are no topic documents: 'zibaldone maintain --view topics' makes them from what was said."

Query = Annotated[str, Field(min_length=1, max_length=10_000, description="a question, or words to look for")]
InSession = Annotated[str | None, Field(description="only this session, as memory://sessions lists them")]
Since = Annotated[str | None, Field(description="only what was said from then on: ISO 8601")]
Until = Annotated[str | None, Field(description="only what was said before then: ISO 8601")]


class Remember(Arguments):
    """Keep something that was said, word for word, for later conversations.

    Call it when the user states something that should outlast this conversation: facts about them,
    preferences, decisions, instructions, plans. Give the user's own words, not a summary.
    """

    content: Annotated[str, Field(min_length=1, max_length=LONGEST_CONTENT, description="the words")]
    role: Annotated[Literal["user", "assistant"], Field(description="who said them")] = "user"
    session: Annotated[str, Field(min_length=1, description="a name for this conversation")] = DEFAULT_SESSION


class RecallWords(Arguments):
    """What earlier conversations say about a question, put together in the order of time, with dates.

    Call it before answering whatever may depend on what the user has said before.
    """

    query: Query
    budget_tokens: Annotated[
        int, Field(ge=1, le=MOST_BUDGET_TOKENS, description="how long the answer may be")
    ] = 1000
    session: InSession = None
    since: Since = None
    until: Until = None


class SearchPassages(Arguments):
    """The passages of earlier conversations that fit a query best, best first, each word for word."""

    query: Query
    limit: Annotated[int, Field(ge=1, le=MOST_PASSAGES, description="most passages")] = 10
    session: InSession = None
    since: Since = None
    until: Until = None


class ReadProfile(Arguments):
    """Notes on the user: instructions, constraints, facts, people, preferences, plans, decisions."""

    budget_tokens: Annotated[
        int, Field(ge=1, le=MOST_BUDGET_TOKENS, description="how long the text may be")
    ] = 400


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


Call = Callable[[McpCaller, Any], Awaitable[tuple[str, McpAnswer]]]


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool."""

    name: str
    title: str
    arguments: type[Arguments]  # whose docstring is the tool's description
    answer: type[McpAnswer]
    call: Call  # the answer as text for a model, and as data
    reads: bool = True  # it changes nothing
    destroys: bool = False
    whole_user: bool = False  # it knows no agents

    def is_for(self, caller: McpCaller) -> bool:
        """True if this caller may use it."""
        return (self.reads or not caller.read_only) and not (self.whole_user and caller.agent is not None)

    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        schema: dict[str, Any] = described(self.name, self.arguments)["function"]["parameters"]
        return schema

    def validated(self, given: object) -> Arguments:
        """Its arguments. Raises InvalidInput that says what is wrong with them."""
        try:
            return self.arguments.model_validate({} if given is None else given)
        except ValidationError as error:
            faults = "; ".join(
                f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}"
                for fault in error.errors(include_url=False, include_context=False, include_input=False)[:5]
            )
            wanted = ", ".join(self.arguments.model_fields) or "none"
            raise InvalidInput(
                f"{self.name} cannot be called so ({faults}); its arguments are {wanted}"
            ) from error


async def _remember(caller: McpCaller, given: Remember) -> tuple[str, McpAnswer]:
    message = {"role": given.role, "content": given.content}
    (stored,) = await caller.memory.add(message, user=caller.user, session=given.session, agent=caller.agent)
    assert stored.time is not None  # what is stored has one
    answer = RememberAnswer(seq=stored.seq, session=stored.session, time=stored.time)
    return f"Kept, as message {stored.seq}.", answer


async def _recall(caller: McpCaller, given: RecallWords) -> tuple[str, McpAnswer]:
    chosen = given.model_dump(exclude={"query"})
    recalled = await caller.memory.recall(given.query, user=caller.user, agent=caller.agent, **chosen)
    text = recalled.quoted() or _NOTHING
    sources = {
        cited.seq: Source(seq=cited.seq, session=cited.session, time=cited.time)
        for cited in recalled.citations
    }
    answer = RecallAnswer(
        text=text, tokens=recalled.tokens, confidence=recalled.confidence, sources=list(sources.values())
    )
    return text, answer


async def _search(caller: McpCaller, given: SearchPassages) -> tuple[str, McpAnswer]:
    chosen = given.model_dump(exclude={"query"})
    passages = await caller.memory.search(given.query, user=caller.user, agent=caller.agent, **chosen)
    text = quotation("\n".join(map(_passage_line, passages))) if passages else _NOTHING
    return text, SearchAnswer(passages=[_passage(unit) for unit in passages])


async def _profile(caller: McpCaller, given: ReadProfile) -> tuple[str, McpAnswer]:
    profile = caller.memory.profile(caller.user)
    text = await profile.text(given.budget_tokens)
    entries = [
        ProfileLine(id=entry.id, kind=entry.kind, text=entry.text, time=entry.time, pinned=entry.pinned)
        for entry in await profile.entries()
        if entry.holds
    ]
    return text or "Nothing is known of the user yet.", ProfileAnswer(text=text, entries=entries)


async def _forget(caller: McpCaller, given: Forget) -> tuple[str, McpAnswer]:
    receipt = await _forgotten(caller, given)
    answer = ForgetAnswer(
        dry_run=receipt.dry_run,
        messages=receipt.messages,
        seqs=list(receipt.seqs[:_MOST_SEQS]),
        purged=receipt.purged,
    )
    number = f"{receipt.messages} message{'' if receipt.messages == 1 else 's'}"
    if receipt.dry_run:
        return f"Nothing was deleted yet. {number} would be: ask the user, then confirm.", answer
    return f"Deleted for good: {number}, and all that was made from them.", answer


async def _forgotten(caller: McpCaller, given: Forget) -> Receipt:
    chosen = given.model_dump(exclude={"confirm"})
    dry_run = not given.confirm
    if caller.agent is None:
        return await caller.memory.forget(user=caller.user, dry_run=dry_run, **chosen)
    looked = await caller.memory.forget(user=caller.user, dry_run=True, **chosen)  # checks the selectors, too
    own = await caller.memory.messages(user=caller.user, agent=caller.agent)
    seqs = {message.seq for message in own}.intersection(looked.seqs)
    return await caller.memory.forget(user=caller.user, seqs=sorted(seqs), dry_run=dry_run)


async def _topics(name: str, caller: McpCaller, given: Arguments) -> tuple[str, McpAnswer]:
    topics = caller.memory.topics(caller.user)
    tools = await topics.tools()
    result = await in_thread(tools.invoke, name, given.model_dump())
    text = quotation(answer_text(result)) if await topics.documents() else _NO_TOPICS
    return text, TopicsAnswer(result=result)


def _passage(unit: Evidence) -> Passage:
    return Passage(
        text=unit.text,
        speaker=unit.speaker,
        seqs=list(unit.sources),
        session=unit.session,
        time=unit.time if unit.is_dated else None,
        score=unit.score,
        holds=unit.outdated is None,
    )


def _passage_line(unit: Evidence) -> str:
    seqs = ", ".join(map(str, unit.sources))
    day = f"{unit.time:%Y-%m-%d}" if unit.is_dated else "no date"
    return f"[message {seqs}, {day}] {line(unit.speaker, unit.text)}{mark(unit)}"


_TITLES = {
    "grep": "Search all topic documents by a pattern",
    "grep_doc": "Search one topic document by a pattern",
    "search": "Search topic documents by words",
    "list_docs": "List topic documents",
    "read_lines": "Read lines of a topic document",
}
TOOLS: Mapping[str, McpTool] = {
    tool.name: tool
    for tool in (
        McpTool("remember", "Remember", Remember, RememberAnswer, _remember, reads=False),
        McpTool("recall", "Recall", RecallWords, RecallAnswer, _recall),
        McpTool("search", "Search", SearchPassages, SearchAnswer, _search),
        McpTool("profile", "Profile", ReadProfile, ProfileAnswer, _profile, whole_user=True),
        McpTool("forget", "Forget", Forget, ForgetAnswer, _forget, reads=False, destroys=True),
        *(
            McpTool(
                f"topics_{name}",
                _TITLES[name],
                arguments,
                TopicsAnswer,
                partial(_topics, name),
                whole_user=True,
            )
            for name, arguments in TOPIC_TOOLS.items()
        ),
    )
}
