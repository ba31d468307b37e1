"""Limits: too much, too slow, too often, too many; and who behaves is served meanwhile."""

import asyncio
import socket
import threading
import time
from contextlib import suppress

import httpx2
import pytest

from zibaldone import AsyncMemory, AsyncUser
from zibaldone.server.app import listening
from zibaldone.server.settings import ServerSettings

ADD = "/v1/memory/messages?user=ann"
JSON = {"Content-Type": "application/json"}


def connected(base):
    """A raw connection."""
    host, port = base.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def post(base, *headers):
    """The head of a request."""
    lines = [f"POST {ADD} HTTP/1.1", f"Host: {base.removeprefix('http://')}", *headers]
    return "".join(f"{line}\r\n" for line in (*lines, "")).encode()


def left(connection):
    """Whatever the server still says, until it hangs up."""
    answer = b""
    with suppress(ConnectionResetError):
        while part := connection.recv(65536):
            answer += part
    return answer


def test_a_body_that_is_too_large(serving):
    """413, by its declared length or as it comes, and nothing is stored."""
    with httpx2.Client(base_url=serving(max_body_bytes=1000)) as client:
        for content in (b"x" * 1001, iter([b"x" * 600, b"y" * 600])):
            answer = client.post(ADD, content=content, headers=JSON)
            assert answer.status_code == 413
            assert answer.json()["type"] == "urn:zibaldone:problem:too-large"
        assert client.get(ADD).json()["messages"] == []


def test_headers_that_never_end(serving):
    """Who says nothing, or headers byte by byte, is cut off; others are served meanwhile."""
    base = serving(header_timeout_s=0.4)
    with connected(base) as silent, connected(base) as slow, httpx2.Client(base_url=base) as client:
        slow.sendall(b"GET /healthz HT")
        began = time.monotonic()
        assert client.get("/healthz").status_code == 200
        for byte in b"TP/1.1\r\nX-Slow: ":
            slow.sendall(bytes([byte]))
            time.sleep(0.01)
        assert left(silent) == b""
        assert left(slow) == b""
        assert time.monotonic() - began < 5


def test_a_body_that_never_ends(serving):
    """408, however often a byte of it comes."""
    base = serving(body_timeout_s=0.4)
    with connected(base) as slow:
        slow.sendall(post(base, "Content-Type: application/json", "Content-Length: 100"))
        for _ in range(3):
            slow.sendall(b"x")
            time.sleep(0.05)
        assert left(slow).startswith(b"HTTP/1.1 408")


def test_a_body_that_goes_on_after_the_answer(serving):
    """Who is refused and sends on is cut off, and keeps no connection."""
    base = serving(header_timeout_s=0.4, max_body_bytes=10)
    with connected(base) as slow:
        slow.sendall(post(base, "Content-Length: 100"))
        began = time.monotonic()
        assert left(slow).startswith(b"HTTP/1.1 413")
        assert time.monotonic() - began < 5


@pytest.mark.parametrize("path", [ADD, "/v1/chat/completions", "/mcp", "/", "/nothing"])
def test_a_body_of_two_lengths(serving, make_key, path):
    """It is refused before anybody looks at a key, and a request that is hidden behind it is not answered."""
    make_key("ann")
    base = serving(upstream="http://127.0.0.1:9/v1")
    head = post(base, "Content-Length: 60", "Transfer-Encoding: chunked").replace(ADD.encode(), path.encode())
    hidden = f"GET /healthz HTTP/1.1\r\nHost: {base.removeprefix('http://')}\r\n\r\n".encode()
    with connected(base) as connection:
        connection.sendall(head + b"0\r\n\r\n" + hidden)
        answered = left(connection)
    assert answered.startswith(b"HTTP/1.1 400 ")
    assert b"urn:zibaldone:problem:two-lengths" in answered
    assert answered.count(b"HTTP/1.1 ") == 1


def test_a_client_that_leaves_midway(serving, caplog):
    """Neither an error in the log nor a message."""
    base = serving()
    with connected(base) as leaving:
        leaving.sendall(
            post(base, "Content-Type: application/json", "Content-Length: 1000") + b'{"messages": ['
        )
    assert httpx2.get(f"{base}{ADD}").json()["messages"] == []
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_header_that_is_too_long(shared_client):
    """It is refused, or hung up on while it is still coming; and the server goes on."""
    with suppress(httpx2.TransportError):
        answer = shared_client.get("/healthz", headers={"X-Long": "x" * 100_000})
        assert answer.status_code in (400, 431)
    assert shared_client.get("/healthz").status_code == 200


def test_too_many_requests_of_a_key(serving, make_key):
    """429 with Retry-After; another key is served meanwhile, and this one later."""
    ann, bob = make_key("ann"), make_key("bob")
    with httpx2.Client(base_url=serving(requests_per_minute=1, burst=2)) as client:
        statuses = [client.get("/v1/memory/stats", headers={"X-Memory-Key": ann}) for _ in range(3)]
        assert [answer.status_code for answer in statuses] == [200, 200, 429]
        assert 1 <= int(statuses[2].headers["retry-after"]) <= 60
        assert client.get("/v1/memory/stats", headers={"X-Memory-Key": bob}).status_code == 200
    with httpx2.Client(
        base_url=serving(requests_per_minute=60, burst=1), headers={"X-Memory-Key": ann}
    ) as client:
        assert [client.get("/v1/memory/stats").status_code for _ in range(2)] == [200, 429]
        until = time.monotonic() + 30
        while client.get("/v1/memory/stats").status_code == 429:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_no_answer_waits_for_more():
    """Head and body of an answer are two packets; the second is sent at once."""
    with listening(ServerSettings(port=0)) as bound, socket.create_connection(bound.getsockname()):
        answering, _ = bound.accept()
        with answering:
            assert answering.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("method", "request_line"),
    [
        ("recall", "POST /v1/memory/recall?user=ann"),
        ("search", "POST /v1/memory/search?user=ann"),
        ("timeline", "GET /v1/memory/timeline?user=ann&query=heron"),
    ],
)
def test_a_question_of_who_hangs_up_is_given_up(serving, monkeypatch, method, request_line):
    """What nobody will read is not looked for any longer."""
    begun, cancelled = threading.Event(), threading.Event()

    async def endless(*_, **__):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    monkeypatch.setattr(AsyncUser if method == "timeline" else AsyncMemory, method, endless)
    base = serving()
    body = b'{"query": "heron"}' if request_line.startswith("POST") else b""
    head = f"{request_line} HTTP/1.1\r\nHost: {base.removeprefix('http://')}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    with connected(base) as client:
        client.sendall(head.encode() + body)
        assert begun.wait(20)
        assert not cancelled.is_set()
    assert cancelled.wait(20)
