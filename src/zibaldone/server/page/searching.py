"""Search and recall as one types, and questions that the chat model answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from starlette.responses import Response, StreamingResponse

from zibaldone.errors import ZibaldoneError
from zibaldone.log.filters import Filter
from zibaldone.recall.ask import Answer
from zibaldone.recall.recall import RECALL_TOKENS
from zibaldone.recall.result import CLEAR, NEAREST
from zibaldone.server.page.environment import render, source_of
from zibaldone.server.page.page_auth import HEADERS, PageCall, action, field
from zibaldone.server.problems import problem_of
from zibaldone.server.stepwise import stepwise

_PASSAGES, _MOST_PASSAGES = 15, 200
_FILTERS = ("since", "until", "role", "source", "session")
_ROLES = {"user": "me", "assistant": "the assistant"}
_RECENT = 12  # sessions on a first page without a question
_BUDGET, _MOST_BUDGET = RECALL_TOKENS, 32_000  # tokens of a recall


@action("/")
async def search(call: PageCall) -> Response:
    """Show the passages for a question; without one, the latest sessions."""
    query, filters = _query(call), _filters(call)
    values: dict[str, Any] = {"query": query, "filters": filters, "roles": _ROLES}
    if filters["session"] and not call.is_fragment:
        titles = await call.titles([filters["session"]])
        values["session_title"] = titles.get(filters["session"], "one session")
    if not query:
        sessions, total = await call.memory.user(call.user).titled_sessions(limit=_RECENT)
        template = "recent.html" if call.is_fragment else "home.html"
        return call.page(template, **values, sessions=sessions, total=total)
    limit, source = call.number("limit", _PASSAGES, most=_MOST_PASSAGES), filters["source"]
    with call.metrics.stage("search"):
        searched = await call.memory.search(
            query, user=call.user, limit=_MOST_PASSAGES if source else limit + 1, filter=_narrowed(call)
        )
    passages = [passage for passage in searched if source in ("", source_of(passage))]
    # What comes from elsewhere may be all that is clearly about it.
    clear = searched.clear and (not source or any(source_of(best) == source for best in searched[:_PASSAGES]))
    shown = passages[: limit if clear else NEAREST]
    return call.page(
        "results.html" if call.is_fragment else "home.html",
        **values,
        clear=clear,
        passages=shown,
        titles=await call.titles_of(shown),
        seeks_titles=not any(filters.values()),
        more=min(limit * 3, _MOST_PASSAGES) if len(passages) > limit < _MOST_PASSAGES else None,
        asks_at_once=not (call.is_fragment or call.text("limit")),  # not at every letter
    )


def _filters(call: PageCall) -> dict[str, str]:
    """Return the filters of a search as they were chosen, for links and forms."""
    return {name: call.text(name)[:_LONGEST_QUESTION] for name in _FILTERS}


def _narrowed(call: PageCall) -> Filter:
    session, role = call.text("session"), call.text("role")
    return Filter(
        session=session or None,
        roles=[role] if role in _ROLES else None,
        since=call.day("since"),
        until=call.day("until", end=True),
    )


@action("/recall")
async def recall(call: PageCall) -> Response:
    """Show what a model would get, and why or why not."""
    query = _query(call)
    template = "recall.html" if call.is_fragment else "recall_page.html"
    if not query:
        return call.page(template, query="")
    budget = call.number("budget", _BUDGET, most=_MOST_BUDGET)
    seq = call.number("seq")
    recalled = await call.memory.recall(query, user=call.user, budget_tokens=budget)
    call.metrics.recalled(recalled.tokens)
    of_seq = (d for d in recalled.trace.decisions if seq in d.evidence.sources and not d.evidence.scope)
    return call.page(
        template,
        query=query,
        budget=budget,
        clear=CLEAR,
        recalled=recalled,
        seq=seq,
        of_seq=next(of_seq, None),
        is_there=bool(seq) and await call.memory.get(seq, user=call.user) is not None,
    )


def _query(call: PageCall) -> str:
    return call.text("q")[:_LONGEST_QUESTION]


_HERE = "<!-- here -->"  # not in any text, as texts are escaped
_LONGEST_QUESTION = 2000  # characters


@action("/ask", posts=True, reads=True)
async def ask(call: PageCall) -> Response:
    """Stream the page, or its part, with each step of the answer as it is made, and the answer."""
    question = field(await call.form(), "question").strip()[:_LONGEST_QUESTION]
    if not question:
        return call.see("/")
    before, after = "", ""
    if not call.is_fragment:
        before, after = render("ask.html", call=call, question=question, mark=_HERE).split(_HERE)
    steps = stepwise(call.memory, question, user=call.user, filter=_narrowed(call))
    first = await anext(steps)  # an error here has a page of its own

    async def parts() -> AsyncIterator[str]:
        yield before + render("ask_begin.html")
        try:
            yield render("ask_step.html", call=call, step=first)
            async for step in steps:
                if isinstance(step, Answer):
                    call.metrics.recalled(step.evidence.tokens)
                    cited = {(citation.scope, citation.seq) for citation in step.citations}
                    units = [
                        unit
                        for unit in step.evidence.evidence
                        if any((unit.scope, seq) in cited for seq in unit.sources)
                    ]
                    titles = await call.titles_of(units)
                    yield render("answer.html", call=call, answer=step, units=units, titles=titles, query="")
                else:
                    yield render("ask_step.html", call=call, step=step)
        except ZibaldoneError as error:  # the page has begun with its status
            yield render("answer.html", call=call, answer=None, detail=problem_of(error).detail)
        finally:
            await steps.aclose()
        yield after

    return StreamingResponse(parts(), media_type="text/html", headers=HEADERS)
