"""REST: what each operation takes and gives."""

import json

import httpx2
import pytest

from zibaldone import Memory
from zibaldone.testing import ScriptedModel

ANN = {"user": "ann"}
TALK = [
    {
        "id": "a",
        "content": "I moved to Lisbon in May.",
        "time": "2024-02-01T09:00:00Z",
        "metadata": {"app": "x"},
    },
    {"id": "b", "role": "assistant", "content": "How do you like Lisbon?", "time": "2024-02-01T09:01:00Z"},
    {"id": "c", "content": "My dog is called Rex.", "session": "pets", "time": "2024-02-02T09:00:00Z"},
]


@pytest.fixture
def told(client):
    """A client of a server that knows three messages of ann's."""
    answer = client.post("/v1/memory/messages", params=ANN, json={"session": "life", "messages": TALK})
    assert answer.status_code == 201, answer.text
    return client


def problem(answer, status, name):
    """Check that an answer is this problem; gives its body."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), (
        answer.text
    )
    body = answer.json()
    assert body["type"] == f"urn:zibaldone:problem:{name}", body
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


def test_sending_again_adds_nothing(told):
    """The same id and content gives what was stored first; only another beside it is new."""
    again = told.post("/v1/memory/messages", params=ANN, json={"session": "life", "messages": TALK[:1]})
    assert again.json()["new"] == 0
    assert again.json()["messages"][0]["seq"] == 1
    mixed = told.post(
        "/v1/memory/messages",
        params=ANN,
        json={"session": "life", "messages": [TALK[0], {"content": "New."}]},
    )
    assert mixed.json()["new"] == 1
    assert len(told.get("/v1/memory/messages", params=ANN).json()["messages"]) == 4


@pytest.mark.parametrize(
    ("path", "things", "name", "names"),
    [
        ("messages", "messages", "id", ["a", "b", "c"]),
        ("sessions", "sessions", "session", ["life", "pets"]),
        ("users", "users", None, ["ann", "bea"]),
    ],
)
def test_pages(told, path, things, name, names):
    """`next` leads from page to page, each thing once."""
    told.post("/v1/memory/messages", params={"user": "bea"}, json={"messages": [{"content": "x"}]})
    whose, seen, after = {} if path == "users" else ANN, [], None
    while after is not None or not seen:
        since = {} if after is None else {"after": after}
        page = told.get(f"/v1/memory/{path}", params={**whose, "limit": 1, **since}).json()
        seen += [thing[name] if name else thing for thing in page[things]]
        after = page["next"]
    assert seen == names


@pytest.mark.parametrize(
    ("filters", "ids"),
    [
        ({"session": "pets"}, ["c"]),
        ({"roles": "assistant"}, ["b"]),
        ({"roles": ["assistant", "user"]}, ["a", "b", "c"]),
        ({"since": "2024-02-02"}, ["c"]),
        ({"until": "2024-02-01T09:01:00Z"}, ["a"]),
        ({"metadata": '{"app": "x"}'}, ["a"]),
        ({"metadata": '{"app": {"$exists": false}}'}, ["b", "c"]),
        ({"last": 1}, ["c"]),
    ],
)
def test_filters(told, filters, ids):
    """Each leaves what it names."""
    page = told.get("/v1/memory/messages", params={**ANN, **filters}).json()
    assert [message["id"] for message in page["messages"]] == ids


def test_an_id_may_have_any_character(client):
    """Slashes, spaces and what is not ASCII, as a path that is percent-encoded."""
    stored = client.post(
        "/v1/memory/messages", params=ANN, json={"messages": [{"id": "chat/1 é?#%", "content": "x"}]}
    )
    assert stored.status_code == 201
    got = client.get("/v1/memory/messages/chat%2F1%20%C3%A9%3F%23%25", params=ANN)
    assert got.json()["id"] == "chat/1 é?#%"


def test_an_export_is_read_back(told, tmp_path):
    """Line by line what 'zibaldone import' takes."""
    answer = told.get("/v1/memory/export", params=ANN)
    assert answer.headers["content-type"].startswith("application/jsonl")
    (tmp_path / "ann.jsonl").write_text(answer.text, encoding="utf-8")
    with Memory(tmp_path / "other") as other:
        other.user("ann").import_(tmp_path / "ann.jsonl")
        assert [message.id for message in other.messages(user="ann")] == ["a", "b", "c"]
    assert told.get("/v1/memory/export", params={"user": "nobody"}).text == ""


def test_the_profile(told):
    """Its text, its entries, and how one is pinned, corrected and retired."""
    told.post("/v1/memory/messages", params=ANN, json={"messages": [{"content": "Always answer in French."}]})
    told.post("/v1/memory/maintain", params=ANN, json={})
    shown = told.get("/v1/memory/profile", params=ANN).json()
    assert "Always answer in French." in shown["text"]
    (entry,) = [entry for entry in shown["entries"] if entry["kind"] == "instruction"]
    path = f"/v1/memory/profile/{entry['id']}"
    assert told.patch(path, params=ANN, json={"pinned": True}).json()["pinned"]
    assert not told.patch(path, params=ANN, json={"pinned": False}).json()["pinned"]
    assert (
        told.patch(path, params=ANN, json={"text": "Answer in Greek."}).json()["text"] == "Answer in Greek."
    )
    again = told.patch(path, params=ANN, json={"retired": False})
    assert "exactly one of text, pinned and retired" in problem(again, 422, "invalid-input")["detail"]
    assert not told.patch(path, params=ANN, json={"retired": True, "pinned": None}).json()["holds"]
    problem(told.patch("/v1/memory/profile/9.9", params=ANN, json={"pinned": True}), 404, "unknown-name")


def test_a_topic_document_is_read(told):
    """By its id."""
    told.post("/v1/memory/maintain", params=ANN, json={"views": ["topics"]})
    assert "Lisbon" in told.get("/v1/memory/topics/topic-0001", params=ANN).json()["text"]
    problem(told.get("/v1/memory/topics/topic-9999", params=ANN), 404, "unknown-name")


def test_a_streamed_answer_has_each_step_and_the_answer(serving):
    """Event by event, what it gives in one without streaming."""
    model = ScriptedModel([{"queries": [{"query": "my dog"}]}, {"answer": "Rex", "sources": [3]}])
    with httpx2.Client(base_url=serving(chat=model), params=ANN) as client:
        client.post("/v1/memory/messages", json={"messages": TALK})
        asked = {"question": "Who is my dog?", "stream": True}
        with client.stream("POST", "/v1/memory/ask", json=asked) as reply:
            assert reply.headers["content-type"].startswith("text/event-stream")
            events = [event.split("\n") for event in "".join(reply.iter_text()).strip().split("\n\n")]
    assert [name for name, _ in events] == ["event: step"] * 3 + ["event: answer"]
    *steps, answer = (json.loads(data.removeprefix("data: ")) for _, data in events)
    assert (answer["text"], answer["steps"]) == ("Rex", steps)


def test_without_a_model_the_problem_names_the_setting(shared_client):
    """Streamed or not, it is a problem, and no event."""
    for stream in (False, True):
        asked = {"question": "Who is my dog?", "stream": stream}
        refused = shared_client.post("/v1/memory/ask", params=ANN, json=asked)
        assert "ZIBALDONE_CHAT_MODEL" in problem(refused, 422, "invalid-input")["detail"]


def test_what_is_no_json(shared_client):
    """400, whatever it is; and 415 for what a form of a foreign page could send."""
    for body in (b"", b"{", b"nonsense", b'{"messages": [}', b'"\\ud800"', b"\xff\xfe", b"[" * 100_000):
        headers = {"Content-Type": "application/json"}
        answer = shared_client.post("/v1/memory/messages", params=ANN, content=body, headers=headers)
        problem(answer, 400, "invalid-json")
    body = json.dumps({"messages": [{"content": "x"}]}).encode()
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        headers = {"Content-Type": media_type}
        answer = shared_client.post("/v1/memory/messages", params=ANN, content=body, headers=headers)
        problem(answer, 415, "unsupported-media-type")


REFUSED = [  # what is sent below /v1/memory, to be read where there is no body; and words of the problem
    ("messages", {}, '"body.messages"'),
    ("messages", [], '"body"'),
    ("messages", {"messages": []}, '"body.messages"'),
    ("messages", {"messages": [{}]}, '"body.messages.0"'),
    ("messages", {"messages": [{"content": 5}]}, '"body.messages.0.content.str"'),
    ("messages", {"messages": [{"content": "x", "role": "a\nb"}]}, '"body.messages.0.role"'),
    ("messages", {"messages": [{"content": "x", "seq": 3}]}, '"body.messages.0.seq"'),
    ("messages", {"messages": [{"content": "x", "time": 5}]}, '"body.messages.0.time"'),
    ("messages", {"messages": [{"content": "x"}], "user": "bea"}, '"body.user"'),
    ("messages?limit=0", None, '"query.limit"'),
    ("messages?limit=1001", None, '"query.limit"'),
    ("messages?after=-1", None, '"query.after"'),
    ("messages?nonsense=1", None, '"query.nonsense"'),
    ("messages?metadata={", None, '"query.metadata"'),
    ("recall", {"query": "x", "metadata": {"$nonsense": 1}}, "$nonsense"),  # what the memory itself checks
    ("recall", {"query": "x", "since": "2024-02-01", "until": "2024-01-01"}, "before"),
    ("forget", {"session": "s", "everything": True}, "exactly one of"),
]


@pytest.mark.parametrize(("path", "body", "words"), REFUSED)
def test_what_does_not_fit(shared_client, path, body, words):
    """422, with each fault and its place; a misspelt filter must not look like an answer."""
    address = f"/v1/memory/{path}{'&' if '?' in path else '?'}user=ann"
    answer = shared_client.get(address) if body is None else shared_client.post(address, json=body)
    problem(answer, 422, "invalid-input")
    assert words in answer.text


def test_somebody_must_be_named(shared_client):
    """Without keys there is no default user."""
    problem(shared_client.get("/v1/memory/messages"), 400, "no-user")


def test_another_method(shared_client):
    """405, with all methods that there are."""
    for method in ("DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"):
        answer = shared_client.request(method, "/v1/memory/messages", params=ANN)
        problem(answer, 405, "method-not-allowed")
        assert answer.headers["allow"] == "GET, HEAD, POST"


def test_an_unexpected_fault_says_nothing(serving, monkeypatch, caplog):
    """500, without a traceback or the error's words; the log has where, and no words either."""
    from zibaldone import AsyncMemory

    async def broken(*given, **__):
        raise RuntimeError(given[1])

    monkeypatch.setattr(AsyncMemory, "recall", broken)
    with httpx2.Client(base_url=serving()) as client:
        answer = client.post("/v1/memory/recall", params=ANN, json={"query": "another secret"})
    problem(answer, 500, "internal")
    text = " ".join(record.getMessage() for record in caplog.records if "httpx" not in record.name)
    assert "secret" not in answer.text + text
    assert "RuntimeError" in text


def test_the_log_has_no_word_of_anybody(told, caplog):
    """Method, route, status, time and key: no user, no query, no content."""
    caplog.set_level("INFO")
    told.get("/v1/memory/messages/c", params={**ANN, "session": "secret-session"})
    told.post("/v1/memory/search", params=ANN, json={"query": "secret question"})
    lines = [record.getMessage() for record in caplog.records if record.name == "zibaldone.server.border"]
    assert any("GET /v1/memory/messages/{id:path} " in line for line in lines)
    assert "secret" not in " ".join(lines)
    assert "ann" not in " ".join(lines)


def test_what_is_misspelt_goes_nowhere(serving):
    """Below /v1/memory nothing is passed on to the upstream."""
    with httpx2.Client(base_url=serving(upstream="http://127.0.0.1:1/v1")) as client:
        for path in ("/v1/memory", "/v1/memory/mesages"):
            problem(client.post(path, json={"messages": ["a secret"]}), 404, "not-found")
