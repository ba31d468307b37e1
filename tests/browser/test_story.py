"""The page in a real browser: from an empty folder to a forgotten message, whatever the messages say."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from faulty_models import Latch
from server.loopback import servers
from server.upstream import shared_upstream, upstream
from zibaldone.testing import ScriptedModel

__all__ = ["shared_upstream", "upstream"]

pytestmark = [
    pytest.mark.enable_socket,
    pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]),
]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 860}
FAULTS = "options => axe.run(options).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
COLOURS = {"runOnly": ["color-contrast"]}  # what another scheme can change
WAIT_MS = 60_000  # for what takes a moment, on a busy machine
HOSTILE = [
    "<script>window.hurt = 1</script><img src=x onerror='window.hurt = 2'>",
    '" autofocus onfocus="window.hurt = 3" hx-on:load="window.hurt = 4" x="',
    "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd " * 20,
    "An endless word: " + "w" * 20_000,
    "![x](https://evil.example/x.png) [y](javascript:window.hurt=5) ```<script>window.hurt = 6</script>",
    "| a | b |\n|---|---|\n| "
    + "wide " * 60
    + " | `"
    + "w" * 300
    + "` |\n\n```\n"
    + "w" * 300
    + "\n```\n# big",
    "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. " * 3,
]
TALK = [
    "My sister Ruth moved to Lisbon in May.",
    "I prefer short answers.",
    "My dog is called Rex, and he is three years old.",
    "We booked the ferry to Tangier for the tenth of June.",
    "The code of the bicycle lock is 4711.",
]
PATHS = (
    "/", "/?q=Ruth", "/sessions", "/session?name=talk-0", "/session?name=hostile", "/message/1", "/timeline",
    "/profile", "/live", "/recall?q=Ruth", "/topics", "/topics/CURRENT", "/topics/CURRENT/edit", "/themes",
    "/forget", "/forget?seq=1", "/import", "/usage", "/users",
)  # fmt: skip


def export(folder: Path, *more: str) -> Path:
    """A file as somebody would drop it: talks with titles, and what nobody should write."""
    lines = [
        {
            "content": words,
            "session": f"talk-{day % 3}",
            "time": f"2024-05-{day + 1:02d}T10:00:00Z",
            "metadata": {"title": f"Talk {day % 3} of May"},
        }
        for day, words in enumerate(TALK * 3)
    ]
    lines += [
        {
            "content": words,
            "session": "hostile",
            "name": " ".join(words[:60].split()),
            "metadata": {"title": words[:500]},
        }
        for words in (*HOSTILE, *more)
    ]
    path = folder / "talks.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server of an empty folder, with a model that is good at answers alone."""
    model = ScriptedModel(lambda request: {"answer": "To **Lisbon**.", "sources": [1]})
    with servers(tmp_path_factory.mktemp("story")) as serving:
        yield serving(chat=model)


@pytest.fixture
def new_page(chromium):
    """Opens a page that fails the test when anything is refused by its policy, or any script fails."""

    @contextmanager
    def new_page(address):
        context = chromium.new_context(viewport=DESK, base_url=address)
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
        page.on(
            "request",
            lambda sent: None if sent.url.startswith(address) else faults.append(f"asks {sent.url}"),
        )
        page.on(
            "response",
            lambda sent: faults.append(f"{sent.status} {sent.url}") if sent.status >= 400 else None,
        )
        yield page
        context.close()
        assert faults == []

    return new_page


def test_from_an_empty_folder_to_a_forgotten_message(new_page, tmp_path):
    """Import, search as one types, recall, read, pin, look, forget: as people do, by mouse and keyboard."""
    with servers(tmp_path / "memory") as serving, new_page(serving()) as page:
        story(page, tmp_path)


def story(page, tmp_path):
    """The steps, each waited for."""
    page.goto("/")
    page.get_by_role("link", name="Import a file").click()
    page.set_input_files("input[type=file]", export(tmp_path, "w" * 500_000))
    page.get_by_role("button", name=re.compile("Import into")).click()
    page.get_by_text("23 messages added").wait_for()
    page.get_by_role("link", name="See the sessions").click()
    page.get_by_text("Talk 1 of May").wait_for()

    page.goto("/")
    page.locator("#q").press_sequentially("where did Ruth move", delay=20)
    page.locator("#results mark", has_text="moved").first.wait_for()
    page.get_by_role("link", name="What an assistant would be shown of this").click()
    page.locator("#recall .recalled", has_text="moved to Lisbon").wait_for()
    assert "q=where+did+Ruth+move" in page.url
    page.get_by_text("Narrow it down").click()
    page.get_by_label("Said by").select_option("the assistant")
    page.get_by_text("Nothing matches.").wait_for()
    assert "role=assistant" in page.url
    page.get_by_label("Said by").select_option("anybody")
    page.locator("#results mark", has_text="moved").first.wait_for()
    page.locator("#q").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="Talk").wait_for()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"

    page.get_by_role("link", name="Notes", exact=True).click()
    page.get_by_role("button", name=re.compile("^Pin: I prefer short answers")).first.click()
    page.locator(".tag", has_text="pinned").first.wait_for()
    page.get_by_label("A new note").fill("I keep bees.")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Delete: I keep bees.").click()
    page.get_by_text("Deleted: 1 note").click()
    page.get_by_role("button", name="Put back: I keep bees.").click()
    page.get_by_role("button", name="Delete: I keep bees.").wait_for()

    page.goto("/?q=bicycle+lock")
    page.locator("#results .sources a").first.click()
    page.get_by_role("link", name="Forget this message").click()
    page.get_by_role("heading", name="Forget 1 message?").wait_for()
    page.get_by_role("button", name="Forget for good").click()
    page.get_by_role("heading", name="1 message forgotten").wait_for()
    assert "No file of the memory has the text any more." in page.inner_text("main")

    page.goto("/session?name=hostile")
    page.locator(".talk li").nth(len(HOSTILE)).wait_for()
    assert page.evaluate("window.hurt") is None
    page.get_by_role("link", name=re.compile("All 500,000 characters")).click()
    assert "w" * 1000 in page.inner_text("body")


