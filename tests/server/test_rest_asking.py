"""POST /v1/memory/ask: the answer with its sources, and its steps as they come."""

import json

import httpx2
import pytest

from zibaldone.testing import ScriptedModel

ANN = {"user": "ann"}
PIP = "I adopted a beagle called Pip."


def answering(request):
    """Looks once for Pip, then answers; of a memory without Pip it knows nothing."""
    shown = json.loads(request.turns[1].content)
    if not shown["asked"]:
        return {"queries": [{"query": "Pip", "order": "first"}]}
    sources = [entry["seq"] for entry in shown["evidence"] if "Pip" in entry["text"]]
    return {"answer": "Pip", "sources": sources} if sources else {"answer": "Nobody says.", "known": False}


@pytest.fixture
def told(serving):
    """A client of a server with a model, and a message of Ann's and of Bob's."""
    with httpx2.Client(base_url=serving(chat=ScriptedModel(answering))) as client:
        for user, text in (("ann", PIP), ("bob", "My cat is called Tom.")):
            client.post("/v1/memory/messages", params={"user": user}, json={"messages": [{"content": text}]})
        yield client


def ask(client, **body):
    """The reply to Ann's question."""
    return client.post("/v1/memory/ask", params=ANN, json={"question": "Who is my dog?", **body})


def test_a_stream_has_each_step_and_the_answer(told):
    """The same as without it, event by event."""
    with told.stream(
        "POST", "/v1/memory/ask", params=ANN, json={"question": "Who is my dog?", "stream": True}
    ) as reply:
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = [event.split("\n") for event in "".join(reply.iter_text()).strip().split("\n\n")]
    assert [name for name, _ in events] == ["event: step"] * 3 + ["event: answer"]
    answer = json.loads(events[-1][1].removeprefix("data: "))
    steps = [json.loads(data.removeprefix("data: ")) for _, data in events[:-1]]
    assert (answer["text"], answer["steps"]) == ("Pip", steps)


def test_without_a_model_the_problem_names_the_setting(client):
    """Streamed or not, it is a problem, and no event."""
    for stream in (False, True):
        refused = ask(client, stream=stream)
        assert refused.status_code == 422
        assert "ZIBALDONE_CHAT_MODEL" in refused.json()["detail"]
