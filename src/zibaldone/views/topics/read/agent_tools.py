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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import regex
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zibaldone.core.validation import shown, whole, words
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
    for field in schema["properties"].values():
        field.pop("title", None)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


@dataclass(frozen=True, slots=True)
class DocumentLine:
    """One line of a document's body."""

    number: int  # from 1
    text: str  # cut where it is very long
    matched: bool = True  # False: shown for its context


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive lines of a document."""

    doc_id: str
    heading: tuple[str, ...]  # above the first line, from the topmost down
    lines: tuple[DocumentLine, ...]


@dataclass(frozen=True, slots=True)
class Grepped:
    """Lines that a pattern matched."""

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
    """A document in the catalogue."""

    doc_id: str
    title: str
    summary: str
    lines: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the catalogue."""

    documents: tuple[ListedDocument, ...]
    offset: int
    total: int


ToolAnswer = Grepped | Page | Excerpt | tuple[Hit, ...]

LONGEST_ANSWER = 12_000  # characters of one call's answer
LONGEST_SUMMARY = 200


def answer_text(answer: ToolAnswer) -> str:
    """Render a tool's answer for a model, at most LONGEST_ANSWER characters."""
    match answer:
        case Grepped():
            parts = [_excerpt(shown) for shown in answer.excerpts] or ["no line matches"]
            parts += [f"({answer.note})"] if answer.note else []
        case Page():
            parts = [
                f"documents {answer.offset + 1} to {answer.offset + len(answer.documents)} of {answer.total}"
            ]
            parts = parts if answer.documents else [f"no more: there are {answer.total} documents"]
            parts += [
                f"{shown.doc_id} ({shown.lines} lines): {shortened(shown.summary or shown.title)}"
                for shown in answer.documents
            ]
        case Excerpt():
            parts = [_excerpt(answer)]
        case _:
            parts = [_hit_text(shown) for shown in answer] or ["nothing has these words"]
    text = "\n".join(parts)
    if len(text) > LONGEST_ANSWER:
        cut = text.rfind("\n", 0, LONGEST_ANSWER - 100)
        text = f"{text[:cut]}\n(cut here: ask for less, or read on with read_lines)"
    return text


def shortened(summary: str) -> str:
    return summary if len(summary) <= LONGEST_SUMMARY else f"{summary[: LONGEST_SUMMARY - 1]}…"


def _excerpt(excerpt: Excerpt) -> str:
    return f"{_where(excerpt.doc_id, excerpt.heading)}\n{_lines(excerpt.lines)}"


def _hit_text(hit: Hit) -> str:
    where = f"{_where(hit.doc_id, hit.heading)}, lines {hit.start_line} to {hit.end_line}"
    return f"{where}, score {hit.score:.1f}\n{_lines(hit.lines)}"


def _where(doc_id: str, heading: Sequence[str]) -> str:
    return f"[{doc_id}]{' ' if heading else ''}{' > '.join(heading)}"


def _lines(lines: Sequence[DocumentLine]) -> str:
    return "\n".join(f"{line.number}{':' if line.matched else '-'} {line.text}" for line in lines)


LONGEST_LINE = 500  # characters; what is longer is cut
_SECONDS = 0.5  # for all that one pattern is matched against
_MOST_IN_DOCUMENT = 60  # lines that one grep_doc gives back
_SNIPPET = 3  # entries of a block that search shows
_MOST_TERMS = 64


class Toolset:
    """`grep`, `grep_doc`, `search`, `list_docs` and `read_lines`: typed, or by name with `call`.

    The methods raise InvalidInput on arguments that make no sense.
    """

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
            return answer_text(self.invoke(name, arguments))
        except InvalidInput as error:
            return f"error: {error}"

    def invoke(self, name: str, arguments: Mapping[str, Any] | str | None) -> ToolAnswer:
        """Call a tool by its name. Raises InvalidInput on anything wrong with the call."""
        given = _validated(name, arguments)
        answer: ToolAnswer = getattr(self, name)(**given.model_dump())
        return answer

    def grep(self, pattern: str, limit: int = MOST_HITS, context_lines: int = 0) -> Grepped:
        return _grepped(
            self._documents.values(), pattern, min(whole("limit", limit), MOST_HITS), context_lines
        )

    def grep_doc(self, doc_id: str, pattern: str, context_lines: int = 2) -> Grepped:
        return _grepped([self._document(doc_id)], pattern, _MOST_IN_DOCUMENT, context_lines)

    def search(self, query: str, limit: int = 8) -> tuple[Hit, ...]:
        """The heading blocks with the best BM25 score, best first; () if none has any of the words."""
        held = list(self._documents.values())
        sought = dict.fromkeys(terms(words("query", query))[:_MOST_TERMS], 1.0)
        if not sought:
            raise InvalidInput(f"the query {shown(query)} has no word to search for; give content words")
        entries = dict(zip(self._documents, bm25([one.entries for one in held], sought), strict=True))
        most = min(max(whole("limit", limit), 1), MOST_HITS)
        return tuple(
            _hit(index, number, score, entries[index.document.id])
            for index, number, score in best_blocks(held, sought)[:most]
        )

    def list_docs(self, offset: int = 0, limit: int = 20) -> Page:
        """Documents in the order of their ids, CURRENT last."""
        offset, limit = whole("offset", offset), whole("limit", limit)
        held = list(self._documents.values())
        shown_ones = held[max(offset, 0) :][: min(max(limit, 1), MOST_LISTED)]
        listed = (
            ListedDocument(
                indexed.document.id, indexed.document.title, indexed.document.summary, len(indexed.lines)
            )
            for indexed in shown_ones
        )
        return Page(tuple(listed), max(offset, 0), len(held))

    def read_lines(self, doc_id: str, start_line: int, end_line: int) -> Excerpt:
        """Lines of one document, both ends included; at most 100."""
        index = self._document(doc_id)
        count = len(index.lines)
        start_line, end_line = whole("start_line", start_line), whole("end_line", end_line)
        if not 1 <= start_line <= end_line:
            raise InvalidInput(
                f"lines {start_line} to {end_line} are no range: count from 1, and give the smaller first"
            )
        if start_line > count:
            raise InvalidInput(
                f"document {doc_id!r} has {count} lines: start_line {start_line} is behind them"
            )
        last = min(end_line, start_line + MOST_LINES - 1, count)
        return Excerpt(
            doc_id,
            _heading(index, start_line),
            tuple(_line(index, number) for number in range(start_line, last + 1)),
        )

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
        return kind.model_validate({} if arguments is None else arguments)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors()[:5]
        )
        wanted = ", ".join(kind.model_fields)
        raise InvalidInput(f"{name} cannot be called so ({faults}); its arguments are {wanted}") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the arguments of {name} are not JSON: {error}") from error


