"""The page's door: who comes in, whose memory it is, and what no content and no other site can do."""

import re
from contextlib import ExitStack
from html.parser import HTMLParser

import httpx2
import pytest
from loopback import servers

from zibaldone.server.access import PAGE_SEGMENTS
from zibaldone.server.keys import KeyStore
from zibaldone.server.page import ACTIONS, page_routes
from zibaldone.server.page.page_auth import own_path

SECRET = "the eagle lands at midnight"
HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    '" autofocus onfocus=alert(3) hx-get="/forget" x="',
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe\u202c שלום مرحبا",
    "javascript:alert(4)",
    "[a](javascript:alert(5)) [b](/forget?everything=yes) [c](//evil.example) [d](data:text/html,x)",
    "![x](https://evil.example/pixel.png) [![y](https://evil.example/y.png)](vbscript:z)",
    "<https://evil.example/'onmouseover=alert(6)> [e](https://evil.example/\"onclick=alert(7))",
    "```<script>\n</code></pre><script>alert(8)</script>\n```\n| <b> | `</pre><script>` |\n|-|-|\n| x | y |",
]


@pytest.fixture(scope="module")
def walled(tmp_path_factory):
    """A server with ann's secret, and who signed in on its page with keys of various kinds; by name."""
    home = tmp_path_factory.mktemp("page-wall")
    store = KeyStore(home)
    tokens = {
        "ann": store.create(user="ann").token,
        "bob": store.create(user="bob").token,
        "reader": store.create(user="ann", read_only=True).token,
        "admin": store.create(user=None).token,
        "notes": store.create(user="ann", agent="notes").token,
    }
    store.close()
    with servers(home) as serving, ExitStack() as stack:
        base = serving()
        clients = {
            name: stack.enter_context(httpx2.Client(base_url=base, headers={"Origin": base}, timeout=60))
            for name in (*tokens, "nobody")
        }
        for name, token in tokens.items():
            clients[name].post("/sign-in", data={"key": token})
            clients[name].token = token
        messages = [
            {"content": f"I keep it in mind: {SECRET}.", "session": "plans", "metadata": {"title": SECRET}},
            *({"content": words, "session": words, "metadata": {"title": words}} for words in HOSTILE),
        ]
        ann = {"Authorization": f"Bearer {tokens['ann']}"}
        added = clients["nobody"].post("/v1/memory/messages", json={"messages": messages}, headers=ann)
        assert added.status_code == 201
        views = {"views": ["topics", "hierarchy", "notes"]}
        clients["nobody"].post("/v1/memory/maintain", json=views, headers=ann)
        yield clients


def paths():
    """Every path of the page that is read, with something in its braces, and a question."""
    for action in ACTIONS:
        if not action.posts:
            path = re.sub(r"\{(\w+)(:int)?\}", lambda m: "1" if m[2] else "CURRENT", action.path)
            yield f"{path}?q=eagle&name=plans&session=plans&seq=1"


def posts():
    """Every path of the page that changes something."""
    for action in ACTIONS:
        if action.posts:
            yield re.sub(r"\{(\w+)(:int)?\}", lambda m: "1" if m[2] else "1.0", action.path)


def test_signing_in_keeps_the_key_where_no_script_sees_it(walled):
    """HttpOnly and SameSite=Strict; signing out takes it away, and a wrong key gets none."""
    client = walled["nobody"]
    assert "zibaldone_key" not in client.post("/sign-in", data={"key": "zbd_no_no"}).headers.get(
        "set-cookie", ""
    )
    for broken in ("//[", "//℀"):
        assert client.get("/sign-in", params={"next": broken}).status_code == 200
    given = client.post("/sign-in", data={"key": walled["ann"].token, "next": "//evil.example"})
    cookie = given.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert given.headers["location"] == "/"
    assert client.get("/sessions").status_code == 200
    client.post("/sign-out")
    assert client.get("/sessions").headers["location"].startswith("/sign-in")


def test_the_cookie_opens_the_page_and_nothing_else(walled):
    """REST wants the key itself, so that no form and no link reaches it."""
    assert walled["ann"].get("/sessions").status_code == 200
    assert walled["ann"].get("/v1/memory/sessions").status_code == 401
    assert walled["ann"].get("/metrics").status_code == 401


def test_without_a_key_every_path_leads_to_sign_in(walled):
    """With where to go on; what htmx asks for is led there too; nothing is done."""
    for path in paths():
        answer = walled["nobody"].get(path)
        assert answer.status_code == 303, path
        assert answer.headers["location"].startswith("/sign-in"), path
        assert SECRET not in answer.text
    fragment = walled["nobody"].get("/?q=eagle", headers={"HX-Request": "true"})
    assert (fragment.status_code, fragment.headers["hx-redirect"]) == (401, "/sign-in")
    for path in posts():
        assert walled["nobody"].post(path, data={"everything": "yes"}).headers["location"] == "/sign-in"


def test_another_user_sees_nothing_of_ann(walled):
    """By no path, whether bob names himself, nobody, or ann, who is refused."""
    for path in paths():
        answer = walled["bob"].get(path)
        assert answer.status_code in (200, 403, 404), path
        assert SECRET not in answer.text.replace("eagle&", ""), path
        assert walled["bob"].get(f"{path}&user=ann").status_code == 403, path
    for path in posts():
        answer = walled["bob"].post(f"{path}?user=ann", data={"session": "plans"})
        assert answer.status_code == 403, path
    forgotten = walled["bob"].post("/forget", data={"session": "plans"}, follow_redirects=True)
    assert "0 messages forgotten" in forgotten.text
    for own in (forgotten.url.path, f"{forgotten.url.path}?file=1"):
        assert walled["bob"].get(own).status_code == 200
        assert walled["ann"].get(own).status_code == 404
    assert SECRET in walled["ann"].get("/session?name=plans").text


