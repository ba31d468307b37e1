r"""The five tools of §3.4 over one state of a user's topic documents, for our agent and for anybody's.

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
from typing import Any

import regex
from pydantic import ValidationError

from zibaldone.core.validation import shown, whole, words
from zibaldone.errors import InvalidInput
from zibaldone.text.words import terms
from zibaldone.views.topics.read.document_index import DocumentIndex, best_blocks, bm25
from zibaldone.views.topics.read.reading_index import ReadingIndex
from zibaldone.views.topics.read.tool_arguments import (
    LONGEST_PATTERN,
    MOST_CONTEXT,
    MOST_HITS,
    MOST_LINES,
    MOST_LISTED,
    TOOLS,
    Arguments,
    DocumentLine,
    Excerpt,
    Grepped,
    Hit,
    ListedDocument,
    Page,
    described,
)
from zibaldone.views.topics.read.tool_text import ToolAnswer, answer_text

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
        """A tool's answer as text; so is every error, in words that a model can act on. Never raises.

        The arguments may be an object or its JSON, as chat models give them.
        """
        try:
            return answer_text(self.invoke(name, arguments))
        except InvalidInput as error:
            return f"error: {error}"

    def invoke(self, name: str, arguments: Mapping[str, Any] | str | None) -> ToolAnswer:
        """What a tool gives back, by its name. Raises InvalidInput on anything wrong with the call."""
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
        """The heading blocks that fit the words best, best first; none that has none of them."""
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
        """Lines of one document, both ends included; no more than 100."""
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
        """The document, as it was when the tools were made."""
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
    """A pattern with a time limit that holds for all its matching together."""

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
    """The matching lines with those around them; what touches is one excerpt."""
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
