"""What the gateway does not touch goes to the upstream and back byte for byte."""

import json

import httpx2
import pytest


@pytest.fixture
def client(gateway):
    """A plain client of the gateway."""
    with httpx2.Client(base_url=gateway) as client:
        yield client


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "fake",  "messages":[ {"role":"user","content":"caf\\u00e9"} ], "seed":1e3, "x": 1.50}',
        b'{"model":"fake","messages":[{"role":"user","content":"a"}],"messages":[],"zzz":{"a":[]}}',
        '{"model":"fake","messages":[{"role":"user","content":"日本語 \\ud83d"}]}'.encode(),
    ],
)
def test_without_a_user_the_body_is_as_it_came(client, upstream, body):
    """Spaces, escapes and numbers included; nothing is stored and nothing recalled."""
    answer = client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert upstream.last.body == body
    assert answer.headers["x-memory-status"] == "off"
    assert "memory" not in answer.json()


def test_what_is_for_memory_alone_is_taken_out(client, upstream):
    """Also where nobody says whose; all else is as it came."""
    body = b'{ "model" : "fake", "memory" : {"session": "s"} , "messages": [ {"role":"user", "content":"a"}]}'
    client.post("/v1/chat/completions", content=body)
    assert upstream.last.body == (b'{"model" : "fake","messages": [ {"role":"user", "content":"a"}]}')


def test_beside_what_memory_changes_all_stays(client, upstream, told):
    """Only the last turn of the user gets longer."""
    told("My dentist is Dr. Moss.")
    earlier = '{"role" : "system" , "content":"caf\\u00e9", "x": 1.50e1}'
    body = (
        '{"model":"fake", "seed": 12345678901234567890, "messages": [ '
        + earlier
        + ', {"name":"A", "role":"user","content":"Who is my dentist?"} ],"user":"ann"}'
    )
    client.post("/v1/chat/completions", content=body.encode())
    sent = upstream.last.body.decode()
    assert "Dr. Moss" in sent
    assert '"seed": 12345678901234567890' in sent
    assert earlier in sent
    last = sent[sent.index('{"name"') : sent.rindex("} ],") + 1]
    assert json.loads(last) == {"name": "A", "role": "user", "content": json.loads(last)["content"]}
    assert sent.endswith('} ],"user":"ann"}')


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


NO_JSON = (b"", b"{", b"[]", b"null", b"\xff", b'{"a":1}x', b"[" * 100_000, b'{"a":' * 50_000)


@pytest.mark.parametrize("place", range(len(NO_JSON)))
def test_what_is_no_json_is_the_upstream_s_to_refuse(client, upstream, place):
    """It gets it as it is."""
    body = NO_JSON[place]
    answer = client.post("/v1/unknown", content=body)
    assert answer.status_code == 200
    client.post("/v1/chat/completions", content=body)
    assert upstream.sent[-1].body == body


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "nothing", 404), ("GET", "", 404), ("PUT", "search", 405), ("GET", "%2e%2e/models", 404)],
)
def test_what_is_the_server_s_own_never_goes_upstream(client, upstream, method, path, status):
    """Not even a path or a method of REST that is not there."""
    assert client.request(method, f"/v1/memory/{path}").status_code == status
    assert upstream.sent == []


def test_a_path_written_otherwise_is_the_same_path(client, upstream, logged):
    """Percent signs lead around nothing."""
    body = {"model": "fake", "messages": [{"role": "user", "content": "Hello."}], "user": "ann"}
    client.post("/v1/chat/%63ompletions", json=body)
    assert upstream.last.path == "/v1/chat/completions"
    assert len(logged()) == 2
