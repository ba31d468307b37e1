"""What the gateway does not touch goes to the upstream and back byte for byte."""

import json

import httpx2
import pytest


@pytest.fixture
def client(gateway):
    """A plain client of the gateway."""
    with httpx2.Client(base_url=gateway) as client:
        yield client


AS_THEY_CAME = (
    b'{"model": "fake",  "messages":[ {"role":"user","content":"caf\\u00e9"} ], "seed":1e3, "x": 1.50}',
    b'{"model":"fake","messages":[{"role":"user","content":"a"}],"messages":[],"zzz":{"a":[]}}',
    '{"model":"fake","messages":[{"role":"user","content":"日本語 \\ud83d"}]}'.encode(),
)


@pytest.mark.parametrize("body", AS_THEY_CAME)
def test_without_a_user_the_body_is_as_it_came(client, upstream, body):
    """Spaces, escapes and numbers included; nothing is recalled."""
    answer = client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert upstream.last.body == body
    assert answer.headers["x-memory-status"] == "off"
    assert "memory" not in answer.json()


def test_beside_what_memory_changes_all_stays(client, upstream, told):
    """Only the last turn of the user gets longer, and what is for memory alone is left out."""
    told("My dentist is Dr. Moss.")
    turns = [
        {"role": "system", "content": "caf\u00e9 \ud83d", "x": 1.5},
        {"name": "A", "role": "user", "content": "Who is my dentist?"},
    ]
    body = {"model": "fake", "seed": 12345678901234567890, "messages": turns, "user": "ann"}
    client.post("/v1/chat/completions", content=json.dumps({**body, "memory": {"session": "s"}}))
    sent = upstream.last.json
    words = sent["messages"][1].pop("content")
    assert "Dr. Moss" in words
    assert words.endswith("Who is my dentist?")
    del turns[1]["content"]
    assert (list(sent), sent) == (list(body), body)


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_any_other_path(client, upstream, method):
    """Body, query and headers; what is of one connection, of the SDK or of memory stays behind."""
    data = bytes(range(256)) * 1000
    headers = {
        "X-Own": "yes",
        "X-Memory-User": "ann",
        "X-Stainless-Lang": "python",
        "TE": "trailers",
        "Authorization": "Bearer k",
    }
    answer = client.request(method, "/v1/files/a%3Ab?x=1&y=%20", content=data, headers=headers)
    assert answer.content == data
    assert answer.headers["x-upstream"] == "1"
    sent = upstream.last
    assert (sent.path, sent.query, sent.body) == ("/v1/files/a:b", "x=1&y=%20", data)
    assert sent.headers["x-own"] == "yes"
    assert sent.headers["authorization"] == "Bearer k"
    assert not {"x-memory-user", "x-stainless-lang", "te"} & set(sent.headers)


NO_JSON = [b"", b"{", b"[]", b"null", b"\xff", b'{"a":1}x', b"[" * 100_000, b'{"a":' * 50_000]
NO_JSON += [b'{"a"}', b'{"a":}', b'{"a":1,}', b"{1:2}", b'{"a":1 "b":2}', b"{,}"]


@pytest.mark.parametrize("place", range(len(NO_JSON)))
def test_what_is_no_json_is_the_upstream_s_to_refuse(client, upstream, place):
    """It gets it as it is."""
    client.post("/v1/chat/completions", content=NO_JSON[place])
    assert upstream.last.body == NO_JSON[place]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "nothing", 404), ("GET", "", 404), ("PUT", "search", 405), ("GET", "%2e%2e/models", 404)],
)
def test_what_is_the_server_s_own_never_goes_upstream(client, upstream, method, path, status):
    """Not even a path or a method of REST that is not there."""
    assert client.request(method, f"/v1/memory/{path}").status_code == status
    assert upstream.sent == []


@pytest.mark.parametrize("path", ["chat/%63ompletions", "chat/completions/"])
def test_a_path_written_otherwise_is_the_same_path(client, upstream, path):
    """Percent signs and a slash at its end lead around nothing: what is for memory alone does not go on."""
    body = {"model": "fake", "messages": [{"role": "user", "content": "Hello."}], "memory": {"user": "ann"}}
    assert client.post(f"/v1/{path}", json=body).json()["memory"]["status"] == "ok"
    assert upstream.last.path.rstrip("/") == "/v1/chat/completions"
    assert "memory" not in upstream.last.json
