"""OpenAI's Agents SDK, run with a model that is told what to say."""

import json

import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from agents.usage import Usage
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from zibaldone import AsyncMemory, Filter, InvalidInput
from zibaldone.adapters.openai_agents import MemorySession

pytestmark = [pytest.mark.anyio, pytest.mark.wide]
set_tracing_disabled(disabled=True)

CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Porto"}'}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "Rain in Porto, 14 degrees."}
ITEMS = [
    {"role": "user", "content": "What is the weather in Porto?"},
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "And look:"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
        ],
    },
    {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "think of umbrellas"}]},
    CALL,
    OUTPUT,
    {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "computer_call_output", "call_id": "c2", "output": {"type": "computer_screenshot"}},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "Take an umbrella.", "annotations": []}],
    },
    {"role": "assistant", "content": "Anything else?"},
    {"role": "user", "content": "half a character: \ud800"},
    {"role": "user", "content": "of somewhere else?", "session": "other", "metadata": {"agent": "b"}},
    {"role": "tool", "content": "nobody's call"},
]


class ScriptedAgentModel(Model):
    """Gives the outputs that it was told, and keeps what it was sent."""

    def __init__(self, *outputs):
        self.outputs = list(outputs)
        self.inputs = []

    async def get_response(self, system_instructions, input, *args, **kwargs):  # noqa: A002
        self.inputs.append(input if isinstance(input, str) else [dict(item) for item in input])
        return ModelResponse(output=[self.outputs.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def says(text):
    part = ResponseOutputText(type="output_text", text=text, annotations=[])
    return ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[part])


def texts(items):
    """What a request's items say, in order."""
    return [item["content"] if isinstance(item.get("content"), str) else "" for item in items]


async def ask(session, model, *prompts):
    """Put prompts to an agent, with what is recalled for each; what the last request says, in order."""
    config = RunConfig(call_model_input_filter=session.with_recall)
    for prompt in prompts:
        await Runner.run(Agent("a", model=model), prompt, session=session, run_config=config)
    return texts(model.inputs[-1])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROLES = st.sampled_from(["user", "assistant", "system", "developer"])
KINDS = st.sampled_from(["message", "reasoning", "function_call", "function_call_output", "item_reference"])
ANY_ITEMS = st.lists(
    st.fixed_dictionaries({"role": ROLES, "content": st.text()})
    | st.fixed_dictionaries(
        {"type": KINDS}, optional={"role": ROLES, "content": JSON, "output": JSON, "name": JSON}
    ),
    max_size=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_ITEMS)
@example(ITEMS)
def test_any_item_comes_back(tmp_path_factory, items):
    """Also one of a kind or a shape that nobody has thought of."""
    import anyio

    async def check():
        async with AsyncMemory(tmp_path_factory.mktemp("any")) as memory:
            session = MemorySession("s", memory, user="ann")
            await session.add_items(items)
            assert await session.get_items() == items

    anyio.run(check)


async def test_what_is_popped_or_cleared_is_forgotten(amemory, tmp_path):
    """Neither the log nor a recall has it any more."""
    session = MemorySession("s", amemory, user="ann")
    await session.add_items([*ITEMS[:1], {"role": "user", "content": "My dog is called Biscuit."}])
    assert (await amemory.recall("What is my dog called?", user="ann")).evidence
    assert (await session.pop_item())["content"] == "My dog is called Biscuit."
    assert (
        "Biscuit" not in (await amemory.recall("What is my dog called?", user="ann", min_confidence=0)).text
    )
    assert await session.get_items() == ITEMS[:1]
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    assert await amemory.messages(user="ann") == []


async def test_what_items_say_is_remembered(amemory):
    """Words, calls and results are messages in their roles, linked; reasoning says nothing."""
    await MemorySession("s", amemory, user="ann").add_items(ITEMS[:8])
    stored = await amemory.messages(user="ann", filter=Filter(session="s"))
    assert [(m.role, m.content) for m in stored] == [
        ("user", "What is the weather in Porto?"),
        ("user", "And look:\n[image]"),
        ("assistant", ""),
        ("assistant", '[tool call: weather({"city":"Porto"})]'),
        ("tool", "Rain in Porto, 14 degrees."),
        ("assistant", "[web search call]"),
        ("assistant", "[computer call output]"),
        ("assistant", "Take an umbrella."),
    ]
    assert stored[3].metadata["tool_calls"][0]["id"] == stored[4].metadata["tool_call_id"] == "c1"
    assert stored[5].metadata.keys() == {"agents_item"}  # once, as it came


async def test_an_agent_runs_with_it(amemory):
    """Two runs, with a tool: the second sees what the first said, and everything is stored once."""

    @function_tool
    def weather(city: str) -> str:
        """Say the weather."""
        return f"Rain in {city}."

    call = ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="weather", arguments='{"city": "Porto"}'
    )
    model = ScriptedAgentModel(call, says("It rains in Porto."), says("Yes, take one."))
    agent = Agent("guide", model=model, tools=[weather], instructions="Be short.")
    session = MemorySession("s", amemory, user="ann")
    await Runner.run(agent, "What is the weather in Porto?", session=session)
    result = await Runner.run(agent, "Do I need an umbrella?", session=session)
    assert result.final_output == "Yes, take one."
    kinds = [item.get("type", "message") for item in model.inputs[-1]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]
    stored = await amemory.messages(user="ann", filter=Filter(session="s"))
    assert [m.role for m in stored] == ["user", "assistant", "tool", "assistant", "user", "assistant"]


