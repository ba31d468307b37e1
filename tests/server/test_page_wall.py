"""What no content can do on the page: nothing that people wrote is markup, and the browser is told so."""

import re
from html.parser import HTMLParser

import pytest
from doors import TO_READ, doors, filled

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    '" autofocus onfocus=alert(3) hx-get="/forget" x="',
    "{{ 7 * 7 }} {% raw %}",
    "\u202egnp.exe\u202c שלום مرحبا",
    "javascript:alert(4)",
    "[a](javascript:alert(5)) [b](/forget?everything=yes) [c](//evil.example) [d](data:text/html,x)",
    "![x](https://evil.example/pixel.png) [![y](https://evil.example/y.png)](vbscript:z)",
    "<https://evil.example/'onmouseover=alert(6)> [e](https://evil.example/\"onclick=alert(7))",
    "[i](JaVaScRiPt:alert(10)) [j](java\tscript:alert(11))",
    "&#106;avascript:alert(12) [k](&#106;avascript:alert(13))",
    "[l](?q=x) [m](#main) [n](\\evil) <javascript:alert(14)> <svg/onload=alert(15)>",
    '[o](<https://evil.example/" onclick="x>) [p](https://evil.example "x\\" onclick=\\"alert(16)")',
    "```<script>\n</code></pre><script>alert(8)</script>\n```\n| <b> | `</pre><script>` |\n|-|-|\n| x | y |",
]


LONG = "words without an end " * 5000
PATHS = [f"{filled(action.path)}?q=eagle&name=plans&session=plans&seq=1" for action in TO_READ]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server, with what nobody should write in ann's memory, and what is too long in bob's."""
    messages = [
        {"content": "The eagle lands.", "session": "plans"},
        *({"content": words, "session": words, "metadata": {"title": words}} for words in HOSTILE),
    ]
    with doors(tmp_path_factory.mktemp("page-wall")) as served:
        assert served.rest("ann", "POST", "messages", {"messages": messages}).status_code == 201
        served.rest("ann", "POST", "maintain", {"views": ["topics", "hierarchy", "notes"]})
        served.rest("bob", "POST", "messages", {"messages": [{"content": LONG, "session": "l"}]})
        yield served


class Tags(HTMLParser):
    """The tags of a page with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_what_people_wrote_is_never_markup(served):
    """No tag, attribute, template or address of a message, a title, a session or a question is in any page.

    A message's Markdown may link to elsewhere; nothing is loaded from there, and no link is a path of ours.
    """
    seqs = range(2, 2 + len(HOSTILE))
    for path in (
        *PATHS,
        *(f"/message/{seq}" for seq in seqs),
        "/?q=alert",
        "/sessions",
        *(f"/forget?seq={seq}" for seq in seqs),
    ):
        page = served.clients["ann"].get(path).text
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
        page = served.clients["ann"].get("/", params={"q": hostile}).text
        assert not [tag for tag, attributes in Tags(page).tags if "autofocus" in attributes and tag == "mark"]
        assert served.clients["ann"].get("/session", params={"name": hostile}).status_code == 200


def test_the_browser_is_told_to_run_nothing_else(served):
    """No script, style, frame or address but ours; nothing inline that would need more; nothing is kept."""
    for path in (*PATHS, "/sign-in", "/message/99"):
        answer = served.clients["ann"].get(path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        tags = " ".join(re.findall(r"<[^>]*>", re.sub(r'"[^"]*"', '""', answer.text)))
        assert not re.search(r"<script(?![^>]*\ssrc=)|<style|\sstyle=|\son[a-z]+=", tags), path
        assert not re.search(r'(?:src|action)="(?!/|#)', answer.text), path


def test_a_long_message_is_cut_and_its_text_is_whole(served):
    """However long it is, the page is short; what is left out is a click away, as plain text."""
    for path in ("/message/1", "/session?name=l", "/?q=say", "/sessions", "/profile", "/timeline"):
        assert len(served.clients["bob"].get(path).text) < 40_000, path
    whole = served.clients["bob"].get("/message/1/text")
    assert whole.text == LONG
    assert whole.headers["content-type"] == "text/plain; charset=utf-8"