@pytest.fixture
def full(new_page, address, tmp_path):
    """The page of a memory in which every part has something, whichever test comes first."""
    with new_page(address) as page:
        fill(page, tmp_path)
        yield page


def fill(page, tmp_path):
    """Import, and make topics."""
    page.goto("/import")
    page.set_input_files("input[type=file]", export(tmp_path))
    page.get_by_role("button", name=re.compile("Import into")).click()
    page.locator("h1", has_text="added").wait_for()
    page.goto("/topics")
    page.locator("button[name=view]").click()
    page.locator("h1", has_text="read").wait_for()


def test_the_answer_comes_after_the_passages(new_page, tmp_path):
    """A model that takes its time holds nothing up; its answer then stands above them, with its sources."""
    latch = Latch()

    def answer(request):
        latch.enter()
        shown = json.loads(request.turns[-1].content)
        return {
            "answer": "She moved to **Lisbon**.",
            "sources": [unit["seq"] for unit in shown.get("evidence", [])[:1]],
        }

    with servers(tmp_path / "memory") as serving, new_page(serving(chat=ScriptedModel(answer))) as page:
        fill(page, tmp_path)
        latch.shut()
        page.goto("/")
        page.locator("#q").fill("Where did Ruth move?")
        page.keyboard.press("Enter")
        page.locator("#results .passages mark", has_text="move").first.wait_for()
        page.get_by_text("Looking into memory").wait_for()
        latch.open()
        page.locator(".answer strong", has_text="Lisbon").wait_for()
        assert page.locator(".answer .passages .where").count() == 1


def test_the_live_view_follows_the_gateway(new_page, tmp_path, upstream):
    """A request that comes while one looks is there a moment later."""
    with servers(tmp_path / "memory") as serving, new_page(address := serving(upstream=upstream.url)) as page:
        page.goto("/live?user=me")
        page.get_by_text("No request has come yet.").wait_for()
        body = {"model": "m", "messages": [{"role": "user", "content": "I keep bees."}], "user": "me"}
        httpx2.post(f"{address}/v1/chat/completions", json=body, timeout=60)
        page.locator("#live .words", has_text="I keep bees.").first.wait_for()


def test_keys_alone_lead_through(full):
    """The first one skips the menu, each shows where it is, and "/" leads to the search."""
    full.goto("/sessions")
    full.keyboard.press("Tab")
    assert full.evaluate("document.activeElement.className") == "skip"
    full.keyboard.press("Tab")
    assert full.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    full.keyboard.press("/")
    assert full.evaluate("document.activeElement.type") == "search"


def test_it_is_read_by_all(full):
    """No page is wider than a phone, has a fault that axe finds in light or dark, or runs hostile words."""
    axe = os.environ.get("AXE")
    script = Path(axe).read_text() if axe else ""
    for scheme, size in (("light", DESK), ("dark", DESK), ("light", PHONE)):
        full.emulate_media(color_scheme=scheme)
        full.set_viewport_size(size)
        for path in PATHS:
            full.goto(path)
            assert full.evaluate("document.documentElement.scrollWidth") <= size["width"], (path, size)
            assert full.evaluate("window.hurt") is None, path
            if script and size is DESK:
                full.evaluate(script)
                assert full.evaluate(FAULTS, {} if scheme == "light" else COLOURS) == [], (path, scheme)


def test_it_is_read_without_scripts(chromium, address, full):
    """All of it: a search is a form, a page of a list is a link."""
    context = chromium.new_context(java_script_enabled=False, base_url=address)
    plain = context.new_page()
    plain.goto("/")
    plain.fill("#q", "Ruth")
    plain.get_by_role("button", name="Ask").click()
    assert "moved to Lisbon" in plain.inner_text("#results")
    plain.get_by_role("button", name="Answer this from memory").click()
    plain.locator(".answer", has_text="To Lisbon.").wait_for()  # it is streamed
    plain.go_back()
    plain.get_by_role("link", name="What an assistant would be shown of this").click()
    assert "moved to Lisbon" in plain.inner_text(".recalled")
    for path in PATHS:
        assert plain.goto(path).ok, path
    context.close()