async def test_recalled_words_are_sent_and_never_stored(amemory):
    """They begin the last turn of the user, in each request of a run, and are in no session."""
    await amemory.add("I am allergic to peanuts.", user="ann", session="long ago")
    model = ScriptedAgentModel(says("Hello!"), says("Try the soup."))
    session = MemorySession("now", amemory, user="ann")
    question = "What can I eat with my peanuts allergy?"
    *history, asked = await ask(session, model, "Good evening.", question)
    assert "I am allergic to peanuts." in asked
    assert asked.startswith("[memory ")
    assert asked.endswith(f"\n\n{question}")
    assert not any("[memory " in text for text in history)
    assert not any("[memory " in m.content for m in await amemory.messages(user="ann"))
    assert len(await session.get_items()) == 4


@pytest.mark.parametrize("limit", [None, 1])
async def test_what_the_request_says_is_not_said_twice(amemory, limit):
    """A turn of this very session is recalled where the history that is sent is too short for it."""
    model = ScriptedAgentModel(says("Noted."), says("Biscuit."))
    session = MemorySession("now", amemory, user="ann", session_settings=SessionSettings(limit=limit))
    sent = await ask(session, model, "My dog is called Biscuit.", "What is my dog called?")
    assert sum("dog is called Biscuit" in text for text in sent) == 1
    assert any(text.startswith("[memory ") for text in sent) == (limit == 1)


async def test_sessions_of_one_name_are_two_users(amemory):
    """Neither items nor recalled words of another user come in, and clearing one leaves the other."""
    ann, bea = (MemorySession("s", amemory, user=user) for user in ("ann", "bea"))
    await ann.add_items([{"role": "user", "content": "My dog is called Biscuit."}])
    await bea.add_items([{"role": "user", "content": "My cat is called Tulip."}])
    assert texts(await bea.get_items()) == ["My cat is called Tulip."]
    await bea.clear_session()
    assert texts(await ann.get_items()) == ["My dog is called Biscuit."]
    model = ScriptedAgentModel(says("I don't know."))
    await ask(MemorySession("other", amemory, user="bea"), model, "What is my dog called?")
    assert "Biscuit" not in json.dumps(model.inputs)


async def test_it_behaves_as_the_sdk_s_own_session(amemory, tmp_path):
    """The same calls on the SDK's SQLite session give the same answers."""

    async def drive(session):
        seen = [await session.get_items(), await session.pop_item()]
        await session.add_items([])
        await session.add_items(ITEMS[:4])
        seen += [await session.get_items(limit=most) for most in (2, -1)]
        seen.append(await session.pop_item())
        await session.add_items(ITEMS[4:5])
        seen.append(await session.get_items())
        await session.clear_session()
        return [*seen, await session.get_items()]

    ours, theirs = MemorySession("s", amemory, user="ann"), SQLiteSession("s", tmp_path / "theirs.db")
    assert isinstance(ours, Session)
    assert await drive(ours) == await drive(theirs)
    theirs.close()


def test_bad_arguments(amemory):
    """Each is refused by name."""
    given = {"session_id": "s", "memory": amemory, "user": "ann"}
    for name, value in (("memory", "memory"), ("session_id", ""), ("budget_tokens", 0)):
        with pytest.raises(InvalidInput, match=name):
            MemorySession(**{**given, name: value})
