"""Profile: what should always be known of a user, to be read, put into a prompt, and corrected by hand.

    profile = memory.profile("ann")
    profile.text(300)                       # for a system prompt
    profile.pin(profile.entries()[0])       # first in the text from now on

A correction is a message of the role `editor` in the log, so it outlives every rebuild, and is forgotten with
what it corrects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from zibaldone.core import Message
from zibaldone.errors import InvalidInput
from zibaldone.generations import snapshots
from zibaldone.inspection import damage_is_named
from zibaldone.storage.database import Database
from zibaldone.threads import in_thread
from zibaldone.validation import count, shown, words
from zibaldone.views.links import Link, LinkingView
from zibaldone.views.profile import KINDS, Kind, ProfileEntry, ProfileView
from zibaldone.views.profile.corrections import Act, to_message

AddCorrection = Callable[[Message], None]  # stores it, and lets the view read it
CountTokens = Callable[[str], int]
DEFAULT_BUDGET_TOKENS = 400

# In the order of the text: what an assistant has to obey, whom it talks to, about whom, and what they want.
_HEADINGS: dict[Kind, str] = {
    "instruction": "Standing instructions",
    "fact": "About the user",
    "relation": "People",
    "preference": "Preferences",
    "decision": "Decisions",
}


class Profile:
    """One user's profile as it is now, with what was said a moment ago."""

    def __init__(
        self,
        database: Database,
        view: ProfileView,
        updates: LinkingView,
        user: str,
        *,
        add: AddCorrection,
        count: CountTokens,
    ) -> None:
        """Use `memory.profile(user)`; `updates` knows which sentences hold no more."""
        self._database, self._view, self._user, self._add, self._count = database, view, user, add, count
        self._updates = updates

    def entries(self, kind: Kind | None = None) -> list[ProfileEntry]:
        """All entries, or those of one kind, in the order of time.

        Those that hold no longer are among them: `entry.holds` is False where another superseded one,
        somebody retired it, or a later message says otherwise. Raises InvalidInput for another kind.
        """
        if kind is not None and kind not in KINDS:
            raise InvalidInput(f"no kind {shown(kind)}: there is {', '.join(KINDS)}")
        with damage_is_named(self._database, self._user, [self._view, self._updates]):
            known = self._view.entries(snapshots(self._database, self._user, self._view), self._user)
            known = self._with_ends(known)
        return [entry for entry in known if kind in (None, entry.kind)]

    def entry(self, entry_id: str) -> ProfileEntry:
        """The entry of that id. Raises InvalidInput."""
        return self._of_id(entry_id)

    def _with_ends(self, known: Sequence[ProfileEntry]) -> list[ProfileEntry]:
        """With what ended them, as far as nobody has said them again since."""
        seqs = {entry.place[0] for entry in known if entry.place is not None}
        ends: dict[int, list[Link]] = {}
        for link in self._updates.links(
            snapshots(self._database, self._user, self._updates), self._user, seqs
        ):
            ends.setdefault(link.old_seq, []).append(link)
        return [replace(entry, ended_by=_ended_by(entry, ends)) for entry in known]

    def text(self, budget_tokens: int = DEFAULT_BUDGET_TOKENS) -> str:
        """What holds, as a block of lines of at most that many tokens; empty when nothing does or fits.

        When not all fits: pinned entries first, then instructions, facts, people, preferences, decisions,
        and of each the newest. An entry is never cut.
        """
        count("budget_tokens", budget_tokens, least=1)
        holding: dict[str, ProfileEntry] = {}
        for entry in sorted((entry for entry in self.entries() if entry.holds), key=_place):
            holding.setdefault(_line(entry), entry)  # a sentence may be an entry of two kinds
        chosen: list[ProfileEntry] = []
        taken = 0
        for line, entry in holding.items():
            tokens = self._count(line + "\n") + 1
            if taken + tokens <= budget_tokens:
                chosen.append(entry)
                taken += tokens
        while chosen and self._count(text := _render(chosen)) > budget_tokens:
            chosen.pop()  # its headings do not fit
        return text if chosen else ""

    def pin(self, entry: ProfileEntry | str) -> ProfileEntry:
        """Put it first in the text; an entry or its id. Returns it as it is now."""
        return self._correct("pinned", entry)

    def unpin(self, entry: ProfileEntry | str) -> ProfileEntry:
        """Take a pin back."""
        return self._correct("unpinned", entry)

    def edit(self, entry: ProfileEntry | str, text: str) -> ProfileEntry:
        """Put other words in its place; one that was retired holds again. Raises InvalidInput for none.

        A recall marks the words that it had as no longer holding, and quotes these.
        """
        new = " ".join(words("an entry's text", text).split())
        if not new:
            raise InvalidInput("an entry's text is empty: retire the entry instead")
        return self._correct("changed", entry, new)

    def retire(self, entry: ProfileEntry | str) -> ProfileEntry:
        """Leave it out of the text and of what questions call for; a recall marks its sentence as ended."""
        return self._correct("removed", entry)

    def _correct(self, act: Act, entry: ProfileEntry | str, text: str = "") -> ProfileEntry:
        entry_id = entry.id if isinstance(entry, ProfileEntry) else entry
        take_snapshot = snapshots(self._database, self._user, self._view)
        draft = self._view.draft(take_snapshot, self._user, entry_id) if isinstance(entry_id, str) else None
        if draft is None:
            raise _unknown(entry_id, self._user)
        kind = draft.reading.kind
        self._add(to_message(act, kind, draft.seq, draft.mark, draft.own_sources, text))
        if act in ("changed", "removed"):  # what merely says the old words again would be an entry of its own
            for seq, mark in draft.repeats:
                self._add(to_message("removed", kind, seq, mark, (seq,)))
        return self._of_id(entry_id)

    def _of_id(self, entry_id: str) -> ProfileEntry:
        for entry in self.entries():
            if entry.id == entry_id:
                return entry
        raise _unknown(entry_id, self._user)


