"""The audit log through the server: each door says its name and key, and a user sees what is their own."""

from contextlib import ExitStack

import httpx2

SECRET = "The eagle lands at midnight"
ACCEPT = {"Accept": "application/json, text/event-stream"}


def test_every_door_is_noted_and_a_user_sees_their_own(serving, make_key, upstream):
    """REST, MCP, gateway and page; ann's key sees ann's entries, an admin's all, an agent's none."""
    made = {name: make_key(user) for name, user in (("ann", "ann"), ("bob", "bob"), ("admin", None))}
    made["notes"] = make_key("ann", agent="notes")
    url = serving(upstream=upstream.url, audit=True, recall_timeout_ms=20_000)
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(httpx2.Client(base_url=url, headers={"X-Memory-Key": key}, timeout=60))
            for name, key in made.items()
        }
        ann, bob = clients["ann"], clients["bob"]
        assert ann.post("/v1/memory/messages", json={"messages": [{"content": SECRET}]}).status_code == 201
        call = {"name": "recall", "arguments": {"query": "eagle"}}
        rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        assert ann.post("/mcp", headers=ACCEPT, json=rpc).status_code == 200
        chat = {"model": "fake", "messages": [{"role": "user", "content": "When does the eagle land?"}]}
        assert ann.post("/v1/chat/completions", json=chat).status_code == 200
        assert bob.post("/v1/memory/recall", json={"query": "eagle"}).status_code == 200
        assert bob.get("/v1/memory/messages", params={"user": "ann"}).status_code == 403

        entries = ann.get("/v1/memory/audit").json()["entries"]
        done = {(entry["door"], entry["operation"]) for entry in entries}
        assert {("rest", "add"), ("mcp", "recall"), ("gateway", "recall"), ("gateway", "add")} <= done
        assert {(entry["user"], entry["key"]) for entry in entries} == {("ann", made["ann"].split("_")[1])}
        assert {entry["user"] for entry in bob.get("/v1/memory/audit").json()["entries"]} == {"bob"}
        assert bob.get("/v1/memory/audit", params={"user": "ann"}).status_code == 403
        assert clients["notes"].get("/v1/memory/audit").status_code == 403
        everything = clients["admin"].get("/v1/memory/audit")
        assert {entry["user"] for entry in everything.json()["entries"]} == {"ann", "bob"}
        assert "eagle" not in everything.text
