"""A person's corrections of a profile as messages of the log, and back: a rebuild reads them again.

An entry is named by its message and a hash of its words: no correction keeps what another message says. A
new wording may keep some of the old words, so every correction is forgotten with the messages that its
entry is from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from zibaldone.core import Message
from zibaldone.views.profile.clauses import KINDS, Kind

ROLE = "editor"
SESSION = "profile"
_PART = "profile"
Act = Literal["changed", "removed", "pinned", "unpinned"]
_ACTS: tuple[Act, ...] = get_args(Act)


@dataclass(frozen=True, slots=True)
class Correction:
    """What a message asks of the profile."""

    act: Act
    kind: Kind
    seq: int  # of the message that the entry is read from
    mark: str  # of the entry's words there
    text: str  # the new words; empty unless it is changed
    message: Message


def to_message(act: Act, kind: Kind, seq: int, mark: str, sources: Sequence[int], text: str = "") -> Message:
    """A correction of the entry of that kind and mark in that message; `sources` are whose words it may keep.

    Its content is the new words and nothing else: there is nothing for a recall to find in a pin.
    """
    further = [source for source in sources if source != seq]
    metadata = {"edit": act, "part": _PART, "kind": kind, "before": mark, "sources": [seq, *further]}
    return Message(text, role=ROLE, session=SESSION, metadata=metadata)


def read(message: Message) -> Correction | None:
    """What the message asks for; None when it is no correction of a profile."""
    given = message.metadata
    if message.role != ROLE or given.get("part") != _PART:
        return None
    act = next((act for act in _ACTS if act == given.get("edit")), None)
    kind = next((kind for kind in KINDS if kind == given.get("kind")), None)
    mark, sources = given.get("before"), given.get("sources")
    seq = sources[0] if isinstance(sources, list) and sources else None
    if act is None or kind is None or not isinstance(mark, str) or type(seq) is not int or seq < 1:
        return None
    text = " ".join(message.content.split()) if act == "changed" else ""
    return Correction(act, kind, seq, mark, text, message) if text or act != "changed" else None


def mark_of(statement: str) -> str:
    """By this a statement is known again without its words."""
    return hashlib.blake2b(statement.encode(), digest_size=8).hexdigest()
