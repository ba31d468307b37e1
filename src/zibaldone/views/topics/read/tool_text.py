"""What a tool gave back, as the text that a model reads."""

from __future__ import annotations

from collections.abc import Sequence

from zibaldone.views.topics.read.tool_arguments import DocumentLine, Excerpt, Grepped, Hit, Page

ToolAnswer = Grepped | Page | Excerpt | tuple[Hit, ...]

LONGEST_ANSWER = 12_000  # characters of one call's answer
LONGEST_SUMMARY = 200


def answer_text(answer: ToolAnswer) -> str:
    """As text, never longer than LONGEST_ANSWER."""
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
            parts = [_hit(shown) for shown in answer] or ["nothing has these words"]
    text = "\n".join(parts)
    if len(text) > LONGEST_ANSWER:
        cut = text.rfind("\n", 0, LONGEST_ANSWER - 100)
        text = f"{text[:cut]}\n(cut here: ask for less, or read on with read_lines)"
    return text


def shortened(summary: str) -> str:
    return summary if len(summary) <= LONGEST_SUMMARY else f"{summary[: LONGEST_SUMMARY - 1]}…"


def _excerpt(excerpt: Excerpt) -> str:
    return f"{_where(excerpt.doc_id, excerpt.heading)}\n{_lines(excerpt.lines)}"


def _hit(hit: Hit) -> str:
    where = f"{_where(hit.doc_id, hit.heading)}, lines {hit.start_line} to {hit.end_line}"
    return f"{where}, score {hit.score:.1f}\n{_lines(hit.lines)}"


def _where(doc_id: str, heading: Sequence[str]) -> str:
    return f"[{doc_id}]{' ' if heading else ''}{' > '.join(heading)}"


def _lines(lines: Sequence[DocumentLine]) -> str:
    return "\n".join(f"{line.number}{':' if line.matched else '-'} {line.text}" for line in lines)
