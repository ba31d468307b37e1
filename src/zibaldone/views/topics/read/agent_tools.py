r"""The five tools of section 3.4 over one state of a user's topic documents, for our agent and for others'.

    tools = memory.user(name).topics.tools()
    tools.schemas()                                  # for the `tools` of a chat request
    tools.call("grep", {"pattern": r"\bMoss\b"})      # the answer as text, whatever goes wrong

Every tool is bounded in time and in what it gives back; none changes anything. Lines are those of a
document's body as it is printed, counted from 1.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zibaldone.core.validation import shown, words
from zibaldone.errors import InvalidInput
from zibaldone.text.words import terms
from zibaldone.views.topics.read.index import DocumentIndex, ReadingIndex, best_blocks, bm25

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
    """Base of tool arguments: no others are accepted; the docstring is what the model is told."""

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
    """One tool in the form of the `tools` of an OpenAI request."""
    schema = arguments.model_json_schema()
    description = schema.pop("description", "")
    schema.pop("title", None)
    for argument in schema["properties"].values():
        argument.pop("title", None)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


LONGEST_ANSWER = 12_000  # characters of one call's answer
LONGEST_SUMMARY = 200
LONGEST_LINE = 500  # characters; what is longer is cut
_SECONDS = 0.5  # for all that one pattern is matched against
_MOST_IN_DOCUMENT = 60  # lines that one grep_doc gives back
_SNIPPET = 3  # entries of a block that search shows
_MOST_TERMS = 64


@dataclass(slots=True)
class ToolAnswer:
    """A tool's answer as a model is shown it, and what of the documents it shows."""

    parts: list[str] = field(default_factory=list)
    lines: list[tuple[str, set[int]]] = field(default_factory=list)  # (document, numbers of its lines)
    where: str = ""  # the heading under which lines were shown last

    @property
    def text(self) -> str:
        """At most LONGEST_ANSWER characters."""
        text = "\n".join(self.parts)
        if len(text) > LONGEST_ANSWER:
            cut = text.rfind("\n", 0, LONGEST_ANSWER - 100)
            text = f"{text[:cut]}\n(cut here: ask for less, or read on with read_lines)"
        return text

    def show(
        self,
        index: DocumentIndex,
        numbers: Sequence[int],
        start: int,
        matched: set[int] | None = None,
        of: str = "",
    ) -> None:
        """Add lines of a document, below its id and the heading above `start`; `of` says more of them."""
        path = next((one.section.path for one in index.regions if one.start <= start <= one.end), ())
        rows = []
        for number in numbers:
            mark = ":" if matched is None or number in matched else "-"
            rows.append(f"{number}{mark} {_cut(index.lines[number - 1], LONGEST_LINE)}")
        where = f"[{index.document.id}]{' ' if path else ''}{' > '.join(path)}{of}"
        self.parts += [*([where] if where != self.where else []), *rows]
        self.where = where
        self.lines.append((index.document.id, set(numbers)))


