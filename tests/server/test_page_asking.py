"""The page's question box: each look, the answer, and the messages that it cites."""

import json
import re

import httpx2
import pytest

from zibaldone import ModelFailed
from zibaldone.testing import ScriptedModel

PIP = "I adopted a beagle called <b>Pip</b>."


def answering(request):
    """Looks once, then answers with the first message and with a tag."""
    shown = json.loads(request.turns[1].content)
    if "fail" in shown["question"]:
        raise ModelFailed("the model is down")
    if not shown["asked"]:
        return {"queries": [{"query": "<i>Pip</i>"}]}
    return {"answer": "<script>alert(1)</script> **Pip**", "sources": [1]}


@pytest.fixture
def browser(serving):
    """A browser of a server with a model, and a message of Ann's."""
    base = serving(chat=ScriptedModel(answering))
    with httpx2.Client(base_url=base, headers={"Origin": base}) as client:
        client.post("/v1/memory/messages?user=ann", json={"messages": [{"content": PIP}]})
        yield client


def ask(browser, question, **options):
    """The page that answers."""
    return browser.post("/ask?user=ann", data={"question": question}, **options)


def test_an_answer_links_to_the_messages_that_it_cites(browser):
    """With its Markdown, and what was looked for; nobody's words are markup."""
    page = ask(browser, "Who is my dog?").text
    assert "first look" in page
    assert "&lt;i&gt;Pip&lt;/i&gt;" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <strong>Pip</strong>" in page
    assert "<script>alert" not in page
    assert "&lt;b&gt;Pip&lt;/b&gt;" in page
    assert re.search(r'href="/message/1[?"]', page)
    assert page.count("<ol") == page.count("</ol>") == 2
    assert page.rstrip().endswith("</html>")


def test_search_does_not_wait_for_the_answer(browser):
    """The passages come at once, and a form that fetches the answer: at a click, while one types."""
    page = browser.get("/?q=Who+is+my+dog%3F&user=ann").text
    assert "&lt;b&gt;<mark>" not in page
    assert "beagle" in page
    form = re.search(r'<form action="/ask[^>]*hx-trigger="([^"]*)"', page)
    assert form[1] == "load, submit"
    assert "beagle" in ask(browser, "Who is my dog?", headers={"HX-Request": "true"}).text
    typing = browser.get("/?q=Who+is+my+dog%3F&user=ann", headers={"HX-Request": "true"}).text
    assert 'hx-trigger="submit"' in typing


def test_an_answer_is_narrowed_as_the_search_is(browser):
    """What a filter leaves out, or another has said, is shown to no model."""
    for query in ("user=ann&role=assistant", "user=bob"):
        assert "beagle" not in browser.post(f"/ask?{query}", data={"question": "My dog?"}).text


def test_nothing_is_asked_where_no_model_is(tmp_path, serving):
    """The search is there all the same."""
    with httpx2.Client(base_url=serving(tmp_path / "plain")) as plain:
        page = plain.get("/?q=dog").text
        assert "Nothing matches" in page
        assert "/ask" not in page


def test_a_failing_model_leaves_what_was_recalled(browser):
    """With what went wrong."""
    page = ask(browser, "Will it fail?").text
    assert "the model is down" in page
    assert "&lt;b&gt;Pip&lt;/b&gt;" in page
