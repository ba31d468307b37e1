"""REST: what each operation takes and gives."""

import json

import httpx2
import pytest

from zibaldone import Memory

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


def test_a_message_is_given_back_as_it_is_stored(told):
    """With its seq, its time and what was left out."""
    stored = told.get("/v1/memory/messages/a", params=ANN).json()
    assert stored == {
        "id": "a",
        "seq": 1,
        "session": "life",
        "role": "user",
        "name": None,
        "content": "I moved to Lisbon in May.",
        "time": "2024-02-01T09:00:00Z",
        "metadata": {"app": "x"},
    }


def test_sending_again_adds_nothing(told):
    """The same id and content: 200, and what was stored first; a new one beside it: 201."""
    again = told.post("/v1/memory/messages", params=ANN, json={"session": "life", "messages": TALK[:1]})
    assert (again.status_code, again.json()["new"]) == (200, 0)
    assert again.json()["messages"][0]["seq"] == 1
    mixed = told.post(
        "/v1/memory/messages",
        params=ANN,
        json={"session": "life", "messages": [TALK[0], {"content": "New."}]},
    )
    assert (mixed.status_code, mixed.json()["new"]) == (201, 1)
    assert len(told.get("/v1/memory/messages", params=ANN).json()["messages"]) == 4


def test_an_id_with_another_content_is_a_conflict(told):
    """409, and nothing of the request is stored."""
    changed = {"messages": [{"content": "New."}, {"id": "a", "session": "life", "content": "Another."}]}
    problem(told.post("/v1/memory/messages", params=ANN, json=changed), 409, "id-conflict")
    assert len(told.get("/v1/memory/messages", params=ANN).json()["messages"]) == 3


def test_pages(told):
    """`next` leads from page to page, each message once; the newest come by `last`."""
    seen, after = [], 0
    while after is not None:
        page = told.get("/v1/memory/messages", params={**ANN, "limit": 2, "after": after}).json()
        seen += [message["id"] for message in page["messages"]]
        after = page["next"]
    assert seen == ["a", "b", "c"]
    newest = told.get("/v1/memory/messages", params={**ANN, "last": 1}).json()
    assert [message["id"] for message in newest["messages"]] == ["c"]
    assert newest["next"] is None


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


def test_a_correction_takes_the_place(told):
    """It is a message of the role editor, and recall brings its wording."""
    done = told.patch("/v1/memory/messages/c", params=ANN, json={"content": "My dog is called Max."})
    assert (done.status_code, done.json()["role"]) == (201, "editor")
    text = told.post("/v1/memory/recall", params=ANN, json={"query": "What is my dog called?"}).json()["text"]
    assert "Max" in text
    problem(told.patch("/v1/memory/messages/zzz", params=ANN, json={"content": "x"}), 404, "no-message")


def test_recall_and_search_cite(told):
    """What recall and search give is word for word, with the messages that it comes from."""
    recalled = told.post("/v1/memory/recall", params=ANN, json={"query": "What is my dog called?"}).json()
    (citation,) = [c for c in recalled["citations"] if c["id"] == "c"]
    assert recalled["text"][citation["start"] : citation["end"]] == "My dog is called Rex."
    assert recalled["tokens"] > 0
    passages = told.post("/v1/memory/search", params=ANN, json={"query": "dog", "limit": 1}).json()[
        "passages"
    ]
    assert [passage["ids"] for passage in passages] == [["c"]]
    narrowed = {"query": "dog", "session": "life"}
    assert "Rex" not in told.post("/v1/memory/recall", params=ANN, json=narrowed).json()["text"]


def test_evidence_says_where_a_sentence_is_cut_and_what_holds_no_more(told):
    """All that the library's objects say of a passage: each of its sentences that no longer holds, too."""
    told.post(
        "/v1/memory/messages",
        params=ANN,
        json={
            "messages": [
                {"content": f"I keep a list: {', '.join(f'seedling {n}' for n in range(400))}."},
                {"content": "My manager is Ines Patel. My rent is 790 a month."},
                {"content": "My manager is Tom Lee now."},
                {"content": "My rent is 835 a month now."},
            ]
        },
    )
    asked = {"query": "my manager, my rent and the seedling list", "budget_tokens": 1000}
    evidence = told.post("/v1/memory/recall", params=ANN, json=asked).json()["evidence"]
    assert {True, False} == {unit["begins_inside"] for unit in evidence}
    assert {True, False} == {unit["ends_inside"] for unit in evidence}
    (old,) = (unit for unit in evidence if unit["outdated"])
    assert [old["outdated"]["sentence"], *(mark["sentence"] for mark in old["also_outdated"])] == [
        "My manager is Ines Patel.",
        "My rent is 790 a …",
    ]


def test_recall_of_a_chat_leaves_out_what_it_says(told):
    """The last user turn is the question; what stands in the chat is not recalled again."""
    chat = [{"content": "My dog is called Rex."}, {"content": "What is my dog called?"}]
    recalled = told.post("/v1/memory/recall", params=ANN, json={"messages": chat}).json()
    assert recalled["query"] == "What is my dog called?"
    assert "Rex" not in recalled["text"]


def test_sessions_and_users(told):
    """In order, page by page."""
    first = told.get("/v1/memory/sessions", params={**ANN, "limit": 1}).json()
    assert [held["session"] for held in first["sessions"]] == ["life"]
    second = told.get("/v1/memory/sessions", params={**ANN, "limit": 1, "after": first["next"]}).json()
    assert ([held["session"] for held in second["sessions"]], second["next"]) == (["pets"], None)
    told.post("/v1/memory/messages", params={"user": "bea"}, json={"messages": [{"content": "x"}]})
    users = told.get("/v1/memory/users", params={"limit": 1}).json()
    assert users == {"users": ["ann"], "next": "ann"}
    assert told.get("/v1/memory/users", params={"after": "ann"}).json() == {"users": ["bea"], "next": None}


