"""Profile: what holds of a user, to be read, put into a prompt, and changed by hand.

    profile = memory.user("ann").profile
    profile.text(300)                       # for a system prompt
    profile.add("constraint", "No nuts.")   # what nobody said
    profile.pin(profile.entries()[0])       # first in the text from now on

It is the notes of the user. A change by hand is a message of the role `editor` in the log, so it outlives
every rebuild, and is forgotten with what it changes.
"""

from __future__ import annotations

from zibaldone.api.wiring import Wiring
from zibaldone.core.threads import Awaited, awaited
from zibaldone.core.validation import count, shown, words
from zibaldone.engine.generations import snapshots
from zibaldone.engine.inspection import damage_is_named
from zibaldone.errors import InvalidInput, UnknownName
from zibaldone.log.audit import audited
from zibaldone.views.notes import KINDS, Kind, UserNote
from zibaldone.views.notes.hand import Act, to_message

DEFAULT_BUDGET_TOKENS = 400
NEEDS_A_MODEL = "Facts that nobody stated as such need a chat model to read the conversations."

# In the order of the text: what an assistant has to obey and heed, whom it talks to, and what they want.
HEADINGS: dict[Kind, str] = {
    "instruction": "Standing instructions",
    "constraint": "Constraints",
    "fact": "About the user",
    "person": "People",
    "preference": "Preferences",
    "plan": "Plans",
    "decision": "Decisions",
}


class Profile:
    """One user's notes as they are now, with what was stated a moment ago."""

    def __init__(self, wiring: Wiring, user: str) -> None:
        """Use `memory.user(name).profile`."""
        self._wiring, self._database, self._user = wiring, wiring.database, user
        self._view = wiring.variants.serving(user, wiring.notes)

    def entries(self, kind: Kind | None = None) -> list[UserNote]:
        """All notes, or those of one kind, in the order of time.

        Those that hold no longer are among them: `note.holds` is False where a later message ended one, or
        somebody retired it. Raises InvalidInput for another kind.
        """
        if kind is not None:
            _known(kind)
        with damage_is_named(self._database, self._user, [self._view]):
            notes = self._view.notes(snapshots(self._database, self._user, self._view), self._user)
        return [note for note in notes if kind in (None, note.kind)]

    def text(self, budget_tokens: int = DEFAULT_BUDGET_TOKENS) -> str:
        """Write the notes that hold as lines of at most `budget_tokens`; "" when none holds or fits.

        When not all fits: pinned notes first, then instructions, constraints, facts, people, preferences,
        plans, decisions, and of each the newest. A note is never cut.
        """
        count("budget_tokens", budget_tokens, least=1)
        holding: dict[str, UserNote] = {}
        for note in sorted((note for note in self.entries() if note.holds), key=place_of):
            holding.setdefault(_line(note), note)
        chosen: list[UserNote] = []
        taken = 0
        for line, note in holding.items():
            tokens = self._wiring.count_tokens(line + "\n") + 1
            if taken + tokens <= budget_tokens:
                chosen.append(note)
                taken += tokens
        while chosen and self._wiring.count_tokens(text := _render(chosen)) > budget_tokens:
            chosen.pop()  # its headings do not fit
        return text if chosen else ""

    @audited("write")
    def add(self, kind: Kind, text: str) -> UserNote:
        """Note something that no message says; returns it. Raises InvalidInput."""
        added = to_message("added", _known(kind), 0, "", (), _stated(text))
        (stored,) = self._wiring.ingest.add(self._user, [added])
        return self._of_id(f"{stored.seq}.0")

    def pin(self, entry: UserNote | str) -> UserNote:
        """Put it first in the text, and with every question; a note or its id. Returns it as it is now."""
        return self._edit("pinned", entry)

    def unpin(self, entry: UserNote | str) -> UserNote:
        """Take a pin back."""
        return self._edit("unpinned", entry)

    def edit(self, entry: UserNote | str, text: str) -> UserNote:
        """Put other words in its place; one that had ended holds again. Raises InvalidInput for no words.

        A recall marks the words that it had as no longer holding, and quotes these.
        """
        return self._edit("changed", entry, _stated(text))

    def retire(self, entry: UserNote | str) -> UserNote:
        """Leave it out of the text and of recalls; a recall marks its clause as ended."""
        return self._edit("removed", entry)

    @audited("write", "add")
    def _edit(self, act: Act, entry: UserNote | str, text: str = "") -> UserNote:
        note_id = entry.id if isinstance(entry, UserNote) else entry
        take_snapshot = snapshots(self._database, self._user, self._view)
        draft = self._view.draft(take_snapshot, self._user, note_id) if isinstance(note_id, str) else None
        if draft is None:
            raise _unknown(note_id, self._user)
        edit = to_message(act, draft.kind, draft.unit.seq, draft.mark, draft.own_sources, text)
        self._wiring.ingest.add(self._user, [edit])
        return self._of_id(note_id)

    def _of_id(self, note_id: str) -> UserNote:
        for note in self.entries():
            if note.id == note_id:
                return note
        raise _unknown(note_id, self._user)


class AsyncProfile(Awaited[Profile]):
    """See Profile; every method is awaited."""

    entries = awaited(Profile.entries)
    text = awaited(Profile.text)
    add = awaited(Profile.add)
    pin = awaited(Profile.pin)
    unpin = awaited(Profile.unpin)
    edit = awaited(Profile.edit)
    retire = awaited(Profile.retire)


def _known(kind: Kind) -> Kind:
    if kind not in KINDS:
        raise InvalidInput(f"no kind {shown(kind)}: there is {', '.join(KINDS)}")
    return kind


def _stated(text: str) -> str:
    if stated := " ".join(words("a note's text", text).split()):
        return stated
    raise InvalidInput("a note's text is empty: say what holds, or retire the note instead")


def _unknown(note_id: object, user: str) -> UnknownName:
    return UnknownName(
        f"user {user!r} has no profile entry {shown(note_id)}: profile.entries() lists them with their ids"
    )


def place_of(note: UserNote) -> tuple[bool, int, float]:
    """Build the sort key: pinned ones first, then kind by kind, and of each kind the newest first."""
    return not note.pinned, list(HEADINGS).index(note.kind), -note.time.timestamp()


def _line(note: UserNote) -> str:
    """Write a note in one line, without its line breaks: nothing in it can look like a heading."""
    said_by = "" if note.about == "user" else f"{note.about}: "
    day = f" ({note.time.date().isoformat()})" if note.is_dated else ""
    return f"- {said_by}{' '.join(note.text.split())}{day}"


def _render(notes: list[UserNote]) -> str:
    blocks = []
    for kind, heading in HEADINGS.items():
        lines = [_line(note) for note in notes if note.kind == kind]
        if lines:
            blocks.append("\n".join([f"{heading}:", *lines]))
    return "\n".join(blocks)
