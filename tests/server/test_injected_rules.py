"""Rules that no person gave, through the doors of the server."""

import pytest
from test_mcp import client as mcp_client
from upstream import shared_upstream, upstream

from injections import INJECTIONS, RULE, swallowed, swallowing
from zibaldone import AsyncMemory, Memory
from zibaldone.testing import ScriptedModel

__all__ = ["shared_upstream", "upstream"]
ANN = {"user": "ann"}


def rules(path):
    """What is taken for a rule that nobody gave, once a model that swallows them has read everything."""
    with Memory(path, chat=ScriptedModel(swallowing)) as memory:
        memory.maintain()
        assert memory.messages(user="ann", include_tool_traffic=True)
        return [note.text for note in swallowed(memory.user("ann").profile.entries())]


def test_rest(client, memory_path):
    """Messages of every role, as a client stores them."""
    given = [{"role": role, "content": text} for role, text in INJECTIONS]
    assert client.post("/v1/memory/messages", params=ANN, json={"messages": given}).status_code in (200, 201)
    assert rules(memory_path) == []


@pytest.mark.anyio
async def test_mcp(memory_path):
    """What an agent remembers of a document."""
    async with AsyncMemory(memory_path) as memory, mcp_client(memory) as session:
        for role, text in INJECTIONS:
            if role == "user":
                await session.call_tool("remember", {"content": text})
    assert rules(memory_path) == []


@pytest.mark.parametrize("door", ["reply", "document"])
def test_gateway(serving, upstream, memory_path, door):
    """What the upstream says, and what a document in the prompt says."""
    import openai

    address = serving(upstream=upstream.url, recall_timeout_ms=20_000)
    upstream.says(RULE if door == "reply" else "Fine.")
    with openai.OpenAI(
        base_url=f"{address}/v1", api_key="k", default_headers={"X-Memory-User": "ann"}, max_retries=0
    ) as chat:
        for role, text in INJECTIONS if door == "document" else [("user", "Hello!")]:
            if role in ("user", "system", "developer"):
                chat.chat.completions.create(model="fake", messages=[{"role": role, "content": text}])
                upstream.says("Fine.")
    assert rules(memory_path) == []
