"""The walls between users, at each door: no key, name, id, path or form leads into another's memory."""

import re

import httpx2
import pytest
from doors import TO_CHANGE, TO_READ, filled
from test_operations import BY_REST, BY_TOOL, ROWS, named

ANNS = ("in May", "French", "by the river")  # words of hers alone
EVERYTHING = {"session": "chat-7", "act": "delete", "view": "all", "question": "Lisbon?"}
ASKED = {"q": "chess", "name": "chat-7", "session": "chat-7", "seq": 1}  # of every page


def tells(text):
    """Whether it has words of ann's."""
    return any(words in text for words in ANNS)


def said(house, user="ann"):
    """What is stored of a user."""
    answer = house.rest("admin", "GET", "messages", user=user)
    return [message["content"] for message in answer.json()["messages"]]


@pytest.mark.parametrize("operation", BY_REST, ids=named)
def test_an_operation_is_for_whom_the_key_names(house, operation):
    """Another's name is refused, in the URL and in the gateway's header; without it all is one's own.

    A key that may only read is refused what changes something, or is for admins, and nothing else; one of an
    agent sees nothing that others heard; without a key there is nothing.
    """
    by_name = house.example(operation, "bob")
    by_header = house.example(operation, "bob", None, headers={"X-Memory-User": "ann"})
    for refused in (by_name, by_header):
        assert refused.status_code in (403, 422)  # 422: it takes no user
        assert not tells(refused.text)
    if operation.right == "read":
        own = house.example(operation, "bob", None)
        assert own.status_code in (200, 404), own.text
        assert not tells(own.text)
    reading = house.example(operation, "reader")
    assert reading.status_code == (operation.rest.status if operation.right == "read" else 403)
    if operation.name != "addMessages":  # whose example is what ann has said
        assert not tells(house.example(operation, "notes", None).text)
    assert house.example(operation, "nobody").status_code == 401


@pytest.mark.parametrize(("operation", "tool"), BY_TOOL, ids=named)
def test_a_tool_is_for_whom_the_key_names(house, operation, tool):
    """Another's name is refused; one's own has no word of others; a reader changes nothing."""
    arguments = ROWS[operation.name].tools[tool]
    assert "another user" in house.tool("bob", tool, {"X-Memory-User": "ann"}, **arguments)
    if operation.right == "read":
        assert not tells(house.tool("bob", tool, **arguments))
    assert house.tool("reader", tool, **arguments).startswith("error") == (operation.right != "read")


@pytest.mark.parametrize("action", TO_READ, ids=lambda action: action.path)
def test_a_page_is_for_whom_the_key_names(house, action):
    """Without a key it leads to sign-in; bob sees his own; a reader is offered no form, an agent nothing."""
    path = filled(action.path)
    turned_away = house.clients["nobody"].get(path)
    assert turned_away.status_code == 303
    assert turned_away.headers["location"].startswith("/sign-in")
    theirs = house.clients["bob"].get(path, params=ASKED)
    assert theirs.status_code in (200, 403, 404)
    assert not tells(theirs.text)
    assert house.clients["bob"].get(path, params={**ASKED, "user": "ann"}).status_code == 403
    shown = house.clients["reader"].get(path, params=ASKED).text
    forms = re.findall(r'<form[^>]*method="post"[^>]*>', shown)
    assert all(re.search(r'action="/(sign-out|ask)', form) for form in forms)  # to ask changes nothing
    agents = house.clients["nobody"].get(path, headers={"X-Memory-Key": house.tokens["notes"]})
    assert agents.status_code == 403


@pytest.mark.parametrize("action", TO_CHANGE, ids=lambda action: action.path)
def test_a_form_is_for_whom_the_key_names(house, action):
    """Nobody else's is taken: of no key, of another's, of a reader, of another site or of no browser."""
    path = filled(action.path)
    assert house.clients["nobody"].post(path, data=EVERYTHING).headers["location"] == "/sign-in"
    assert house.clients["bob"].post(path, params={"user": "ann"}, data=EVERYTHING).status_code == 403
    assert house.clients["reader"].post(path, data=EVERYTHING).status_code == (200 if action.reads else 403)
    for headers in FOREIGN:
        cookie = {"Cookie": f"zibaldone_key={house.tokens['ann']}"}
        for of in (path, "/sign-out"):
            assert house.program.post(of, data=EVERYTHING, headers=cookie | headers).status_code == 403


FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {},
)


def test_nothing_of_ann_has_gone(house):
    """Whatever the others tried, before or after this; and what bob forgets is his own."""
    receipt = house.clients["bob"].post("/forget", data={"session": "chat-7"}, follow_redirects=True)
    assert "0 messages forgotten" in receipt.text
    for own in (receipt.url.path, f"{receipt.url.path}?file=1"):
        assert house.clients["bob"].get(own).status_code == 200
        assert house.clients["ann"].get(own).status_code == 404
    assert [text for text in said(house) if tells(text)] == [said(house)[n] for n in (0, 2, 3)]
    assert "in May" in house.page("admin", "/session", name="chat-7", user="ann")