def _grepped(documents: Iterable[DocumentIndex], pattern: str, limit: int, around: int) -> Grepped:
    matcher = _matcher(pattern)
    around = min(max(whole("context_lines", around), 0), MOST_CONTEXT)
    excerpts: list[Excerpt] = []
    matches, complete, note = 0, True, ""
    for index in documents:
        try:
            numbers = list(_matching(index, matcher, limit - matches))
        except TimeoutError:
            return Grepped(
                tuple(excerpts),
                matches,
                complete=False,
                note="the time for this pattern is up; make it simpler",
            )
        except (MemoryError, RecursionError) as error:
            raise InvalidInput(
                f"the pattern {shown(pattern)} takes too much memory; make it simpler"
            ) from error
        matches += len(numbers)
        excerpts += _excerpts(index, numbers, around)
        if matches >= limit:
            return Grepped(tuple(excerpts), matches, complete=False, note=f"only the first {limit} are shown")
    return Grepped(tuple(excerpts), matches, complete, note)


class _Matcher:
    """A pattern with a time limit for all its matching together."""

    def __init__(self, pattern: regex.Pattern[str]) -> None:
        self._pattern = pattern
        self._end = time.monotonic() + _SECONDS

    def __call__(self, line: str) -> bool:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return self._pattern.search(line, timeout=left) is not None


def _matcher(pattern: str) -> Callable[[str], bool]:
    if not words("pattern", pattern) or len(pattern) > LONGEST_PATTERN:
        raise InvalidInput(f"a pattern has 1 to {LONGEST_PATTERN} characters, not {len(pattern)}")
    try:
        return _Matcher(regex.compile(pattern, regex.IGNORECASE))
    except (regex.error, ValueError, OverflowError, RecursionError, MemoryError) as error:
        raise InvalidInput(f"{shown(pattern)} is no regular expression: {error}") from error


def _matching(index: DocumentIndex, matches: Callable[[str], bool], most: int) -> Iterator[int]:
    for number, line in enumerate(index.lines, 1):
        if most <= 0:
            return
        if line and matches(line):
            yield number
            most -= 1


def _excerpts(index: DocumentIndex, numbers: Sequence[int], around: int) -> Iterator[Excerpt]:
    """The matching lines with their context; overlapping ones joined."""
    matched = set(numbers)
    runs: list[list[int]] = []
    for number in numbers:
        low, high = max(1, number - around), min(len(index.lines), number + around)
        if runs and low <= runs[-1][1] + 1:
            runs[-1][1] = high
        else:
            runs.append([low, high])
    for low, high in runs:
        lines = (_line(index, number, matched=number in matched) for number in range(low, high + 1))
        yield Excerpt(index.document.id, _heading(index, low), tuple(lines))


def _hit(index: DocumentIndex, number: int, score: float, scores: Any) -> Hit:
    region = index.regions[number]
    rows = [row for row, place in enumerate(index.places) if place.partition == number]
    best = sorted(rows, key=lambda row: (not index.places[row].entry.current, -scores[row], row))[:_SNIPPET]
    lines = tuple(_line(index, index.places[row].start) for row in sorted(best))
    return Hit(index.document.id, region.section.path, region.start, region.end, score, lines)


def _heading(index: DocumentIndex, number: int) -> tuple[str, ...]:
    return next((one.section.path for one in index.regions if one.start <= number <= one.end), ())


def _line(index: DocumentIndex, number: int, *, matched: bool = True) -> DocumentLine:
    text = index.lines[number - 1]
    return DocumentLine(
        number, text if len(text) <= LONGEST_LINE else f"{text[: LONGEST_LINE - 1]}…", matched
    )
