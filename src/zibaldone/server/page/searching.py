"""The first page: search as one types, and beside it what a model would get for the same words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from zibaldone.core import Decision
from zibaldone.log.filters import Filter
from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.recall.result import Recall
from zibaldone.server.page.page_auth import PageAction, PageCall
from zibaldone.server.page.warming import warm

_PASSAGES, _MOST_PASSAGES = 15, 200
_RECENT = 12  # sessions on a first page without a question
_BUDGET, _MOST_BUDGET = RECALL_TOKENS, 32_000  # tokens of a recall
_SHOWN_DECISIONS = 60
_LONGEST_QUESTION = 2000  # characters


@dataclass(frozen=True, slots=True)
class RecalledPiece:
    """A stretch of a recalled text, and the message that it quotes; 0 where it quotes none."""

    text: str
    seq: int


async def search(call: PageCall) -> Response:
    """Passages for a question and a recall of it; or, without one, what was talked about of late."""
    query = _question(call)
    limit = call.number("limit", _PASSAGES, most=_MOST_PASSAGES)
    if not query:
        sessions, total = await call.memory.user(call.user).titled_sessions(limit=_RECENT)
        warm(call.memory, call.user)
        template = "recent.html" if call.is_fragment else "home.html"
        return call.page(template, query="", sessions=sessions, total=total)
    session = call.text("session")
    with call.metrics.stage("search"):
        passages = await call.memory.search(
            query, user=call.user, limit=limit + 1, filter=Filter(session=session or None)
        )
    values: dict[str, Any] = {
        "query": query,
        "passages": passages[:limit],
        "more": min(limit * 3, _MOST_PASSAGES) if len(passages) > limit < _MOST_PASSAGES else None,
        "session": session,
    }
    if call.is_fragment:
        return call.page("passages.html", **values)
    return call.page("home.html", **values, **await _recalled(call, query))


async def recall(call: PageCall) -> Response:
    """What a model would get, why, and why not."""
    query = _question(call)
    template = "recall.html" if call.is_fragment else "recall_page.html"
    if not query:
        return call.page(template, query="")
    return call.page(template, query=query, **await _recalled(call, query))


async def _recalled(call: PageCall, query: str) -> dict[str, Any]:
    budget = call.number("budget", _BUDGET, most=_MOST_BUDGET)
    seq = call.number("seq", 0, most=2**62)
    recalled = await call.memory.recall(query, user=call.user, budget_tokens=budget)
    call.metrics.recalled(recalled.tokens)
    decisions = recalled.trace.decisions
    return {
        "budget": budget,
        "recalled": recalled,
        "pieces": list(pieces_of(recalled)),
        "kept": _some(decisions, kept=True),
        "dropped": _some(decisions, kept=False),
        "seq": seq or "",
        "verdict": _verdict(recalled, seq) if seq else "",
    }


def pieces_of(recalled: Recall) -> Iterator[RecalledPiece]:
    """A recalled text from its beginning to its end, cut where it quotes."""
    end = 0
    for citation in sorted(recalled.citations, key=lambda citation: citation.start):
        if citation.start < end:  # a unit of several messages: its first is linked
            continue
        if citation.start > end:
            yield RecalledPiece(recalled.text[end : citation.start], 0)
        yield RecalledPiece(recalled.text[citation.start : citation.end], citation.seq)
        end = citation.end
    if end < len(recalled.text):
        yield RecalledPiece(recalled.text[end:], 0)


def _verdict(recalled: Recall, seq: int) -> str:
    kept = any(decision.kept and seq in decision.evidence.sources for decision in recalled.trace.decisions)
    return recalled.why(seq) if kept else recalled.why_not(seq)


def _some(decisions: tuple[Decision, ...], *, kept: bool) -> list[Decision]:
    return [decision for decision in decisions if decision.kept is kept][:_SHOWN_DECISIONS]


def _question(call: PageCall) -> str:
    return call.text("q")[:_LONGEST_QUESTION]


ACTIONS = (PageAction("/", search), PageAction("/recall", recall))
