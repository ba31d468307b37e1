"""A question that the chat model answers: its looks as they are made, then the answer with its sources."""

from __future__ import annotations

from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from zibaldone.errors import ZibaldoneError
from zibaldone.recall.ask import Answer
from zibaldone.server.page.environment import render
from zibaldone.server.page.page_auth import HEADERS, PageAction, PageCall, field
from zibaldone.server.problems import problem_of
from zibaldone.server.stepwise import stepwise

_HERE = "<!-- here -->"  # in no words of anybody's: these are escaped
_LONGEST_QUESTION = 2000  # characters


async def ask_form(call: PageCall) -> Response:
    """The empty box."""
    return call.page("ask.html", question="", mark="")


async def ask(call: PageCall) -> Response:
    """The page up to the looks, each look when it is made, the answer, and the rest of the page."""
    question = field(await call.form(), "question").strip()[:_LONGEST_QUESTION]
    if not question:
        return call.see("/ask")
    before, after = render("ask.html", call=call, question=question, mark=_HERE).split(_HERE)
    steps = stepwise(call.memory, question, user=call.user)
    first = await anext(steps)  # what cannot be asked is refused, with a page of its own

    async def parts() -> AsyncIterator[str]:
        yield before
        try:
            yield render("ask_step.html", call=call, step=first)
            async for step in steps:
                if isinstance(step, Answer):
                    call.metrics.recalled(step.evidence.tokens)
                    cited = {citation.seq for citation in step.citations}
                    units = [unit for unit in step.evidence.evidence if cited.intersection(unit.sources)]
                    yield render("answer.html", call=call, answer=step, units=units)
                else:
                    yield render("ask_step.html", call=call, step=step)
        except ZibaldoneError as error:  # the page has begun: its status is said
            yield render("answer.html", call=call, answer=None, detail=problem_of(error).detail)
        finally:
            await steps.aclose()
        yield after

    return StreamingResponse(parts(), media_type="text/html", headers=HEADERS)


ACTIONS = (PageAction("/ask", ask_form), PageAction("/ask", ask, posts=True, reads=True))
