"""Pydantic AI, run with a function for a model."""

from dataclasses import dataclass

import pytest
from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.test import TestModel

from zibaldone import Filter, InvalidInput, Memory, StorageError, StorageFull
from zibaldone.adapters.pydantic_ai import UserMemory

pytestmark = pytest.mark.anyio
PEANUTS = "I am allergic to peanuts."


class Script:
    """Says the next line, and keeps the requests."""

    def __init__(self, *lines):
        self.lines, self.requests = list(lines), []
        self.model = FunctionModel(self.answer)

    def answer(self, messages, info):
        self.requests.append(messages)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return ModelResponse(parts=[TextPart(line) if isinstance(line, str) else line])

    def prompts(self):
        """What the last request's user parts say."""
        parts = [part for message in self.requests[-1] for part in message.parts]
        return [part.content for part in parts if isinstance(part, UserPromptPart)]


def remembering(model, memory, **options):
    """An agent with Ann's memory."""
    return Agent(model, capabilities=[UserMemory(memory, user="ann")], **options)


async def test_what_is_recalled_stands_before_the_last_prompt(amemory):
    """In the request, behind the instructions and the history; not in the history, and not in the log."""
    await amemory.add(PEANUTS, user="ann", session="long ago")
    script = Script("Try the soup.", "You're welcome.")
    agent = remembering(script.model, amemory, system_prompt="You are a waiter.")
    result = await agent.run("What can I eat with my peanuts allergy?", conversation_id="now")
    recalled, prompt = script.prompts()
    assert PEANUTS in recalled
    assert recalled.startswith("[memory ")
    assert prompt == "What can I eat with my peanuts allergy?"
    assert script.requests[0][0].parts[0].content == "You are a waiter."
    assert "[memory " not in result.all_messages_json().decode()
    stored = await amemory.messages(user="ann", filter=Filter(session="now"))
    assert [(m.role, m.content) for m in stored] == [("user", prompt), ("assistant", "Try the soup.")]


async def test_a_conversation_goes_on(amemory):
    """A second run stores what it adds only, and what its history says is not recalled."""
    script = Script("Noted.", "Biscuit.")
    agent = remembering(script.model, amemory)
    first = await agent.run("My dog is called Biscuit.", conversation_id="now")
    await agent.run("What is my dog called?", message_history=first.all_messages())
    assert script.prompts() == ["My dog is called Biscuit.", "What is my dog called?"]
    stored = await amemory.messages(user="ann", filter=Filter(session="now"))
    assert [m.content for m in stored] == [
        "My dog is called Biscuit.",
        "Noted.",
        "What is my dog called?",
        "Biscuit.",
    ]


async def test_calls_and_results_are_messages(amemory):
    """They are linked by their id, and a recalled text is in each request of the run."""
    await amemory.add("I live in Porto.", user="ann", session="long ago")
    script = Script(ToolCallPart("weather", {"city": "Porto"}, "c1"), "It rains.")
    agent = remembering(script.model, amemory)

    @agent.tool_plain
    def weather(city: str) -> str:
        return f"Rain in {city}."

    await agent.run("What is the weather where I live?", conversation_id="now")
    assert all("I live in Porto." in str(request) for request in script.requests)
    stored = await amemory.messages(user="ann", filter=Filter(session="now"))
    assert [m.role for m in stored] == ["user", "assistant", "tool", "assistant"]
    assert stored[1].content == '[tool call: weather({"city":"Porto"})]'
    assert stored[2].content == "Rain in Porto."
    assert stored[1].metadata["tool_calls"][0]["id"] == stored[2].metadata["tool_call_id"] == "c1"


@dataclass
class Deps:
    """What an application gives a run."""

    user: str


async def test_one_agent_serves_users_apart(amemory):
    """The user comes from the run: no prompt shows one what another said."""
    await amemory.add("My dog is called Biscuit.", user="ann", session="x")
    script = Script("I don't know.", "Biscuit.")
    whose = UserMemory(amemory, user=lambda ctx: ctx.deps.user)
    agent = Agent(script.model, deps_type=Deps, capabilities=[whose])
    hers = await agent.run("What is my dog called?", deps=Deps("bea"))
    assert "Biscuit" not in str(script.requests) + str(hers.all_messages())
    await agent.run("What is my dog called?", deps=Deps("ann"))
    assert "Biscuit" in str(script.requests)
    assert {m.content for m in await amemory.messages(user="bea")} == {
        "What is my dog called?",
        "I don't know.",
    }


async def test_what_was_said_before_a_failure_is_kept(amemory):
    """The run fails as it would, and the user's words are in the log."""
    agent = remembering(Script(RuntimeError("no model")).model, amemory)
    with pytest.raises(RuntimeError, match="no model"):
        await agent.run("Remember the milk.", conversation_id="now")
    assert [m.content for m in await amemory.messages(user="ann")] == ["Remember the milk."]


async def test_a_stream_is_remembered(amemory):
    """As a whole, when it has ended."""
    agent = remembering(TestModel(custom_output_text="A b c d."), amemory)
    async with agent.run_stream("Spell.", conversation_id="now") as stream:
        assert await stream.get_output() == "A b c d."
    assert [m.content for m in await amemory.messages(user="ann")] == ["Spell.", "A b c d."]


async def test_faults_of_memory_are_not_the_run_s(amemory, monkeypatch, caplog):
    """The answer comes, and the log says what was not recalled and not stored."""

    def broken(*args, **kwargs):
        raise StorageFull("no space")

    monkeypatch.setattr(Memory, "recall", broken)
    monkeypatch.setattr(Memory, "add", broken)
    result = await remembering(Script("Hi.").model, amemory).run("Hello")
    assert result.output == "Hi."
    assert caplog.text.count("no space") >= 2
    assert issubclass(StorageFull, StorageError)


async def test_prompts_of_several_parts(amemory):
    """Words are kept, a picture is named; a request that was refused and asked again is stored once."""
    script = Script("A cat.")
    agent = remembering(script.model, amemory)
    await agent.run(
        ["What is this?", BinaryContent(b"\x89PNG", media_type="image/png")], conversation_id="now"
    )
    assert [m.content for m in await amemory.messages(user="ann")] == ["What is this?\n[binary]", "A cat."]


async def test_an_answer_that_is_refused_is_asked_again(amemory):
    """Both answers were given, so both are kept; the framework's complaint is nobody's word."""
    script = Script("five", "5")
    agent = remembering(script.model, amemory)

    @agent.output_validator
    def digits(output: str) -> str:
        if not output.isdigit():
            raise ModelRetry("digits, please")
        return output

    await agent.run("How many?", conversation_id="now")
    assert [m.content for m in await amemory.messages(user="ann")] == ["How many?", "five", "5"]


def test_bad_arguments(amemory):
    """Each is refused by name."""
    for wrong in ({"user": ""}, {"user": None}, {"budget_tokens": 0}, {"memory": "memory"}):
        with pytest.raises(InvalidInput):
            UserMemory(**({"memory": amemory, "user": "ann"} | wrong))
