"""Whose memory a request is about: what comes first, and the wall between users."""

import json

import httpx2
import pytest

SECRET = "The code of the safe is 7391."
QUESTION = "What is the code of the safe?"


@pytest.fixture
def post(gateway):
    """Sends a question to the gateway, in any format; gives the answer."""

    def post(path="chat/completions", *, headers=None, content=QUESTION, **body):
        messages = [{"role": "user", "content": content}]
        given = {"model": "fake", "max_tokens": 9, "messages": messages, "input": content, **body}
        return httpx2.post(f"{gateway}/v1/{path}", json=given, headers=headers, timeout=60)

    return post


NAMES = [
    {"headers": {"X-Memory-User": "ann"}},
    {"memory": {"user": "ann"}},
    {"metadata": {"user_id": "ann"}},
    {"safety_identifier": "ann"},
    {"user": "ann"},
]


@pytest.mark.parametrize("place", range(len(NAMES)))
def test_the_first_that_is_there_names_the_user(post, logged, place):
    """In this order; what comes later names somebody else here."""
    later = {}
    for name in NAMES[place + 1 :]:
        later |= {key: json.loads(json.dumps(value).replace("ann", "bea")) for key, value in name.items()}
    assert post(**(later | NAMES[place])).status_code == 200
    assert [m.role for m in logged("ann")] == ["user", "assistant"]
    assert logged("bea") == []


def test_a_server_of_one_user_is_theirs_alone(serving, upstream, logged):
    """Whoever names nobody is that user, as is what clients send for the upstream; others are refused."""
    base = serving(upstream=upstream.url, recall_timeout_ms=20_000, user="ann")
    given = {"model": "fake", "messages": [{"role": "user", "content": SECRET}], "user": "bea"}
    assert httpx2.post(f"{base}/v1/chat/completions", json=given, timeout=60).status_code == 200
    assert [m.role for m in logged("ann")] == ["user", "assistant"]
    assert logged("bea") == []
    named = {"X-Memory-User": "bea"}
    assert httpx2.post(f"{base}/v1/chat/completions", json=given, headers=named).status_code == 403
    assert httpx2.get(f"{base}/v1/memory/messages", params={"user": "bea"}).status_code == 403
    assert SECRET in httpx2.get(f"{base}/v1/memory/messages").text


def test_body_and_headers_say_the_rest(post, logged, upstream):
    """Session and agent; none of it goes upstream."""
    memory = {"user": "ann", "session": "one", "agent": "helper"}
    post(memory=memory)
    post(memory=memory, headers={"X-Memory-Session": "two", "X-Memory-Agent": "other"}, content="And now?")
    assert [(m.session, m.metadata["agent"]) for m in logged("ann")] == [("one", "helper")] * 2 + [
        ("two", "other")
    ] * 2
    for sent in upstream.sent:
        assert "memory" not in sent.json
        assert not [name for name in sent.headers if name.startswith("x-memory")]


def test_what_two_agents_hear_in_one_session_is_each_one_s(post, logged, upstream):
    """The same words, too: neither lacks what was said to it, and neither recalls what the other heard."""
    for agent in ("clerk", "cook", "clerk"):
        upstream.says(SECRET if agent == "clerk" else "Noted.")
        answer = post(memory={"user": "ann", "session": "s", "agent": agent}).json()
        assert answer["memory"]["status"] == "ok"
    assert [(m.role, m.metadata["agent"]) for m in logged("ann")] == [
        ("user", "clerk"),
        ("assistant", "clerk"),
        ("user", "cook"),
        ("assistant", "cook"),
    ]
    for agent, knows in (("clerk", True), ("cook", False)):
        post(memory={"user": "ann", "session": "t", "agent": agent})
        assert ("7391" in upstream.last.body.decode()) is knows


def test_names_for_the_upstream_that_are_none_of_ours(post, logged, upstream):
    """What a request says to the upstream alone is no fault of it: it is passed on."""
    answer = post(user="a" * 600)
    assert (answer.status_code, answer.headers["x-memory-status"]) == (200, "off")
    assert upstream.last.json["user"] == "a" * 600


@pytest.mark.parametrize("as_json", [False, True])
def test_who_is_asking_may_stand_in_the_metadata(post, logged, upstream, as_json):
    """User and session as coding agents write them; the newer ones' JSON names the same user."""
    session = "5fd0a1c2-0000-4000-8000-000000000001"
    parts = {"device_id": "ab12", "account_uuid": "", "session_id": session}
    user_id = json.dumps(parts) if as_json else f"user_ab12_account__session_{session}"
    post(metadata={"user_id": user_id})
    assert [m.content for m in logged("user_ab12_account_", session)] == [QUESTION, "Noted."]
    assert upstream.last.json["metadata"] == {"user_id": user_id}


