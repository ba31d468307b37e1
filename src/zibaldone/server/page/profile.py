"""The profile: what holds of a user, to be added to, pinned, edited and retired."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from zibaldone.api.profile import HEADINGS, NEEDS_A_MODEL
from zibaldone.errors import InvalidInput
from zibaldone.server.page.page_auth import PageAction, PageCall, field
from zibaldone.server.problems import Problem
from zibaldone.views.notes import KINDS, Kind, UserNote
from zibaldone.views.notes.note import kind_of

_HEADINGS: dict[Kind, str] = HEADINGS | {"fact": "About you"}
_SHOWN, _ALL = 12, 100  # entries of a kind beside others, and alone


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """Entries of a kind, those that are shown."""

    kind: str
    heading: str
    entries: list[UserNote]
    total: int


async def profile(call: PageCall) -> Response:
    """Entries kind by kind: the pinned first, then the newest; at the end what holds no more."""
    only, skip = call.text("kind"), call.number("skip", 0, most=10**9)
    entries = await call.memory.user(call.user).profile.entries()
    entries.sort(key=lambda entry: (not entry.pinned, -entry.time.timestamp(), entry.id))
    step = _ALL if only else _SHOWN
    groups = []
    for kind, heading in [*_HEADINGS.items(), ("past", "No longer holds")]:
        of_kind = [entry for entry in entries if (entry.kind == kind if entry.holds else kind == "past")]
        if of_kind and only in ("", kind):
            groups.append(EntryGroup(kind, heading, of_kind[skip : skip + step], len(of_kind)))
    return call.page(
        "profile.html",
        groups=groups,
        only=only,
        skip=skip,
        step=step,
        texts={entry.id: entry.text for entry in entries},
        holding=sum(entry.holds for entry in entries),
        headings=_HEADINGS,
        needs_a_model=not any("/" in entry.made_by for entry in entries) and NEEDS_A_MODEL,
    )


async def profile_text(call: PageCall) -> Response:
    """The text that goes into a prompt."""
    budget = call.number("budget", 400, most=8000)
    text = await call.memory.user(call.user).profile.text(budget)
    return call.page("profile_text.html", text=text, budget=budget)


async def add(call: PageCall) -> Response:
    """Note something that no message says."""
    form = await call.form()
    kind = kind_of(field(form, "kind"))
    if kind is None:
        raise InvalidInput(f"no kind {field(form, 'kind')!r}: there is {', '.join(KINDS)}")
    entry = await call.memory.user(call.user).profile.add(kind, field(form, "text"))
    seen = call.see("/profile")
    seen.headers["Location"] += f"#e{entry.id}"
    return seen


async def change(call: PageCall) -> Response:
    """Pin, edit or retire one entry."""
    opened, form = call.memory.user(call.user).profile, await call.form()
    entry_id, act = call.request.path_params["id"], field(form, "act")
    try:
        if act == "edit":
            entry = await opened.edit(entry_id, field(form, "text"))
        elif act in ("pin", "unpin", "retire"):
            changes = {"pin": opened.pin, "unpin": opened.unpin, "retire": opened.retire}
            entry = await changes[act](entry_id)
        else:
            raise InvalidInput("an entry can be pinned, unpinned, edited and retired")
    except InvalidInput as error:
        if "has no profile entry" not in str(error):
            raise
        raise Problem(404, "no-entry", "the profile has no entry of this id any more") from error
    seen = call.see("/profile", kind=field(form, "kind"))
    seen.headers["Location"] += f"#e{entry.id}"
    return seen


ACTIONS = (
    PageAction("/profile", profile),
    PageAction("/profile", add, posts=True),
    PageAction("/profile/text", profile_text),
    PageAction("/profile/{id}", change, posts=True),
)
