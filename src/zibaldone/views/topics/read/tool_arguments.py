"""The arguments of the five tools, as functions are described to a model, and what the tools give back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MOST_HITS = 30
MOST_CONTEXT = 5
MOST_LINES = 100
MOST_LISTED = 50
LONGEST_PATTERN = 200  # characters
LONGEST_QUERY = 1000

DocId = Annotated[str, Field(description="id of a document, as in the catalogue; CURRENT is one too")]
Pattern = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_PATTERN,
        description="regular expression; upper and lower case are the same",
    ),
]
Context = Annotated[
    int, Field(ge=0, le=MOST_CONTEXT, description="lines shown before and after each line that matches")
]
HitLimit = Annotated[int, Field(ge=1, le=MOST_HITS, description="most results")]


class Arguments(BaseModel):
    """No argument beside those that a tool has; its text is what the tool does."""

    model_config = ConfigDict(extra="forbid")


class Grep(Arguments):
    """Find lines in all documents that match a regular expression."""

    pattern: Pattern
    limit: HitLimit = MOST_HITS
    context_lines: Context = 0


class GrepDoc(Arguments):
    """Find lines of one document that match a regular expression."""

    doc_id: DocId
    pattern: Pattern
    context_lines: Context = 2


class Search(Arguments):
    """Find the parts of all documents that fit some words best (BM25 over their headings' blocks)."""

    query: Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY, description="words to look for")]
    limit: HitLimit = 8


class ListDocs(Arguments):
    """List documents with their summaries, page by page."""

    offset: Annotated[int, Field(ge=0, description="how many documents to skip")] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description="most documents")] = 20


class ReadLines(Arguments):
    """Read a range of lines of one document."""

    doc_id: DocId
    start_line: Annotated[int, Field(ge=1, description="first line, counted from 1")]
    end_line: Annotated[int, Field(ge=1, description=f"last line; at most {MOST_LINES} lines are read")]


TOOLS: Mapping[str, type[Arguments]] = {
    "grep": Grep,
    "grep_doc": GrepDoc,
    "search": Search,
    "list_docs": ListDocs,
    "read_lines": ReadLines,
}


def described(name: str, arguments: type[Arguments]) -> dict[str, Any]:
    """One tool as the `tools` of an OpenAI request want it."""
    schema = arguments.model_json_schema()
    description = schema.pop("description", "")
    schema.pop("title", None)
    for field in schema["properties"].values():
        field.pop("title", None)
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": schema},
    }


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """One line of a document's body."""

    number: int  # from 1
    text: str  # cut where it is very long
    matched: bool = True  # False: shown for its context


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines that stand one behind the other."""

    doc_id: str
    heading: tuple[str, ...]  # above the first line, from the topmost down
    lines: tuple[DocumentLine, ...]


@dataclass(frozen=True, slots=True)
class Grepped:
    """What a pattern matched."""

    excerpts: tuple[Excerpt, ...]
    matches: int  # lines shown that match
    complete: bool  # False: there may be more; the limit or the time was up
    note: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A heading's block."""

    doc_id: str
    heading: tuple[str, ...]
    start_line: int
    end_line: int
    score: float
    lines: tuple[DocumentLine, ...]  # of the entries that fit best


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document, from outside."""

    doc_id: str
    title: str
    summary: str
    lines: int


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the catalogue."""

    documents: tuple[ListedDocument, ...]
    offset: int
    total: int
