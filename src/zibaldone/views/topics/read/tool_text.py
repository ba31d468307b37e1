"""What a tool gave back, as the text that a model reads."""

from __future__ import annotations

from collections.abc import Sequence

from zibaldone.views.topics.read.tool_arguments import DocumentLine, Excerpt, Grepped, Hit, Page

ToolAnswer = Grepped | Page | Excerpt | tuple[Hit, ...]

LONGEST_ANSWER = 12_000  # characters of one call's answer
LONGEST_SUMMARY = 200


def told(found: ToolAnswer) -> str:
    """As text, never longer than LONGEST_ANSWER."""
    match found:
        case Grepped():
            parts = [_excerpt(one) for one in found.excerpts] or ["no line matches"]
            parts += [f"({found.note})"] if found.note else []
        case Page():
            parts = [
                f"documents {found.offset + 1} to {found.offset + len(found.documents)} of {found.total}"
            ]
            parts = parts if found.documents else [f"no more: there are {found.total} documents"]
            parts += [
                f"{one.doc_id} ({one.lines} lines): {shortened(one.summary or one.title)}"
                for one in found.documents
            ]
        case Excerpt():
            parts = [_excerpt(found)]
        case _:
            parts = [_hit(one) for one in found] or ["nothing has these words"]
    text = "\n".join(parts)
    if len(text) > LONGEST_ANSWER:
        cut = text.rfind("\n", 0, LONGEST_ANSWER - 100)
        text = f"{text[:cut]}\n(cut here: ask for less, or read on with read_lines)"
    return text


def shortened(summary: str) -> str:
    return summary if len(summary) <= LONGEST_SUMMARY else f"{summary[: LONGEST_SUMMARY - 1]}…"


def _excerpt(one: Excerpt) -> str:
    return f"{_where(one.doc_id, one.heading)}\n{_lines(one.lines)}"


def _hit(one: Hit) -> str:
    where = f"{_where(one.doc_id, one.heading)}, lines {one.start_line} to {one.end_line}"
    return f"{where}, score {one.score:.1f}\n{_lines(one.lines)}"


def _where(doc_id: str, heading: Sequence[str]) -> str:
    return f"[{doc_id}]{' ' if heading else ''}{' > '.join(heading)}"


def _lines(lines: Sequence[DocumentLine]) -> str:
    return "\n".join(f"{one.number}{':' if one.matched else '-'} {one.text}" for one in lines)
