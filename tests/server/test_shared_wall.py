"""Shared memories through REST, MCP and the command line: a grant opens what it names, and nothing else."""

import json
import re
from html import unescape

import pytest
from doors import ACTIONS, filled
from doors import doors as opened_doors

from zibaldone import Memory, NotGranted
from zibaldone.adapters.rest import RestMemory
from zibaldone.server.rest import OPERATIONS
from zibaldone.testing import ScriptedModel

TEAM = "team:design"
REVIEW = {"query": "When is the design review?", "min_confidence": 0}


def cites_all(request):
    """A model that cites whatever it was shown."""
    shown = json.loads(request.turns[1].content)["evidence"]
    return {"answer": "On Thursday.", "sources": [entry["seq"] for entry in shown]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for all tests here; each begins with the same messages and no grants."""
    with opened_doors(tmp_path_factory.mktemp("shared"), chat=ScriptedModel(cites_all)) as served:
        yield served


@pytest.fixture
def doors(served):
    """The server, as it was at first."""
    with Memory(served.home) as memory:
        for user in (*memory.users(), "cid"):
            memory.forget(user=user, everything=True)
        memory.add("I live in Lisbon.", user="ann", session="s")
        memory.add("The zeppelin is mine.", user="bob", session="s")
        memory.add([{"content": "The design review is on Thursday.", "id": "t1"}], user=TEAM, session="s")
    return served


def grant(doors, **more):
    """Ann may read the team's memory."""
    assert doors.rest("admin", "POST", "grants", {"scope": TEAM, **more}, user="ann").status_code == 200


def last_seq(doors):
    """Of the team's newest message."""
    return doors.rest("admin", "GET", "messages", user=TEAM).json()["messages"][-1]["seq"]


def test_recall_and_ask_have_what_is_granted(doors):
    """With the memory's name; without a grant, and for bob, not a word of it."""
    for who in ("ann", "bob"):
        assert "Thursday" not in doors.rest(who, "POST", "recall", REVIEW).text
    grant(doors)
    found = doors.rest("ann", "POST", "recall", REVIEW).json()
    assert f"[shared {TEAM}]" in found["text"]
    assert {(cited["scope"], cited["session"]) for cited in found["citations"]} == {("", "s"), (TEAM, "s")}
    assert "Thursday" not in doors.rest("ann", "POST", "recall", {**REVIEW, "shared": []}).text
    assert "Thursday" not in doors.rest("bob", "POST", "recall", REVIEW).text
    searched = {"query": REVIEW["query"]}
    scopes = {
        who: [found["scope"] for found in doors.rest(who, "POST", "search", searched).json()["passages"]]
        for who in ("ann", "bob")
    }
    assert scopes == {"ann": [TEAM, ""], "bob": [""]}
    assert "Lisbon" not in doors.rest("ann", "POST", "search", {**searched, "shared": [TEAM]}, user=TEAM).text
    answer = doors.rest("ann", "POST", "ask", {"question": REVIEW["query"]}).json()
    assert {cited["scope"] for cited in answer["citations"]} == {"", TEAM}
    assert doors.rest("admin", "DELETE", "grants", user="ann", scope=TEAM).status_code == 200
    assert "Thursday" not in doors.rest("ann", "POST", "recall", REVIEW).text
    assert doors.rest("ann", "POST", "recall", {**REVIEW, "shared": [TEAM]}).status_code == 403
    assert doors.rest("ann", "POST", "search", {**searched, "shared": [TEAM]}).status_code == 403


def test_the_page_shows_what_is_granted(doors):
    """In a search, a recall and an answer, named; its messages and their session can be read."""
    question = {"q": REVIEW["query"]}
    assert "Thursday" not in doors.page("ann", "/", **question)
    grant(doors)
    found = doors.page("ann", "/", **question)
    assert f"shared: <bdi>{TEAM}</bdi>" in found
    answer = doors.clients["ann"].post("/ask", data={"question": REVIEW["query"]})
    for page in (found, doors.page("ann", "/recall", **question), answer.text):
        assert "Thursday" in page
        links = {
            unescape(link) for link in re.findall(r'href="(/(?:message|session)[^"]*shared=[^"]+)"', page)
        }
        assert links
        for link in links:
            read = doors.page("ann", link.partition("#")[0])
            assert "Thursday" in read
            assert f"shared: <bdi>{TEAM}</bdi>" in read
            assert "/forget" not in read
            assert 'method="post" action="/message' not in read
    assert "Thursday" not in doors.page("ann", "/", **question, session="s")
    assert "Thursday" in doors.page("admin", "/", **question, user="ann")
    doors.rest("admin", "DELETE", "grants", user="ann", scope=TEAM)
    assert "Thursday" not in doors.page("ann", "/", **question)


def test_no_other_part_of_the_page_is_about_a_shared_memory(doors):
    """Nor any at all without a grant, in the same words as of a memory that is not there."""
    grant(doors, write=True)
    for action in ACTIONS:
        method = "POST" if action.posts else "GET"
        for who, scope in (("ann", TEAM), ("ann", "bob"), ("bob", TEAM), ("bob", "team:nobody")):
            answer = doors.clients[who].request(
                method, filled(action.path), params={"shared": scope, "name": "s", "seq": 1}
            )
            opened = action.shares and (who, scope) == ("ann", TEAM)
            assert (answer.status_code != 403) == opened, (who, scope, action.path)
            assert opened or "no memory of this name is shared with you" in answer.text
    assert [m["id"] for m in doors.rest("admin", "GET", "messages", user=TEAM).json()["messages"]] == ["t1"]


def test_the_rest_client_says_the_same(doors):
    """With the scopes, none of them where none is wanted, and why there is nothing."""
    address = str(doors.program.base_url)
    with RestMemory(address, key=doors.tokens["ann"]) as remote, Memory(doors.home) as here:
        grant(doors)
        for options in ({}, {"shared": ()}, {"shared": [TEAM]}):
            there, local = (m.recall(REVIEW["query"], user="ann", **options) for m in (remote, here))
            assert (there.text, there.citations) == (local.text, local.citations)
            there, local = (m.search(REVIEW["query"], user="ann", **options) for m in (remote, here))
            assert [unit.scope for unit in there] == [unit.scope for unit in local]
        with pytest.raises(NotGranted):
            remote.recall(REVIEW["query"], user="ann", shared=["bob"])
        doors.rest("ann", "POST", "forget", {"everything": True})
        there, local = (m.recall("anything", user="ann") for m in (remote, here))
        assert there.reason == local.reason == "there are no messages of user 'ann'"


def test_a_user_grants_nothing(doors):
    """Neither to themselves nor to others, nor takes anything back; they see their own grants alone."""
    grant(doors)
    for who in ("ann", "bob", "reader"):
        for query in ({}, {"user": who}, {"user": TEAM}):
            assert doors.rest(who, "POST", "grants", {"scope": "bob"}, **query).status_code == 403
            assert doors.rest(who, "DELETE", "grants", scope=TEAM, **query).status_code == 403
    assert doors.rest("bob", "GET", "grants").json() == {"grants": []}
    assert doors.rest("bob", "GET", "grants", scope=TEAM).json() == {"grants": []}
    (own,) = doors.rest("ann", "GET", "grants").json()["grants"]
    assert (own["scope"], own["user"], own["write"]) == (TEAM, "ann", False)
    assert doors.rest("bob", "GET", "grants", user="ann").status_code == 403


def test_in_a_shared_memory_a_reader_reads(doors):
    """Whatever reads one memory, and nothing that changes it or tells of others; bob gets nothing at all."""
    grant(doors)
    for operation in OPERATIONS:
        answers = {who: doors.example(operation, who, TEAM) for who in ("ann", "bob")}
        reads = operation.right == "read" and operation.whose == "user"
        assert (answers["ann"].status_code in (200, 404)) == reads, operation.name
        assert answers["bob"].status_code in (403, 422), operation.name
        assert "Thursday" not in answers["bob"].text
    assert (
        doors.rest("ann", "GET", "messages/t1", user=TEAM).json()["content"]
        == "The design review is on Thursday."
    )
    guessed = doors.rest("bob", "GET", "messages", user=TEAM).json()
    assert guessed == doors.rest("bob", "GET", "messages", user="team:nobody").json()


def test_a_writer_adds_and_takes_back_their_own(doors):
    """Under their name; what others wrote stays, and a key that may only read writes nowhere."""
    grant(doors, write=True)
    new = {"content": "Friday, rather.", "metadata": {"written_by": "bob"}}
    assert doors.rest("reader", "POST", "messages", {"messages": [new]}, user=TEAM).status_code == 403
    stored = doors.rest("ann", "POST", "messages", {"messages": [new]}, user=TEAM).json()["messages"][0]
    assert (stored["name"], stored["metadata"]["written_by"]) == ("ann", "ann")
    edit = {"role": "editor", "content": "Never.", "metadata": {"corrects": {"seqs": [1], "ids": ["t1"]}}}
    assert doors.rest("ann", "POST", "messages", {"messages": [edit]}, user=TEAM).status_code == 403
    for body in (
        {"everything": True},
        {"session": "s"},
        {"before": "2100-01-01"},
        {"seqs": [stored["seq"] - 1]},
        {"seqs": [stored["seq"]], "keep_texts": True},
    ):
        assert doors.rest("ann", "POST", "forget", body, user=TEAM).status_code == 403
    assert doors.rest("ann", "PATCH", "messages/t1", {"content": "x"}, user=TEAM).status_code == 403
    assert doors.rest("ann", "POST", "forget", {"seqs": [stored["seq"]]}, user=TEAM).json()["messages"] == 1
    assert [m["id"] for m in doors.rest("ann", "GET", "messages", user=TEAM).json()["messages"]] == ["t1"]
    assert len(doors.rest("ann", "GET", "messages").json()["messages"]) == 1


def test_grants_do_not_pass_on(doors):
    """In a shared memory one sees that memory, and not what is shared with it."""
    grant(doors)
    assert doors.rest("admin", "POST", "grants", {"scope": "bob"}, user=TEAM).status_code == 200
    asked = {"query": "zeppelin", "min_confidence": 0}
    assert "zeppelin is" in doors.rest("admin", "POST", "recall", asked, user=TEAM).text
    for query in ({}, {"user": TEAM}):
        assert "zeppelin is" not in doors.rest("ann", "POST", "recall", asked, **query).text
        assert "zeppelin is" not in doors.rest("ann", "POST", "ask", {"question": "zeppelin"}, **query).text
    assert "zeppelin is" not in doors.tool("ann", "recall", query="zeppelin", scope=TEAM)
    assert "may not read 'bob'" in doors.tool("ann", "recall", query="zeppelin", scope="bob")


def scoped_tools(doors):
    """Names of ann's tools that can be about a shared memory."""
    tools = doors.mcp("ann", "tools/list")["result"]["tools"]
    return {tool["name"] for tool in tools if "scope" in tool["inputSchema"]["properties"]}


def test_tools_name_a_shared_memory(doors):
    """Its argument is there where something is shared; a number is one's own unless it says otherwise."""
    assert scoped_tools(doors) == set()
    assert "may not read" in doors.tool("ann", "read_session", session="s", scope=TEAM)
    grant(doors)
    assert scoped_tools(doors) == {"recall", "sessions", "read_session", "notes", "remember"}
    assert f"[{TEAM}: s ·" in doors.tool("ann", "recall", query="When is the design review?")
    assert "Thursday" in doors.tool("ann", "read_session", around=last_seq(doors), scope=TEAM)
    assert "Thursday" not in doors.tool("ann", "read_session", session="s")
    assert "Thursday" in doors.tool("ann", "sessions", about="design review", scope=TEAM)
    assert "may not write" in doors.tool("ann", "remember", content="Friday.", scope=TEAM)
    grant(doors, write=True)
    assert doors.tool("ann", "remember", content="Friday.", scope=TEAM).startswith("Kept")
    assert "Friday" not in doors.tool("bob", "recall", query="When is the design review? Friday?")
    assert doors.rest("admin", "GET", "messages", user=TEAM).json()["messages"][-1]["name"] == "ann"
