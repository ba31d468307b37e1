"""The five tools over topic documents, for agents that make mistakes."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zibaldone import Document, Entry, Toolset
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.document import Heading, render_body
from zibaldone.views.topics.markdown.entry import When
from zibaldone.views.topics.read.agent_tools import LONGEST_ANSWER, LONGEST_LINE
from zibaldone.views.topics.read.index import ReadingIndex

PEOPLE = Document(
    "topic-0001",
    summary="Ann, employer, home; where Ann works and lives.",
    body=(
        Heading("Work"),
        Entry("Ann works for Acme.", first=1, superseded_by=(5,), time=When("2023-05-08")),
        Entry("Ann works for Globex.", first=5, supersedes=(1,), time=When("2023-06-01")),
        Heading("Home"),
        Entry("Ann lives in a small flat with two cats.", first=2),
    ),
)
FIRMS = Document(
    "topic-0002",
    summary="companies; where they have their headquarters.",
    body=(
        Heading("Companies"),
        Entry("The headquarters of Globex is in Lyon.", first=3),
        Entry("The headquarters of Acme is in Turin.", first=4),
        Heading("Cities"),
        Entry("Lyon lies where two rivers meet.", first=6),
    ),
)
GARDEN = Document(
    "topic-0003",
    summary="garden; what grows there.",
    body=(
        Heading("Garden"),
        *(
            Entry(f"Bed number {n} has {what}.", first=20 + n)
            for n, what in enumerate(("beans", "peas", "kale"))
        ),
    ),
)
CURRENT = Document("CURRENT", body=(Entry("The kettle is broken since Friday.", first=40),))


def toolset(*documents: Document) -> Toolset:
    """The tools over these documents and CURRENT."""
    return Toolset(ReadingIndex(Library({one.id: one for one in documents}, CURRENT)))


def facts(texts: Sequence[str]) -> Document:
    """A document with these entries, said one after the other."""
    entries = (Entry(text, first=n) for n, text in enumerate(texts, 1))
    return Document("topic-0001", body=(Heading("Facts"), *entries))


TOOLS = toolset(PEOPLE, FIRMS, GARDEN)
NAMES = ("grep", "grep_doc", "search", "list_docs", "read_lines")


@pytest.mark.parametrize(
    ("name", "arguments", "starts"),
    [
        ("grep", {"pattern": "globex|KETTLE"}, ["[topic-0001] Work", "[topic-0002] Companies", "[CURRENT]"]),
        ("grep", {"pattern": "beans|kale"}, ["[topic-0003] Garden"]),  # one heading for all its lines
        ("search", {"query": "headquarters Globex"}, ["[topic-0002] Companies, lines 1 to 4, score "]),
    ],
)
def test_what_is_found_stands_below_its_heading(name: str, arguments: Any, starts: list[str]) -> None:
    """With the document, the heading and the line of each, CURRENT among them; the best block first."""
    answer = TOOLS.call(name, arguments)
    headings = [line for line in answer.split("\n") if line.startswith("[")]
    assert all(line.startswith(start) for line, start in zip(headings, starts, strict=name == "grep"))
    assert "only the first" not in answer
    assert name == "grep" or "Lyon" in answer.partition("\n[")[0]


def test_line_numbers_are_those_of_the_printed_body() -> None:
    """Line n of a tool is line n of the printed document."""
    lines = [f"{n}: {line}" for n, line in enumerate(render_body(PEOPLE.body).split("\n"), 1)]
    whole = TOOLS.call("read_lines", {"doc_id": "topic-0001", "start_line": 1, "end_line": 99})
    assert whole.split("\n")[1:] == lines
    found = TOOLS.call("grep_doc", {"doc_id": "topic-0001", "pattern": "flat", "context_lines": 0})
    assert found.split("\n")[1] in lines


def test_grep_shows_lines_around_a_match() -> None:
    """Those that match are told from those that only stand beside them."""
    answer = TOOLS.call("grep_doc", {"doc_id": "topic-0002", "pattern": "Turin", "context_lines": 1})
    assert [line.partition(" ")[0][-1] for line in answer.split("\n")[1:]] == ["-", ":", "-"]


def test_grep_stops_at_its_limit_and_says_so() -> None:
    """So that a pattern that matches everything does not fill the context."""
    tools = toolset(facts([f"Fact number {n}." for n in range(100)]))
    answer = tools.call("grep", {"pattern": ".", "limit": 5})
    assert answer.count("Fact number") < 6
    assert answer.endswith("(only the first 5 are shown)")


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*a){20}b", r"((a{1,999}){1,999}){1,999}b"])
@pytest.mark.wide
def test_a_catastrophic_pattern_ends_in_time(pattern: str) -> None:
    """It comes back as a remark, not as a thread that hangs."""
    tools = toolset(facts(["a" * 5000 + "!"] * 50))
    start = time.process_time()
    answer = tools.call("grep", {"pattern": pattern})
    assert time.process_time() - start < 3
    assert "time" in answer or "matches" in answer or answer.startswith("error")


def test_search_shows_no_title_without_entries() -> None:
    """A title whose own block is empty fits the words best, and has nothing to show."""
    body = (Heading("Wharf"), Heading("Boats", level=2), Entry("A boat lies at the wharf.", first=1))
    answer = toolset(Document("topic-0001", body=body)).call("search", {"query": "wharf", "limit": 1})
    assert answer.startswith("[topic-0001] Wharf > Boats, lines ")
    assert "A boat lies at the wharf." in answer


def test_list_docs_pages_through_all_documents() -> None:
    """Every one once, CURRENT last."""
    pages = [TOOLS.call("list_docs", {"offset": offset, "limit": 1}) for offset in range(5)]
    ids = [page.split("\n")[1].partition(" ")[0] for page in pages[:4]]
    assert ids == ["topic-0001", "topic-0002", "topic-0003", "CURRENT"]
    assert pages[4] == "no more: there are 4 documents"


@pytest.mark.parametrize(
    ("name", "arguments", "hint"),
    [
        ("open_door", {}, "there are grep, grep_doc"),
        ("grep", {}, "pattern"),
        ("grep", {"pattern": "("}, "no regular expression"),
        ("grep", {"pattern": ""}, "pattern"),
        ("grep", {"pattern": "a" * 1000}, "200"),
        ("grep", {"pattern": "x", "doc": "topic-0001"}, "its arguments are pattern, limit"),
        ("grep", {"pattern": "x", "limit": 10**9}, "limit"),
        ("grep_doc", {"doc_id": "topic-9999", "pattern": "x"}, "topic-0001"),
        ("read_lines", {"doc_id": "topic-0001", "start_line": 5, "end_line": 2}, "the smaller first"),
        ("read_lines", {"doc_id": "topic-0001", "start_line": 500, "end_line": 600}, "has 8 lines"),
        ("read_lines", {"doc_id": "topic-0001", "start_line": "one", "end_line": 2}, "integer"),
        ("search", {"query": "the of"}, "content words"),
        ("list_docs", {"offset": -1}, "offset"),
        ("search", "not json", "not JSON"),
        ("search", [1], "valid dictionary"),
    ],
)
def test_every_error_is_a_text_that_says_what_to_do(name: str, arguments: Any, hint: str) -> None:
    """Nothing is raised at a model, and the text names the way out."""
    answer = TOOLS.call(name, arguments)
    assert answer.startswith("error: ")
    assert hint in answer


@given(
    st.sampled_from((*NAMES, "other")),
    st.one_of(
        st.none(),
        st.text(max_size=20),
        st.dictionaries(
            st.sampled_from(
                ("pattern", "limit", "context_lines", "doc_id", "query", "offset", "start_line", "end_line")
            ),
            st.one_of(st.integers(), st.text(max_size=12), st.just("topic-0001"), st.none(), st.booleans()),
        ),
    ),
)
def test_call_never_raises_and_is_never_long(name: str, arguments: Any) -> None:
    """Whatever a model thinks of."""
    assert 0 < len(TOOLS.call(name, arguments)) <= LONGEST_ANSWER + 1000


def test_huge_lines_and_answers_are_cut() -> None:
    """One line, and the whole answer."""
    tools = toolset(facts([f"word{n} " + "x" * 9000 for n in range(60)]))
    answer = tools.call("read_lines", {"doc_id": "topic-0001", "start_line": 1, "end_line": 100})
    assert len(answer) <= LONGEST_ANSWER
    assert max(map(len, answer.split("\n"))) < LONGEST_LINE + 20
    assert "cut here" in answer


def test_schemas_describe_every_tool_for_function_calling() -> None:
    """In OpenAI's form: names, what they do, and every argument described."""
    schemas = TOOLS.schemas()
    assert [one["function"]["name"] for one in schemas] == list(NAMES)
    for one in schemas:
        function = one["function"]
        assert one["type"] == "function"
        assert function["description"]
        assert function["parameters"]["type"] == "object"
        assert all("description" in argument for argument in function["parameters"]["properties"].values())
    json.dumps(schemas)
