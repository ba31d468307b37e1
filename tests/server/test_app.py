"""The app: who is let in, and what is answered where nothing else is."""

import importlib
import sys

import httpx2
import pytest

from zibaldone import MissingExtra


def test_it_is_alive_and_ready(shared_client):
    """Both say so."""
    assert shared_client.get("/healthz").json() == {"status": "ok"}
    assert shared_client.get("/readyz").json() == {"status": "ok"}


DOORS = ("/readyz", "/v1/memory/messages", "/mcp", "/", "/v1/models")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8787", "127.0.0.1.evil.example", "", "10.0.0.1"]
)
def test_another_host_is_refused(shared_client, host):
    """A name that somebody else made to lead here (DNS rebinding) is not answered, at any door."""
    for path in DOORS:
        assert shared_client.get(path, headers={"Host": host}).status_code in (400, 421), path


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1", "http://localhost:1", "http://["]
)
def test_a_page_of_another_origin_is_refused(shared_client, origin):
    """Neither another name nor another port of this machine may."""
    for path in DOORS:
        assert shared_client.get(path, headers={"Origin": origin}).status_code == 403, path


def test_keys_are_needed_once_there_are_any(serving, make_key):
    """Also in a server that runs already; they stand where OpenAI's and Anthropic's clients put theirs."""
    base = serving()
    with httpx2.Client(base_url=base) as client:
        assert client.get("/v1/memory/nothing").status_code == 404
        token = make_key("ann")
        assert client.get("/v1/memory/nothing").status_code == 401
        for header in ({"Authorization": f"Bearer {token}"}, {"X-Memory-Key": token}, {"x-api-key": token}):
            assert client.get("/v1/memory/nothing", headers=header).status_code == 404
        assert client.get("/v1/memory/nothing", headers={"X-Memory-Key": token[:-1] + "~"}).status_code == 401
        assert client.get("/healthz").status_code == 200


def test_metrics_name_nobody(serving, make_key):
    """Routes and storage are counted, without users and paths; and only an admin sees it."""
    base = serving()
    admin, ann = make_key(), make_key("ann-the-user")
    with httpx2.Client(base_url=base) as client:
        client.get("/no-such-thing/ann-the-user", headers={"X-Memory-Key": ann})
        assert client.get("/metrics", headers={"X-Memory-Key": ann}).status_code == 403
        text = client.get("/metrics", headers={"X-Memory-Key": admin}).text
    assert 'zibaldone_requests_total{method="GET",route="none",status="404"} 1.0' in text
    assert "ann-the-user" not in text


@pytest.mark.parametrize(
    ("module", "needs"),
    [
        ("zibaldone.server", "starlette"),
        *(
            ("zibaldone.server.app", needs)
            for needs in ("uvicorn", "prometheus_client", "jinja2", "markdown_it", "nh3", "python_multipart")
        ),
    ],
)
def test_without_the_extra(monkeypatch, module, needs):
    """Whoever imports the server is told what to install, whichever of its libraries is missing."""
    for known in [name for name in sys.modules if name.startswith("zibaldone.server.")]:
        monkeypatch.delitem(sys.modules, known)
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, needs, None)
    with pytest.raises(MissingExtra, match=rf"{needs}.*zibaldone\[server\]"):
        importlib.import_module(module)