class AsyncProfile:
    """See Profile; every method is awaited."""

    def __init__(self, profile: Profile) -> None:
        """Use `memory.profile(user)` of an AsyncMemory."""
        self._profile = profile

    async def entries(self, kind: Kind | None = None) -> list[ProfileEntry]:
        """See Profile.entries."""
        return await in_thread(self._profile.entries, kind)

    async def entry(self, entry_id: str) -> ProfileEntry:
        """See Profile.entry."""
        return await in_thread(self._profile.entry, entry_id)

    async def text(self, budget_tokens: int = DEFAULT_BUDGET_TOKENS) -> str:
        """See Profile.text."""
        return await in_thread(self._profile.text, budget_tokens)

    async def pin(self, entry: ProfileEntry | str) -> ProfileEntry:
        """See Profile.pin."""
        return await in_thread(self._profile.pin, entry)

    async def unpin(self, entry: ProfileEntry | str) -> ProfileEntry:
        """See Profile.unpin."""
        return await in_thread(self._profile.unpin, entry)

    async def edit(self, entry: ProfileEntry | str, text: str) -> ProfileEntry:
        """See Profile.edit."""
        return await in_thread(self._profile.edit, entry, text)

    async def retire(self, entry: ProfileEntry | str) -> ProfileEntry:
        """See Profile.retire."""
        return await in_thread(self._profile.retire, entry)


def _unknown(entry_id: object, user: str) -> InvalidInput:
    return InvalidInput(
        f"user {user!r} has no profile entry {shown(entry_id)}: profile.entries() lists them with their ids"
    )


def _ended_by(entry: ProfileEntry, ends: Mapping[int, Sequence[Link]]) -> int | None:
    if entry.place is None:
        return None
    seq, start = entry.place
    by = [
        link.new_seq
        for link in ends.get(seq, ())
        if start <= link.old_start < start + max(1, len(entry.text))
    ]
    return max(by) if by and max(by) >= max(entry.sources) else None


def _place(entry: ProfileEntry) -> tuple[bool, int, float]:
    return not entry.pinned, list(_HEADINGS).index(entry.kind), -entry.time.timestamp()


def _line(entry: ProfileEntry) -> str:
    """One line, whatever breaks the words had: nothing in it can look like a heading."""
    said_by = "" if entry.speaker == "user" else f"{entry.speaker}: "
    day = f" ({entry.time.date().isoformat()})" if entry.is_dated else ""
    return f"- {said_by}{' '.join(entry.text.split())}{day}"


def _render(entries: Sequence[ProfileEntry]) -> str:
    blocks = []
    for kind, heading in _HEADINGS.items():
        lines = [_line(entry) for entry in entries if entry.kind == kind]
        if lines:
            blocks.append("\n".join([f"{heading}:", *lines]))
    return "\n".join(blocks)
