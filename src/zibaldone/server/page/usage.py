"""What memory holds, what models were used for, and what that cost; whose memories there are."""

from __future__ import annotations

from collections import Counter

from starlette.responses import Response

from zibaldone.models.meter import Prices
from zibaldone.server.page.page_auth import PageAction, PageCall

_SHOWN_USERS = 200
_DAYS = 60  # of which lines are shown


async def usage(call: PageCall) -> Response:
    """Figures."""
    stats = await call.memory.admin.stats(user=call.user)
    prices = Prices(_price(call.text("prompt_price")), _price(call.text("completion_price")))
    by_task: dict[tuple[str, str], Counter[str]] = {}
    for line in stats.usage:
        sums = by_task.setdefault((line.view, line.task), Counter())
        for name in ("calls", "degraded", "prompt_tokens", "completion_tokens", "ms"):
            sums[name] += getattr(line, name)
    days: dict[str, float] = {}
    for line in stats.usage:
        days[line.day.isoformat()] = days.get(line.day.isoformat(), 0.0) + prices.of(line)
    return call.page(
        "usage.html",
        stats=stats,
        may_see_size=call.principal.user is None,  # the folder's size tells of others
        by_task=sorted(by_task.items()),
        prices=prices,
        cost=sum(prices.of(line) for line in stats.usage),
        days=sorted(days.items(), reverse=True)[:_DAYS] if prices != Prices(0, 0) else [],
        behind=max((view.lag for view in stats.views if view.view in _MAINTAINED), default=0),
        job=call.jobs.running(call.user, "/usage"),
    )


async def users(call: PageCall) -> Response:
    """Whose memory is looked at, to be chosen where the key does not say it."""
    call.principal.must_be_admin()
    known, words = await call.memory.users(), call.text("words").casefold()
    matching = [name for name in known if words in name.casefold()]
    return call.page("users.html", users=matching[:_SHOWN_USERS], total=len(matching), words=words)


def _price(given: str) -> float:
    try:
        price = float(given or 0)
    except ValueError:
        return 0.0
    return price if 0 <= price < 1e6 else 0.0


_MAINTAINED = frozenset({"messages", "notes"})
ACTIONS = (PageAction("/usage", usage), PageAction("/users", users))
