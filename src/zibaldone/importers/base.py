"""The contract of an importer.

An importer turns what a person has on disk, an `ImportSource`, into a stream of messages. It promises:

- what of a conversation cannot be read is a `NotImported` beside it, which names the file, the line or
  the JSON path, and the reason; what can be read comes all the same;
- every message it gives would be accepted by `Memory.add`, has an `id` that depends on the source's
  content alone, so that importing twice adds nothing, and stands in the order of its conversation;
- it reads the source and nothing else: no clock, no environment, no network; and of that no more at a time
  than a conversation, where the format allows it;
- what the format's own reader shows folded away, or not at all, is kept word for word and marked as noise
  (see `core.NOISE`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zibaldone.core import Message

Branches = Literal["current", "all"]
DateOrder = Literal["dmy", "mdy", "ymd"]


@dataclass(frozen=True, slots=True)
class NotImported:
    """A part of a source that could not be imported."""

    where: str  # the file, and the line or the JSON path in it
    why: str
    conversation: str = ""  # its title or id, where that can be told


@dataclass(frozen=True, slots=True)
class OfUser:
    """A message whose source says whose memory it is."""

    user: str
    message: Message


Item = Message | OfUser | NotImported


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in the order of the source, of one user; they may span several sessions."""

    messages: tuple[Message, ...]
    user_hint: str | None = None  # whose memory it is when the caller does not say; None: nobody knows
    refused: tuple[NotImported, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the report: what was guessed, and how to say it