def shortened(summary: str) -> str:
    return _cut(summary, LONGEST_SUMMARY)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Toolset:
    """`grep`, `grep_doc`, `search`, `list_docs` and `read_lines`, called by their names."""

    def __init__(self, index: ReadingIndex) -> None:
        self._documents: Mapping[str, DocumentIndex] = dict(index.documents)  # of this state: it stays so

    def schemas(self) -> list[dict[str, Any]]:
        """The tools as a chat request names them (OpenAI's `tools`)."""
        return [described(name, arguments) for name, arguments in TOOLS.items()]

    def call(self, name: str, arguments: Mapping[str, Any] | str | None) -> str:
        """A tool's answer as text; errors too are text that a model can act on. Never raises.

        The arguments may be an object or its JSON, as chat models give them.
        """
        try:
            return self.invoke(name, arguments).text
        except InvalidInput as error:
            return f"error: {error}"

    def invoke(self, name: str, arguments: Mapping[str, Any] | str | None) -> ToolAnswer:
        """Call a tool by its name. Raises InvalidInput on anything wrong with the call."""
        match _validated(name, arguments):
            case Grep() as given:
                return _grepped(self._documents.values(), given.pattern, given.limit, given.context_lines)
            case GrepDoc() as given:
                held = [self._document(given.doc_id)]
                return _grepped(held, given.pattern, _MOST_IN_DOCUMENT, given.context_lines)
            case Search() as given:
                return self._search(given)
            case ListDocs() as given:
                return self._listed(given)
            case ReadLines() as given:
                return self._read(given)
        raise AssertionError(name)

    def _search(self, given: Search) -> ToolAnswer:
        """The heading blocks with the best BM25 score, best first, by their best entries."""
        held = list(self._documents.values())
        sought = dict.fromkeys(terms(given.query)[:_MOST_TERMS], 1.0)
        if not sought:
            raise InvalidInput(
                f"the query {shown(given.query)} has no word to search for; give content words"
            )
        of_entries = dict(zip(self._documents, bm25([one.entries for one in held], sought), strict=True))
        answer = ToolAnswer()
        for index, number, score in best_blocks(held, sought):
            region, scores = index.regions[number], of_entries[index.document.id]
            rows = [row for row, place in enumerate(index.places) if place.partition == number]
            rows.sort(key=lambda row: (not index.places[row].entry.current, -scores[row], row))
            lines = sorted(index.places[row].start for row in rows[:_SNIPPET])
            if not lines:  # a title with nothing directly below it
                continue
            of = f", lines {region.start} to {region.end}, score {score:.1f}"
            answer.show(index, lines, region.start, of=of)
            if len(answer.lines) == given.limit:
                break
        return answer if answer.parts else ToolAnswer(["nothing has these words"])

    def _listed(self, given: ListDocs) -> ToolAnswer:
        """Documents in the order of their ids, CURRENT last."""
        held, total = list(self._documents.values())[given.offset :][: given.limit], len(self._documents)
        parts = [f"documents {given.offset + 1} to {given.offset + len(held)} of {total}"]
        parts = parts if held else [f"no more: there are {total} documents"]
        for index in held:
            summary = shortened(index.document.summary or index.document.title)
            parts.append(f"{index.document.id} ({len(index.lines)} lines): {summary}")
        return ToolAnswer(parts)

    def _read(self, given: ReadLines) -> ToolAnswer:
        """Lines of one document, both ends included; at most 100."""
        index = self._document(given.doc_id)
        start, count = given.start_line, len(index.lines)
        if start > given.end_line:
            raise InvalidInput(
                f"lines {start} to {given.end_line} are no range: count from 1, and give the smaller first"
            )
        if start > count:
            raise InvalidInput(
                f"document {given.doc_id!r} has {count} lines: start_line {start} is behind them"
            )
        answer = ToolAnswer()
        answer.show(index, range(start, min(given.end_line, start + MOST_LINES - 1, count) + 1), start)
        return answer

    def document(self, doc_id: str) -> DocumentIndex | None:
        """The document, as it was when the tools were made; None if there is none."""
        return self._documents.get(words("doc_id", doc_id))

    def _document(self, doc_id: str) -> DocumentIndex:
        document = self.document(doc_id)
        if document is None:
            known = ", ".join(list(self._documents)[:5])
            raise InvalidInput(f"there is no document {shown(doc_id)}; list_docs names them, such as {known}")
        return document


def _validated(name: str, arguments: Mapping[str, Any] | str | None) -> Arguments:
    kind = TOOLS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InvalidInput(f"there is no tool {shown(name)}; there are {', '.join(TOOLS)}")
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the arguments of {name} are not JSON: {error}") from error
    return validated(name, kind, {} if arguments is None else arguments)


def validated(name: str, kind: type[Arguments], given: object) -> Arguments:
    """The arguments of a tool. Raises InvalidInput that says what is wrong with them."""
    try:
        return kind.model_validate(given)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors()[:5]
        )
        wanted = ", ".join(kind.model_fields) or "none"
        raise InvalidInput(f"{name} cannot be called so ({faults}); its arguments are {wanted}") from error


def _grepped(documents: Iterable[DocumentIndex], pattern: str, limit: int, around: int) -> ToolAnswer:
    """Lines that match, with those around them; overlapping ones are shown together."""
    answer, left, until = ToolAnswer(), limit, time.monotonic() + _SECONDS
    try:
        matcher = regex.compile(pattern, regex.IGNORECASE)
        for index in documents:
            numbers: list[int] = []
            for number, line in enumerate(index.lines, 1):
                seconds = until - time.monotonic()
                if seconds <= 0:
                    raise TimeoutError
                if line and len(numbers) < left and matcher.search(line, timeout=seconds):
                    numbers.append(number)
            runs: list[list[int]] = []
            for number in numbers:
                low, high = max(1, number - around), min(len(index.lines), number + around)
                if runs and low <= runs[-1][1] + 1:
                    runs[-1][1] = high
                else:
                    runs.append([low, high])
            for low, high in runs:
                answer.show(index, range(low, high + 1), low, set(numbers))
            left -= len(numbers)
            if not left:
                answer.parts.append(f"(only the first {limit} are shown)")
                return answer
    except TimeoutError:
        answer.parts = answer.parts or ["no line matches"]
        answer.parts.append("(the time for this pattern is up; make it simpler)")
    except (regex.error, ValueError, OverflowError) as error:
        raise InvalidInput(f"{shown(pattern)} is no regular expression: {error}") from error
    except (MemoryError, RecursionError) as error:
        raise InvalidInput(f"the pattern {shown(pattern)} takes too much memory; make it simpler") from error
    answer.parts = answer.parts or ["no line matches"]
    return answer