def test_a_read_only_key_sees_and_changes_nothing(walled):
    """It is offered no form that changes anything, and each is refused."""
    assert SECRET in walled["reader"].get("/session?name=plans").text
    for path in paths():
        assert 'method="post"' not in walled["reader"].get(path).text.replace(
            '<form method="post" action="/sign-out">', ""
        ), path
    for path in posts():
        if path == "/ask":  # a question, which changes nothing
            continue
        answer = walled["reader"].post(path, data={"session": "plans", "act": "delete", "view": "all"})
        assert answer.status_code == 403, path
    assert SECRET in walled["ann"].get("/session?name=plans").text


def test_an_admin_chooses_whose_memory(walled):
    """By name; a user's key is not offered the list."""
    assert SECRET in walled["admin"].get("/session?name=plans&user=ann").text
    assert walled["ann"].get("/users").status_code == 403


def test_a_key_of_one_agent_is_not_for_the_page(walled):
    """Which shows what all agents heard: neither signing in nor the key itself opens it."""
    token = walled["notes"].token
    assert walled["notes"].get("/sessions").status_code == 303
    answer = walled["nobody"].get("/sessions", headers={"X-Memory-Key": token})
    assert answer.status_code == 403
    assert SECRET not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ],
)
def test_another_site_cannot_send_a_form(walled, headers):
    """Nor can what says nothing of where it comes from."""
    client = walled["ann"]
    cookie = {"Cookie": f"zibaldone_key={client.token}"}
    with httpx2.Client(base_url=client.base_url, headers={**cookie, **headers}) as other:
        for path in (*posts(), "/sign-out"):
            assert other.post(path, data={"session": "plans"}).status_code == 403, path
    assert SECRET in client.get("/session?name=plans").text


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_what_people_wrote_is_never_markup(walled):
    """No tag, attribute, template or address of a message, a title, a session or a question is in any page.

    A message's Markdown may link to elsewhere; nothing is loaded from there, and no link is a path of ours.
    """
    seqs = range(2, 2 + len(HOSTILE))
    for path in (
        *paths(),
        *(f"/message/{seq}" for seq in seqs),
        "/?q=alert",
        "/sessions",
        *(f"/forget?seq={seq}" for seq in seqs),
    ):
        page = walled["ann"].get(path).text
        assert " 49 " not in page, path
        for tag, attributes in Tags(page).tags:
            assert tag not in ("img", "iframe", "object", "style", "svg", "base"), path
            assert not [name for name in attributes if name.startswith("on") or name == "style"], path
            assert "javascript:" not in attributes.get("href", ""), path
            assert attributes.get("src", "/static/").startswith("/static/"), path
            if "nofollow" in attributes.get("rel", ""):
                assert attributes.get("href", "https:").startswith("https:"), path
            else:
                assert attributes.get("href", "/")[0] in "/#", path
            if tag == "meta":
                assert "http-equiv" not in attributes
    for hostile in HOSTILE:
        page = walled["ann"].get("/", params={"q": hostile}).text
        assert not [tag for tag, attributes in Tags(page).tags if "autofocus" in attributes and tag == "mark"]
        assert walled["ann"].get("/session", params={"name": hostile}).status_code == 200


def test_the_browser_is_told_to_run_nothing_else(walled):
    """No script, style, frame or address but ours; nothing inline that would need more; nothing is kept."""
    for path in (*paths(), "/sign-in", "/message/99"):
        answer = walled["ann"].get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        tags = " ".join(re.findall(r"<[^>]*>", re.sub(r'"[^"]*"', '""', answer.text)))
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", tags), path
        assert not re.search(r'(?:src|action)="(?!/|#)', answer.text), path


def test_a_long_message_is_cut_and_its_text_is_whole(walled):
    """However long it is, the page is short; what is left out is a click away, as plain text."""
    words = "words without an end " * 5000
    bob = {"Authorization": f"Bearer {walled['bob'].token}"}
    (added,) = (
        walled["bob"]
        .post("/v1/memory/messages", json={"messages": [{"content": words, "session": "l"}]}, headers=bob)
        .json()["messages"]
    )
    for path in (
        f"/message/{added['seq']}",
        "/session?name=l",
        "/?q=say",
        "/sessions",
        "/profile",
        "/timeline",
    ):
        assert len(walled["bob"].get(path).text) < 40_000, path
    whole = walled["bob"].get(f"/message/{added['seq']}/text")
    assert whole.text == words
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_door_knows_every_path_of_the_page():
    """What is not among its segments would not be opened by a cookie; and REST is none of them."""
    routes = page_routes(None, None)
    assert {route.path[1:].partition("/")[0] for route in routes} - {""} == PAGE_SEGMENTS
    assert not PAGE_SEGMENTS & {"v1", "mcp", "metrics", "healthz", "readyz"}


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        ("/sessions?skip=40", "/sessions?skip=40"),
        ("//evil.example/", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
    ],
)
def test_after_signing_in_one_stays_here(wanted, path):
    """Whatever a link to the form says."""
    assert own_path(wanted) == path