def test_forgetting(told):
    """A dry run counts and changes nothing; then it is gone, with a receipt."""
    dry = told.post("/v1/memory/forget", params=ANN, json={"session": "pets", "dry_run": True}).json()
    assert (dry["messages"], dry["seqs"], dry["dry_run"]) == (1, [3], True)
    assert told.get("/v1/memory/messages/c", params=ANN).status_code == 200
    done = told.post("/v1/memory/forget", params=ANN, json={"session": "pets"}).json()
    assert (done["messages"], done["purged"]) == (1, True)
    problem(told.get("/v1/memory/messages/c", params=ANN), 404, "no-message")


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
    told.post("/v1/memory/maintain", params=ANN)
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
    problem(told.patch("/v1/memory/profile/9.9", params=ANN, json={"pinned": True}), 404, "no-entry")


def test_topics_themes_and_timeline(told):
    """What maintenance has made of it."""
    done = told.post("/v1/memory/maintain", params=ANN, json={"views": ["topics", "hierarchy", "notes"]})
    assert done.json()["messages"] == 3
    assert told.get("/v1/memory/topics", params=ANN).json().keys() == {"topics"}
    path = "/v1/memory/topics/topic-0001"
    text = told.get(path, params=ANN).json()["text"]
    edited = text.replace("Lisbon", "Porto").replace("Rex", "Max")
    assert edited != text
    assert told.put(path, params=ANN, json={"text": edited, "before": text}).json()["edits"]
    assert text != told.get(path, params=ANN).json()["text"]
    problem(told.get("/v1/memory/topics/topic-9999", params=ANN), 404, "no-topic")
    themes = told.get("/v1/memory/themes", params=ANN).json()["themes"]
    assert any("Lisbon" in fact["text"] for theme in themes for fact in theme["semantics"])
    lines = told.get("/v1/memory/timeline", params={**ANN, "query": "moving to Lisbon"}).json()["lines"]
    assert any("Lisbon" in line["text"] for line in lines)


def test_stats(told):
    """Of one user, or of all."""
    told.post("/v1/memory/messages", params={"user": "bea"}, json={"messages": [{"content": "x"}]})
    assert told.get("/v1/memory/stats", params=ANN).json()["messages"] == 3
    assert told.get("/v1/memory/stats").json()["messages"] == 4


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"messages": [}', b'"\\ud800"', b"\xff\xfe", b"[" * 100_000]
)
def test_what_is_no_json(shared_client, body):
    """400, whatever it is."""
    answer = shared_client.post(
        "/v1/memory/messages", params=ANN, content=body, headers={"Content-Type": "application/json"}
    )
    problem(answer, 400, "invalid-json")


@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
)
def test_another_content_type(shared_client, media_type):
    """415: what a form of a foreign page could send is never taken for JSON."""
    answer = shared_client.post(
        "/v1/memory/messages",
        params=ANN,
        content=json.dumps({"messages": [{"content": "x"}]}).encode(),
        headers={"Content-Type": media_type},
    )
    problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize(
    ("body", "at"),
    [
        ({}, "body.messages"),
        ([], "body"),
        ({"messages": []}, "body.messages"),
        ({"messages": [{}]}, "body.messages.0"),
        ({"messages": [{"content": 5}]}, "body.messages.0.content.str"),
        ({"messages": [{"content": "x", "role": "a\nb"}]}, "body.messages.0.role"),
        ({"messages": [{"content": "x", "seq": 3}]}, "body.messages.0.seq"),
        ({"messages": [{"content": "x", "time": 5}]}, "body.messages.0.time"),
        ({"messages": [{"content": "x"}], "user": "bea"}, "body.user"),
    ],
)
def test_what_does_not_fit(shared_client, body, at):
    """422, with the place of each fault, and without what stood there."""
    answer = shared_client.post("/v1/memory/messages", params=ANN, json=body)
    assert at in [error["at"] for error in problem(answer, 422, "invalid-input")["errors"]]


@pytest.mark.parametrize(
    "params",
    [{"limit": 0}, {"limit": 1001}, {"limit": "x"}, {"after": -1}, {"nonsense": 1}, {"metadata": "{"}],
)
def test_parameters_that_do_not_fit(shared_client, params):
    """422, an unknown one too: a misspelt filter must not look like an answer."""
    problem(shared_client.get("/v1/memory/messages", params={**ANN, **params}), 422, "invalid-input")


def test_what_only_memory_can_check(shared_client):
    """Its own words come through, with the name of the kind of error."""
    answer = shared_client.post(
        "/v1/memory/recall", params=ANN, json={"query": "x", "metadata": {"$nonsense": 1}}
    )
    assert "nonsense" in problem(answer, 422, "invalid-input")["detail"]
    answer = shared_client.post(
        "/v1/memory/recall", params=ANN, json={"query": "x", "since": "2024-02-01", "until": "2024-01-01"}
    )
    problem(answer, 422, "invalid-input")
    part = {"messages": [{"content": [{"type": "text"}]}]}
    problem(shared_client.post("/v1/memory/messages", params=ANN, json=part), 422, "invalid-message")


def test_somebody_must_be_named(shared_client):
    """Without keys there is no default user."""
    problem(shared_client.get("/v1/memory/messages"), 400, "no-user")


@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"])
def test_another_method(shared_client, method):
    """405, with all methods that there are."""
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
