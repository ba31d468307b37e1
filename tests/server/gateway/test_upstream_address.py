"""The gateway goes where it was told, and nowhere else; its own key goes with named requests alone."""

import socket
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import InvalidInput
from zibaldone.server.gateway.upstream import UpstreamClient, address
from zibaldone.server.problems import Problem

KEY = "sk-of-the-server"


@pytest.fixture
def stranger():
    """A listener that nobody may connect to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.fixture
def keyed(serving, upstream):
    """A client of a gateway with the upstream's key."""
    with httpx2.Client(base_url=serving(upstream=upstream.url, upstream_key=KEY)) as client:
        yield client


def asked(base, target, *headers):
    """The answer to a request whose target is sent as it is written here."""
    at = urlsplit(base)
    lines = [f"GET {target} HTTP/1.1", f"Host: {at.netloc}", "Connection: close", *headers, "", ""]
    with socket.create_connection((at.hostname, at.port), timeout=20) as connection:
        connection.sendall("\r\n".join(lines).encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


HOSTILE = [
    "/v1%2F@127.0.0.1:PORT/x",
    "/v1%2f.x@127.0.0.1:PORT/v1/models",
    "/v1%2F:x@127.0.0.1:PORT/chat/completions",
    "/v1/@127.0.0.1:PORT/x",
    "/v1/%40127.0.0.1:PORT/x",
    "/v1//127.0.0.1:PORT/x",
    "/v1/models//127.0.0.1:PORT/x",
    "/v1/\\\\127.0.0.1:PORT/x",
    "/v1/%5c%5C127.0.0.1:PORT/x",
    "/v1/a%2fb",
    "/v1/a%252Fb",
    "/v1/models%00",
    "/v1/models%0d%0ax:%20y",
    "/v1/models#x",
    "/v1/models%zz",
    "/v1/../secret",
    "/v1/%2e%2E/secret",
    "/v1/a/..",
    "/v1/./a",
    "/v1/..;x/a",
    "/v1/..%2fa",
    "/v1/a%2F.%2e%5cb",
    "/v1/%c0%ae%c0%ae/secret",
    "/v1/models?x=#@127.0.0.1:PORT",
]


def test_no_request_target_leads_elsewhere(serving, upstream, stranger):
    """It is refused, before an upstream without a path as well, and no key goes anywhere."""
    base = serving(upstream=upstream.url.removesuffix("/v1"), upstream_key=KEY)
    for path in HOSTILE:
        for header in ("Accept: */*", "anthropic-version: 2023-06-01"):
            answer = asked(base, path.replace("PORT", str(stranger)), header)
            kind = b"not-found" if "%0d%0a" in path else b"refused-path"
            assert answer.startswith(b"HTTP/1.1 4"), (path, answer)
            assert b"urn:zibaldone:problem:" + kind in answer, (path, answer)
    assert upstream.sent == []
    httpx2.get(f"{base}/v1/models?x=1")
    assert (upstream.last.path, upstream.last.query) == ("/models", "x=1")


TOKENS = st.sampled_from(
    [
        *"/@:?#\\%.;[] \t\r\n\0é",
        *("/v1", "//", "..", "%2f", "%2F", "%5c", "%2e", "%40", "%00", "%25", "%3a", "%zz", "%c0%af"),
        *("evil", "127.0.0.1", ":9", "http://evil", "models", "chat/completions", "user:pass@evil"),
    ]
)


@given(
    base=st.sampled_from(["http://up", "http://up:8000/", "https://up/v1", "http://[::1]:9/a/v1/"]),
    path=st.lists(TOKENS, max_size=8).map("".join) | st.text(max_size=20),
    query=st.lists(TOKENS, max_size=4).map("".join),
)
def test_an_address_has_the_configured_origin_or_there_is_none(base, path, query):
    """Whatever the path and the query are, and whoever reads the address."""
    told = httpx2.URL(base)
    try:
        made = address(told, path.removeprefix("/v1"), query)
    except Problem:
        return
    read = urlsplit(str(made))
    assert made.origin == httpx2.URL(str(made)).origin == told.origin
    assert (read.scheme, read.netloc) == (told.scheme, told.netloc.decode())
    assert not {".", ".."} & set(read.path.split("/"))
    assert read.path.startswith(urlsplit(base).path.rstrip("/"))


@pytest.mark.parametrize("given_", ["http://ann:secret@up/v1", "http://secret@up", "http://up/v1?secret=1"])
def test_an_upstream_s_address_holds_no_credential(given_):
    """The error says where one belongs, and does not say a password."""
    with pytest.raises(InvalidInput) as raised:
        UpstreamClient(given_)
    if "@" in given_:
        assert "--upstream-key-env" in str(raised.value)
        assert "secret" not in str(raised.value)


NAMED = ["POST chat/completions", "POST responses", "POST messages", "GET models", "GET models/fake"]
NAMED += ["POST embeddings", "POST completions"]
OTHERS = ["POST audio/speech", "GET files/file-1/content", "DELETE models/fake", "GET responses/resp_1"]
OTHERS += ["POST messages/count_tokens", "GET models/", "GET %6dodels"]


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_the_server_s_key_goes_with_named_requests(keyed, upstream, named, header):
    """In the header that the client's protocol has it in; nothing of the client's own goes with it."""
    headers = {"Authorization": "Bearer client", "X-Api-Key": "client"}
    if header == "x-api-key":
        headers["anthropic-version"] = "2023-06-01"
    method, path = named.split()
    keyed.request(method, f"/v1/{path}", headers=headers, content=b'{"model": "fake"}')
    sent = {name: upstream.last.headers.get(name) for name in ("authorization", "x-api-key")}
    value = KEY if header == "x-api-key" else f"Bearer {KEY}"
    assert sent == {"authorization": None, "x-api-key": None, header: value}


@pytest.mark.parametrize("other", OTHERS)
def test_all_else_goes_with_the_client_s_own(keyed, upstream, other):
    """Both headers as they came, and nothing where there was none."""
    method, path = other.split()
    own = {"authorization": "Bearer client", "x-api-key": "client"}
    for headers in (own, {}):
        keyed.request(method, f"/v1/{path}", headers={**headers, "anthropic-version": "2023-06-01"})
        sent = upstream.last.headers
        assert {name: sent[name] for name in own if name in sent} == headers
        assert KEY not in str(sent)


def test_a_key_of_ours_never_goes_upstream(serving, upstream, make_key):
    """Neither as a credential nor in the page's cookie; the client's own key beside it does."""
    key, other = make_key("ann"), make_key("bea")
    base = serving(upstream=upstream.url)
    body = {"model": "fake", "messages": [{"role": "user", "content": "Hello."}]}
    for headers in (
        {"X-Memory-Key": key, "Authorization": f"Bearer {other}", "x-api-key": other},
        {"Authorization": f"Bearer {key}", "Cookie": f"zibaldone_key={key}"},
        {"x-api-key": key},
        {"X-Memory-Key": key, "Authorization": f"Bearer {key}"},
        {"X-Memory-Key": key, "Authorization": "Bearer theirs"},
    ):
        for answer in (
            httpx2.get(f"{base}/v1/models", headers=headers),
            httpx2.post(f"{base}/v1/chat/completions", json=body, headers=headers),
        ):
            assert answer.status_code == 200
            assert not {token for token in (key, other) if token in str(upstream.last.headers)}
    assert upstream.last.headers["authorization"] == "Bearer theirs"


def test_a_redirect_is_not_followed(keyed, stranger):
    """The client gets it as it came: nobody but the configured upstream sees the key."""
    elsewhere = f"http://127.0.0.1:{stranger}/v1/models"
    answer = keyed.get("/v1/models/moved", params={"to": elsewhere})
    assert (answer.status_code, answer.headers["location"]) == (307, elsewhere)
