"""Rules that no person gave, through the gateway."""

import pytest
from upstream import shared_upstream, upstream

from injections import INJECTIONS, RULE, swallowed, swallowing
from zibaldone import Memory
from zibaldone.testing import ScriptedModel

__all__ = ["shared_upstream", "upstream"]


@pytest.mark.parametrize("door", ["reply", "document"])
def test_they_become_no_notes(serving, upstream, memory_path, door):
    """What the upstream says, and what a document in the prompt says, though a model would swallow it."""
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
    with Memory(memory_path, chat=ScriptedModel(swallowing)) as memory:
        memory.maintain()
        assert memory.messages(user="ann", include_tool_traffic=True)
        assert swallowed(memory.user("ann").profile.entries()) == []
