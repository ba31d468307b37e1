"""The shared vocabulary. Imports no sibling at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

DEFAULT_SESSION = "default"
MYSELF = "me"  # whose memory it is where nobody is named, on the command line and the page
MACHINES = frozenset(
    {"assistant", "system", "developer", "tool", "function", "thinking"}
)  # roles that are no person's
TIME_KNOWN = "time_known"  # in a message's metadata; false: its time is that of its import
AGENT = "agent"  # in a message's metadata: the agent that it was said to or by
NOISE = "noise"  # in a message's metadata: which kind of noise it is, of those that follow
NOISES = frozenset({"call", "result", "thinking", "hidden", "notice"})
PROFILE = "profile"  # in a message's metadata: a kind of note, which each of its sentences is
EDITOR = "editor"  # the role of who corrects what memory has
CORRECTS = "corrects"  # in its metadata: {"seqs": [...], "ids": [...], "role": ...} of what it corrects
OWN_METADATA = frozenset({CORRECTS, TIME_KNOWN, AGENT, NOISE, PROFILE, "attachments"})  # keys that we write


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory. `user` is the tenant wall: nothing crosses it, statistics included."""

    user: str
    session: str | None = None  # narrows to one session; None is all of the user's sessions


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. What is stored has a `seq`, an `id` and a `time`."""

    content: str
    role: str = "user"
    name: str | None = None  # who speaks, when the role alone does not say it
    time: datetime | None = None  # when it happened (aware); None: the moment it is stored
    session: str = DEFAULT_SESSION
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)  # JSON, kept as given
    id: str | None = None  # the caller's own, makes a retried add idempotent; None: one is made
    seq: int = 0  # rises by one per user from 1; 0: not stored yet
    # Of what its metadata names as attachments, in that order; kept if `add` is told to, not read with it.
    files: tuple[bytes | None, ...] = field(default=(), repr=False, compare=False)

    @property
    def speaker(self) -> str:
        """The name, or else the role: what stands before the colon when the message is shown."""
        return self.name or self.voice

    @property
    def voice(self) -> str:
        """The role of whose words these are: a correction speaks for who is corrected."""
        role = self._correction.get("role")
        return role if isinstance(role, str) and role.splitlines() == [role] else self.role

    @property
    def corrects(self) -> tuple[int, ...]:
        """Seqs of the earlier messages that this one takes the place of: the first version's, and so on."""
        given, end = self._correction.get("seqs"), self.seq or 2**63
        seqs = given if isinstance(given, list) else ()
        return tuple(seq for seq in seqs if type(seq) is int and 0 < seq < end)

    @property
    def _correction(self) -> Mapping[str, Any]:
        given = self.metadata.get(CORRECTS) if self.role == EDITOR else None
        return given if isinstance(given, Mapping) else {}

    @property
    def is_noise(self) -> bool:
        """True if it is what passed between machines, or was hidden: nobody said it to anybody."""
        kind = self.metadata.get(NOISE)
        return isinstance(kind, str) and kind in NOISES

    @property
    def is_dated(self) -> bool:
        """True if its time says when it happened: not where a file that was imported names no time."""
        return self.metadata.get(TIME_KNOWN) is not False


@dataclass(frozen=True, slots=True)
class ChannelScore:
    """What one channel of a view said of one candidate."""

    channel: str  # such as "bm25" or "dense"
    rank: int  # from 1; 0: the channel did not find it
    score: float


@dataclass(frozen=True, slots=True)
class Outdated:
    """What a recalled text says held once and holds no more."""

    since: datetime | None  # when the message that says otherwise was; None: nobody knows
    by: int  # its seq
    rule: str  # by which it was noticed, or the model
    sentence: str = ""  # which one it is, where the text says more than that
    instead: str = ""  # a few words of what holds now; "" where the recall may not say it
    newest: int = 0  # the seq of the message that says so


@dataclass(frozen=True, slots=True)
class Evidence:
    """One intact unit that a view offers."""

    text: str  # verbatim, but for what was left out of it
    speaker: str | None  # who said it; None for what nobody said
    sources: tuple[int, ...]  # seqs of the messages it was made from
    time: datetime
    session: str
    view: str
    kind: str  # what the unit is in its view: "message", "passage", later "chunk", "theme" ...
    score: float  # comparable inside one view only
    tokens: int  # of the rendered line and its line break
    place: int = 0  # where in its source it starts, for units that are parts of one
    is_dated: bool = True  # False: nobody knows when it was said
    channels: tuple[ChannelScore, ...] = ()
    outdated: Outdated | None = None  # when a later message says otherwise
    standing: bool = False  # it always holds for the user, and comes before what was recalled
    role: str | None = None  # of who said it; None where its messages are of several
    ids: tuple[str, ...] = ()  # of the messages, as `sources`
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)  # of the first of them
    begins_inside: bool = False  # a sentence, whose first words are not in the text
    ends_inside: bool = False  # a sentence, whose last words are not in the text
    also_outdated: tuple[Outdated, ...] = ()  # further sentences of it that hold no more
    also_said: tuple[date, ...] = ()  # other days on which the same was said, and is not in the text again


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a part of a recalled text comes from."""

    seq: int
    session: str
    time: datetime
    start: int  # text[start:end] of the Recall is what was taken from the message, later lines indented
    end: int
    id: str | None = None  # of the message
    role: str | None = None  # of who said it


@dataclass(frozen=True, slots=True)
class Decision:
    """What recall did with one candidate, and why."""

    evidence: Evidence
    rank: int  # from 1, after fusion
    kept: bool
    reason: str


# What a view can say afterwards of any message by its seq, candidate or not; None when it has not got it.
Explains = Callable[[int], tuple[ChannelScore, ...] | None]


@dataclass(frozen=True, slots=True)
class ViewTrace:
    """What one view did for one recall."""

    view: str
    candidates: int  # units offered
    considered: int  # units scored
    ms: float
    model_calls: int = 0
    note: str = ""  # in words, when something was degraded or cut
    explain: Explains | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Part:
    """What one part of a recalled text was given, and took."""

    name: str  # "standing" or "evidence"
    room_tokens: int  # at most
    tokens: int  # without headers
    units: int


@dataclass(frozen=True, slots=True)
class Trace:
    """How a recall came about."""

    views: tuple[ViewTrace, ...]
    decisions: tuple[Decision, ...]  # every candidate, best first
    confidence: float  # a score, 0 to 1, of whether memory can answer; no probability
    floor: float  # below this confidence nothing is recalled
    ms: float
    aim: str = "fact"  # what the answer was taken to need: see search/question.Aim
    note: str = ""  # in words, when not all of the question was read
    parts: tuple[Part, ...] = ()  # in the order in which they were filled
    # Seqs that might be recalled; None: all.
    within: frozenset[int] | None = field(default=None, repr=False, compare=False)
    without: frozenset[int] = field(default=frozenset(), repr=False, compare=False)  # and those left out
    # Stems of the query's words, by which a passage that is too long is cut.
    stems: tuple[str, ...] = field(default=(), repr=False, compare=False)
