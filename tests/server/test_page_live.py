"""The live view: what the gateway's last requests recalled and stored, for nobody but their user."""

import re

import httpx2
import pytest
from upstream import FakeUpstream, Reply, shared_upstream, upstream

__all__ = ["shared_upstream", "upstream"]
FRAGMENT = {"HX-Request": "true"}


@pytest.fixture
def gateway(serving, make_key, upstream: FakeUpstream):
    """Ann's and Bob's clients of a gateway that needs keys; both have signed in on its page."""
    tokens = {name: make_key(name) for name in ("ann", "bob")}
    base = serving(upstream=upstream.url, recall_timeout_ms=20_000)
    clients = {name: httpx2.Client(base_url=base, headers={"Origin": base}, timeout=60) for name in tokens}
    for name, client in clients.items():
        client.post("/sign-in", data={"key": tokens[name]})
        client.token = tokens[name]
    yield clients
    for client in clients.values():
        client.close()


def say(client, words, session):
    """A turn through the gateway."""
    body = {"model": "m", "messages": [{"role": "user", "content": words}]}
    headers = {"X-Memory-Key": client.token, "X-Memory-Session": session}
    assert client.post("/v1/chat/completions", json=body, headers=headers).status_code == 200


def test_it_shows_what_was_recalled_and_stored_to_its_user_alone(gateway, upstream):
    """And nothing more to a part of the page that has seen it, or of what was forgotten since."""
    upstream.reply = lambda _: Reply("Lisbon is lovely.")
    ann, bob = gateway["ann"], gateway["bob"]
    assert "No request has come yet." in ann.get("/live").text
    say(ann, "My sister Ruth moved to Lisbon.", "one")
    say(ann, "Where did my sister Ruth move?", "two")
    page = ann.get("/live").text
    newest, oldest = re.findall(r"<article.*?</article>", page, re.DOTALL)
    assert re.search(
        r"Recalled</dt><dd>\d messages?, [a-z\d ]+ words.*moved to Lisbon.*Stored", newest, re.DOTALL
    )
    assert re.search(r"Stored</dt><dd>2 messages.*Where did my sister.*Lisbon is lovely", newest, re.DOTALL)
    assert "Recalled</dt><dd>nothing" in oldest
    assert "Ruth" not in bob.get("/live").text
    again = re.search(r'hx-get="(/live\?mark=[^"]+)"', page)[1]
    assert ann.get(again, headers=FRAGMENT).status_code == 204
    assert bob.get(again, headers=FRAGMENT).status_code == 200
    ann.post("/forget", data={"session": "one"})
    assert "moved to Lisbon" not in ann.get("/live").text


def test_the_menu_has_it_where_a_gateway_is(gateway, serving, tmp_path):
    """Elsewhere its page says how one is started."""
    assert 'href="/live' in gateway["ann"].get("/").text
    with httpx2.Client(base_url=serving(tmp_path / "other")) as plain:
        assert 'href="/live' not in plain.get("/").text
        assert "--upstream" in plain.get("/live").text