def test_without_a_session_the_first_words_tell_it(post, logged):
    """Requests that begin alike are of one session; others are of another."""
    post(user="ann", content="Hello.")
    post(user="ann", content="  Hello. ")
    post(user="ann", content="Good morning.")
    assert [m.content.strip() for m in logged("ann")] == ["Hello.", "Noted.", "Good morning.", "Noted."]
    assert len({m.session for m in logged("ann")}) == 2


def test_writing_and_reading_can_be_left_out(post, logged, told, upstream):
    """Each alone, and the report, too."""
    told(SECRET)
    post(memory={"user": "ann", "session": "s", "enable_retrieval": False})
    assert "7391" not in upstream.last.body.decode()
    assert len(logged("ann", "s")) == 2
    answer = post(memory={"user": "ann", "session": "t", "enable_writeback": False, "report": False})
    assert "7391" in upstream.last.body.decode()
    assert logged("ann", "t") == []
    assert "memory" not in answer.json()
    answer = post(memory={"user": "ann", "enable_writeback": False, "enable_retrieval": False})
    assert answer.headers["x-memory-status"] == "off"


def test_what_is_recalled_can_be_narrowed(post, told, upstream):
    """To roles, to views (here one that is not there), to a budget."""
    told("My flight leaves at nine from gate B12.", role="tool")
    asked = {"content": "When does my flight leave?"}
    post(memory={"user": "ann", "session": "1"}, **asked)
    assert "B12" in upstream.last.body.decode()
    post(memory={"user": "ann", "session": "2", "roles": ["user", "assistant"]}, **asked)
    assert "B12" not in upstream.last.body.decode()
    answer = post(memory={"user": "ann", "session": "2", "views": ["nothing"]}, **asked)
    assert "nothing" in answer.headers["x-memory-reason"]
    answer = post(memory={"user": "ann", "session": "3", "budget_tokens": 1}, **asked)
    assert answer.json()["memory"]["tokens"] <= 1


@pytest.mark.parametrize(
    "memory",
    [
        [],
        "ann",
        {"user": ["ann"]},
        {"user": "ann", "budget_tokens": 0},
        {"user": "ann", "budget_tokens": True},
        {"user": "ann", "enable_retrieval": "no"},
        {"user": "ann", "views": "messages"},
        {"user": "ann", "usr": "bea"},
        {"user": "a" * 1000},
    ],
)
def test_what_memory_cannot_be_told_is_refused(post, upstream, memory):
    """Before anything is sent on, in the shape in which the client reads errors."""
    answer = post(memory=memory)
    assert answer.status_code == 400
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert upstream.sent == []


CROSSINGS = [
    *NAMES,
    {"headers": {"X-Memory-User": "ANN"}},
    {"headers": {"X-Memory-User": "bea,ann"}},
    {"metadata": {"user_id": "ann_session_00000000-0000"}},
]


@pytest.mark.parametrize("path", ["chat/completions", "responses", "messages"])
def test_a_key_opens_its_own_user_alone(post, upstream, make_key, told, logged, path):
    """Whatever headers, body and metadata say: refused, or the key's own memory; never Ann's."""
    told(SECRET, user="ann", session="s")
    key = make_key("bea")
    for number, crossing in enumerate(CROSSINGS, 1):
        more = {name: crossing[name] for name in crossing if name != "headers"}
        headers = {"X-Memory-Key": key, "X-Memory-Session": str(number), **crossing.get("headers", {})}
        answer = post(path, headers=headers, **more)
        names_memory = "headers" in crossing or "memory" in crossing
        assert answer.status_code == (403 if names_memory else 200)
        assert "is 7391" not in answer.text
        assert len(logged("bea", str(number))) == (0 if names_memory else 2)
    assert all(b"is 7391" not in sent.body for sent in upstream.sent)
    assert [m.content for m in logged("ann")] == [SECRET]


def test_an_agent_s_key_is_that_agent_s(post, make_key, logged):
    """Another agent is refused; without a name it is its own."""
    headers = {"X-Memory-Key": make_key("ann", agent="clerk")}
    assert post(headers={**headers, "X-Memory-Agent": "boss"}).status_code == 403
    assert post(headers=headers, memory={"agent": "boss"}).status_code == 403
    assert post(headers=headers).status_code == 200
    assert [m.metadata["agent"] for m in logged("ann")] == ["clerk", "clerk"]


def test_a_key_that_may_only_read_stores_nothing(post, upstream, make_key, told, logged):
    """It recalls."""
    told(SECRET)
    answer = post(headers={"X-Memory-Key": make_key("ann", read_only=True)})
    assert answer.headers["x-memory-status"] == "ok"
    assert "7391" in upstream.last.body.decode()
    assert len(logged("ann")) == 1
