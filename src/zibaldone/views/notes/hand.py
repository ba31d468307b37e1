"""A person's own changes of notes, stored as messages of the log and read from them by a rebuild.

A note is named by a message that it is from and a hash of its words: no change keeps what another message
says. New words may keep some of the old ones, so every change is forgotten with the messages of its note.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from zibaldone.core import EDITOR, Message
from zibaldone.views.notes.note import Kind, kind_of

_SESSION = _PART = "profile"
Act = Literal["added", "changed", "removed", "pinned", "unpinned"]
_ACTS: tuple[Act, ...] = get_args(Act)
_TELLS: frozenset[Act] = frozenset({"added", "changed"})  # words of the person's own


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A change of one note, as a message asks for it."""

    act: Act
    kind: Kind
    seq: int  # of the message that the note is from; of what was added, the edit's own
    mark: str  # of the note's words
    text: str  # the new words; empty unless the note is changed or added
    message: Message


def to_message(act: Act, kind: Kind, seq: int, mark: str, sources: Sequence[int], text: str = "") -> Message:
    """Message for the change of a note; `sources` are the messages whose words it may keep.

    Its content is the new words and nothing else: there is nothing for a recall to find in a pin.
    """
    further = [source for source in sources if source != seq]
    named = {} if act == "added" else {"before": mark, "sources": [seq, *further]}
    return Message(
        text, role=EDITOR, session=_SESSION, metadata={"edit": act, "part": _PART, "kind": kind, **named}
    )


def read(message: Message) -> HandEdit | None:
    """The change that a message asks for; None if it asks for none."""
    given = message.metadata
    if message.role != EDITOR or given.get("part") != _PART:
        return None
    act = next((act for act in _ACTS if act == given.get("edit")), None)
    kind = kind_of(given.get("kind"))
    text = " ".join(message.content.split()) if act in _TELLS else ""
    if act is None or kind is None or (not text and act in _TELLS):
        return None
    if act == "added":
        return HandEdit(act, kind, message.seq, mark_of(text), text, message)
    mark, sources = given.get("before"), given.get("sources")
    seq = sources[0] if isinstance(sources, list) and sources else None
    if not isinstance(mark, str) or type(seq) is not int or seq < 1:
        return None
    return HandEdit(act, kind, seq, mark, text, message)


def mark_of(words: str) -> str:
    """Digest by which a note's words are recognised without being kept."""
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
