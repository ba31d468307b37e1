"""The tenant wall through REST: no parameter, header, body, id or path leads into another's memory."""

from contextlib import ExitStack

import httpx2
import pytest
from loopback import servers

from zibaldone.server.keys import KeyStore
from zibaldone.server.rest import OPERATIONS
from zibaldone.testing import ScriptedModel

SECRET = "the eagle lands at midnight"


def tell_all(request):
    """A model that answers with whatever it was shown."""
    return {"answer": request.turns[1].content, "known": False}


@pytest.fixture(scope="module")
def walled(tmp_path_factory):
    """A server with ann's secret in it, and clients of ann, of others, and of an agent of ann's."""
    home = tmp_path_factory.mktemp("walled")
    store = KeyStore(home)
    tokens = {
        "ann": store.create(user="ann").token,
        "bob": store.create(user="bob").token,
        "dave": store.create(user="dave").token,
        "carol": store.create(user="carol").token,  # who never says anything
        "notes": store.create(user="ann", agent="notes").token,
        "admin": store.create(user=None).token,
    }
    store.close()
    with servers(home) as serving, ExitStack() as stack:
        base = serving(chat=ScriptedModel(tell_all))
        clients = {
            name: stack.enter_context(
                httpx2.Client(base_url=base, headers={"Authorization": f"Bearer {token}"})
            )
            for name, token in tokens.items()
        }
        secret = {"id": "secret", "session": "plans", "content": f"Remember: {SECRET}."}
        added = clients["ann"].post("/v1/memory/messages", json={"messages": [secret]})
        assert added.status_code == 201
        clients["ann"].post("/v1/memory/maintain", json={"views": ["topics", "hierarchy", "notes"]})
        yield clients


def examples(client, **changes):
    """Every operation's example, sent by this client; gives (operation, answer)."""
    for operation in OPERATIONS:
        example = operation.rest.example
        path = f"/v1/memory/{operation.rest.path}".replace(":path", "").format(**example.get("path", {}))
        params = {"user": "ann", **example.get("query", {}), **changes.get("params", {})}
        yield (
            operation,
            client.request(
                operation.rest.method,
                path,
                params={name: value for name, value in params.items() if value is not None},
                json=example.get("body"),
                headers=changes.get("headers"),
            ),
        )


def test_ids_and_paths_do_not_cross(walled):
    """Ann's ids are nobody's ids in dave's memory, however the path is written."""
    for path in (
        "secret",
        "1",
        "ann/secret",
        "..%2F..%2Fann%2Fsecret",
        "%2e%2e/secret",
        "secret%00",
        "secret/",
    ):
        answer = walled["dave"].get(f"/v1/memory/messages/{path}")
        assert answer.status_code == 404, path
        assert SECRET not in answer.text
    assert walled["dave"].post("/v1/memory/forget", json={"seqs": [1]}).json()["messages"] == 0
    assert walled["dave"].patch("/v1/memory/messages/secret", json={"content": "x"}).status_code == 404
    mine = {"id": "secret", "content": "Mine."}
    assert walled["dave"].post("/v1/memory/messages", json={"messages": [mine]}).status_code == 201
    assert walled["ann"].get("/v1/memory/messages/secret").json()["content"] == f"Remember: {SECRET}."


@pytest.mark.parametrize("field", ["user", "principal", "key", "tenant"])
def test_a_body_does_not_cross(walled, field):
    """A field that names another is an unknown field."""
    for path, body in (
        ("recall", {"query": SECRET}),
        ("search", {"query": SECRET}),
        ("forget", {"session": "plans"}),
    ):
        answer = walled["bob"].post(f"/v1/memory/{path}", json={**body, field: "ann"})
        assert answer.status_code == 422
    assert walled["ann"].get("/v1/memory/messages/secret").status_code == 200


def test_two_users_at_once_are_refused(walled):
    """A parameter that comes twice is no list to choose from."""
    answer = walled["bob"].get("/v1/memory/messages?user=bob&user=ann")
    assert answer.status_code == 422


def test_figures_are_one_s_own(walled):
    """Neither counts nor the folder's size tell of others."""
    stats = walled["carol"].get("/v1/memory/stats").json()
    assert (stats["messages"], stats["bytes_on_disk"]) == (0, None)
    assert walled["bob"].get("/v1/memory/users").status_code == 403
    assert "ann" in walled["admin"].get("/v1/memory/users").json()["users"]
    assert walled["admin"].get("/v1/memory/stats").json()["bytes_on_disk"] > 0


def test_an_agent_s_key_has_that_agent_s_messages(walled):
    """What the user told others is neither read, corrected nor forgotten through it."""
    for operation, answer in examples(walled["notes"], params={"user": None}):
        assert SECRET not in answer.text, operation.name
    for named in ({"agent": "other"}, {"agent": ""}):
        assert walled["notes"].get("/v1/memory/messages", params=named).status_code in (403, 422)
    notes = walled["notes"]
    own = notes.post(
        "/v1/memory/messages", json={"messages": [{"id": "n", "content": "A note on tulips."}]}
    ).json()
    assert [m["id"] for m in notes.get("/v1/memory/messages").json()["messages"] if m["id"] == "n"] == ["n"]
    assert notes.get("/v1/memory/messages/secret").status_code == 404
    assert notes.patch("/v1/memory/messages/secret", json={"content": "x"}).status_code == 404
    for body in ({"everything": True}, {"session": "plans"}, {"seqs": [1]}):
        assert notes.post("/v1/memory/forget", json=body).status_code == 403, body
    assert notes.post("/v1/memory/forget", json={"seqs": [own["messages"][0]["seq"]]}).json()["messages"] == 1
    assert SECRET in walled["ann"].get("/v1/memory/export").text


def test_an_agent_is_not_told_what_others_wrote(walled):
    """What it forgets takes edits of it along, which the user wrote: no receipt of an agent has words."""
    own = {"seqs": [10**6], "dry_run": True, "keep_texts": True}
    assert walled["notes"].post("/v1/memory/forget", json=own).status_code == 403
    assert walled["ann"].post("/v1/memory/forget", json=own).status_code == 200


def test_an_agent_is_not_forged_by_metadata(walled):
    """A message that names another agent in its metadata is stored as the key's agent's, or not at all."""
    forged = {"messages": [{"content": "From elsewhere.", "metadata": {"agent": "other"}}]}
    answer = walled["notes"].post("/v1/memory/messages", json=forged)
    assert answer.status_code == 403


def test_an_agent_corrects_its_own_messages_alone(walled):
    """A correction that is added by hand could be of another agent's message."""
    (secret,) = walled["ann"].get("/v1/memory/messages", params={"session": "plans"}).json()["messages"]
    corrects = {"corrects": {"seqs": [secret["seq"]], "role": "user"}}
    forged = {"role": "editor", "content": "Remember: the eagle stays.", "metadata": corrects}
    assert walled["notes"].post("/v1/memory/messages", json={"messages": [forged]}).status_code == 403
    assert walled["notes"].patch("/v1/memory/messages/secret", json={"content": "No."}).status_code == 404