def test_ids_and_paths_do_not_cross(house):
    """Ann's ids are nobody's ids in bob's memory, however the path is written."""
    for path in (
        "chat-7/1",
        "99",
        "ann/chat-7/1",
        "..%2F..%2Fann%2Fchat-7",
        "%2e%2e/chat-7",
        "chat-7%2F1%00",
    ):
        answer = house.rest("bob", "GET", f"messages/{path}")
        assert answer.status_code == 404, path
        assert not tells(answer.text)
    assert house.rest("bob", "POST", "forget", {"seqs": [99]}).json()["messages"] == 0
    assert house.rest("bob", "PATCH", "messages/chat-7/1", {"content": "x"}).status_code == 404
    mine = {"id": "chat-7/1", "content": "Mine."}
    assert house.rest("bob", "POST", "messages", {"messages": [mine]}).status_code == 201
    assert house.rest("ann", "GET", "messages/chat-7/1").json()["content"] == "I moved to Lisbon in May."


def test_a_body_or_a_second_user_does_not_cross(house):
    """A field that names another is unknown; a parameter that comes twice is no list to choose from."""
    for path, body in (
        ("recall", {"query": "May"}),
        ("search", {"query": "May"}),
        ("forget", {"session": "s"}),
    ):
        for field in ("user", "principal", "key", "tenant"):
            assert house.rest("bob", "POST", path, {**body, field: "ann"}).status_code == 422
    assert house.rest("bob", "GET", "messages", user=["bob", "ann"]).status_code == 422
    assert house.clients["admin"].get("/sessions?user=ann&user=bob").status_code == 422


def test_figures_are_one_s_own(house):
    """Neither counts nor the folder's size tell of others; an admin is shown all, and chooses."""
    stats = house.rest("reader", "GET", "stats").json()
    assert (stats["messages"], stats["bytes_on_disk"]) == (len(said(house)), None)
    everybody = house.rest("admin", "GET", "stats").json()
    assert everybody["messages"] > stats["messages"]
    assert everybody["bytes_on_disk"] > 0
    assert {"ann", "bob"} <= set(house.rest("admin", "GET", "users").json()["users"])
    assert "/?user=ann" in house.page("admin", "/users")
    house.page("ann", "/users", status=403)


def test_an_agent_s_key_has_that_agent_s_messages(house):
    """What the user told others is neither read, corrected, forgotten nor forged through it."""
    (secret,) = house.rest("ann", "GET", "messages", session="rules", limit=1).json()["messages"][:1]
    edit = {
        "role": "editor",
        "content": "x",
        "metadata": {"corrects": {"seqs": [secret["seq"]], "role": "user"}},
    }
    forged = [{"content": "From elsewhere.", "metadata": {"agent": agent}} for agent in ("other", None)]
    guessed = {name: secret[name] for name in ("id", "content", "role", "name", "session")}
    own = {"id": "n", "content": "A note on tulips."}
    (stored,) = house.rest("notes", "POST", "messages", {"messages": [own]}).json()["messages"]
    for status, *request in (
        (403, "GET", "messages?agent=other"),
        (422, "GET", "messages?agent="),
        (404, "GET", "messages/chat-7/1"),
        (404, "PATCH", "messages/chat-7/1", {"content": "x"}),
        *((403, "POST", "messages", {"messages": [each]}) for each in forged),
        (409, "POST", "messages", {"messages": [guessed]}),
        (403, "POST", "messages", {"messages": [edit]}),
        (403, "POST", "forget", {"everything": True}),
        (403, "POST", "forget", {"session": "chat-7"}),
        (403, "POST", "forget", {"seqs": [secret["seq"]]}),
        # an edit of it, which the user wrote, would go along: no receipt of an agent has words
        (403, "POST", "forget", {"seqs": [stored["seq"]], "dry_run": True, "keep_texts": True}),
        (200, "POST", "forget", {"seqs": [stored["seq"]]}),
    ):
        assert house.rest("notes", *request).status_code == status, request
    assert own["content"] not in said(house)


def test_signing_in_keeps_the_key_where_no_script_sees_it(house):
    """HttpOnly and SameSite=Strict; a wrong key or one of an agent gets none; signing out takes it away."""
    with httpx2.Client(base_url=house.program.base_url, headers={"Sec-Fetch-Site": "same-origin"}) as client:
        for token in ("zbd_no_no", house.tokens["notes"]):
            assert "zibaldone_key" not in client.post("/sign-in", data={"key": token}).headers.get(
                "set-cookie", ""
            )
        given = client.post("/sign-in", data={"key": house.tokens["ann"]})
        cookie = given.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert given.headers["location"] == "/"
        assert client.get("/sessions").status_code == 200
        client.post("/sign-out")
        assert client.get("/sessions").headers["location"].startswith("/sign-in")
        fragment = client.get("/?q=eagle", headers={"HX-Request": "true"})
        assert (fragment.status_code, fragment.headers["hx-redirect"]) == (401, "/sign-in")


def test_the_cookie_opens_the_page_and_nothing_else(house):
    """REST wants the key itself, so that no form and no link reaches it."""
    for path in ("/v1/memory/sessions", "/metrics"):
        assert house.clients["ann"].get(path).status_code == 401
    assert house.clients["ann"].post("/mcp", json={}).status_code == 401
