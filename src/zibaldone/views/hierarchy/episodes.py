"""Cuts of a conversation into episodes (section 3.2; appendix C.1), without a model.

A pause of more than 30 minutes always ends an episode. What is longer than LONGEST messages is halved: where
its words cohere least finds no more (docs/decisions.md). Decisions wait until later messages cannot change
them: the first cut is decided when LONGEST + CONTEXT messages are open, or a pause or the end of the session
is known to come earlier. So the cuts are the same whether messages come one by one or at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from zibaldone.core import Message

PAUSE = timedelta(minutes=30)
SHORTEST = 3  # messages; fewer only where a pause leaves no more
LONGEST = 15
CONTEXT = 3  # messages behind an episode that its end is judged by


@dataclass(frozen=True, slots=True)
class Cut:
    """The end of an open episode: it takes the next `size` messages."""

    size: int
    degraded: str = ""  # why a model's answer is missing


@dataclass(frozen=True, slots=True)
class Window:
    """The first `size` messages of an open episode, whose cuts are to be decided."""

    size: int
    whole: bool  # nothing follows on them, so the last cut is at their end


@dataclass(frozen=True, slots=True)
class Block:
    """The messages of one episode."""

    messages: tuple[Message, ...]  # of one session, contiguous in it
    degraded: str = ""  # as of its cut


# Decides the cuts of a session's open messages: `closed`, or a model; however messages are batched, the same.
Decide = Callable[..., list[Cut]]


def closed(pending: Sequence[Message], *, ended: bool) -> list[Cut]:
    """Decided cuts of one session's open messages, in order; messages behind the last cut stay open.

    `ended`: nothing more belongs to the open episode.
    """
    cuts: list[Cut] = []
    start = 0
    while window := due(pending[start:], ended=ended):
        is_one = window.whole and window.size <= LONGEST
        cuts.append(Cut(window.size if is_one else -(-window.size // 2)))
        start += cuts[-1].size
    return cuts


def due(pending: Sequence[Message], *, ended: bool) -> Window | None:
    """The window whose cuts are to be decided; None while it is too early."""
    most = LONGEST + CONTEXT
    for place in range(1, min(len(pending), most)):
        if abs(time_of(pending[place]) - time_of(pending[place - 1])) > PAUSE:
            return Window(place, True)
    if len(pending) >= most:
        return Window(most, False)
    return Window(len(pending), True) if ended and pending else None


class OpenEpisodes:
    """Open episodes of one user's sessions; ends them as the log goes on.

    An open episode also ends when anything of the user, in any session, is more than 30 minutes later: its
    own session's next message would be too.
    """

    def __init__(self) -> None:
        self.pending: dict[str, list[Message]] = {}  # by session; feed these to resume after a restart

    def feed(self, message: Message, decide: Decide) -> list[Block]:
        """Blocks that the next message in the log ends."""
        blocks: list[Block] = []
        # By their first open message: a restart loses the order in which they opened.
        for session in sorted(self.pending, key=lambda session: self.pending[session][0].seq):
            if time_of(message) - time_of(self.pending[session][-1]) > PAUSE:
                blocks += self._take(session, decide, ended=True)
        self.pending.setdefault(message.session, []).append(message)
        return blocks + self._take(message.session, decide, ended=False)

    def _take(self, session: str, decide: Decide, *, ended: bool) -> list[Block]:
        open_, blocks = self.pending.pop(session), []
        for cut in decide(open_, ended=ended):
            blocks.append(Block(tuple(open_[: cut.size]), cut.degraded))
            open_ = open_[cut.size :]
        if open_:
            self.pending[session] = open_
        return blocks


def time_of(message: Message) -> datetime:
    """Time of a message that is stored, and so has one."""
    assert message.time is not None
    return message.time
