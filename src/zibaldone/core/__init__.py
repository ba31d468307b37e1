"""The shared vocabulary. Imports no sibling at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

DEFAULT_SESSION = "default"
MYSELF = "me"  # the default user of the command line and the page
MACHINES = frozenset(
    {"assistant", "system", "developer", "tool", "function", "thinking"}
)  # roles of programs, not people
TIME_KNOWN = "time_known"  # in a message's metadata; false: its time is that of its import
AGENT = "agent"  # in a message's metadata: the agent that it was said to or by
WRITTEN_BY = "written_by"  # in a message's metadata, of a shared memory: the user who wrote it there
NOISE = "noise"  # in a message's metadata: its kind of noise, one of NOISES
NOISES = frozenset({"call", "result", "thinking", "hidden", "notice"})
PROFILE = "profile"  # in a message's metadata: the kind of note that each of its sentences is
EDITOR = "editor"  # the role of messages that correct others
OWNERS_WORDS = "owners_words"  # in a message's metadata; false: another's, or nobody knows whose
CORRECTS = "corrects"  # in its metadata: {"seqs": [...], "ids": [...], "role": ...} of what it corrects
OWN_METADATA = frozenset(
    {CORRECTS, TIME_KNOWN, AGENT, WRITTEN_BY, NOISE, PROFILE, OWNERS_WORDS, "attachments"}
)  # keys that we write


@dataclass(frozen=True, slots=True)
class Scope:
    """A user, and perhaps a session. `user` is the tenant wall: nothing crosses it, statistics included."""

    user: str
    session: str | None = None  # narrows to one session; None is all of the user's sessions


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. What is stored has a `seq`, an `id` and a `time`."""

    content: str
    role: str = "user"
    name: str | None = None  # the speaker, if the role alone does not tell
    time: datetime | None = None  # when it happened (aware); None: the moment it is stored
    session: str = DEFAULT_SESSION
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)  # JSON, kept as given
    id: str | None = None  # the caller's own, makes a retried add idempotent; None: one is made
    seq: int = 0  # rises by one per user from 1; 0: not stored yet
    # Bytes of its metadata's attachments, in their order; stored only if `add` is told to; never read back.
    files: tuple[bytes | None, ...] = field(default=(), repr=False, compare=False)

    @property
    def speaker(self) -> str:
        """The name, or else the role: what stands before the colon when the message is shown."""
        return self.name or self.voice

    @property
    def voice(self) -> str:
        """The role of the speaker; a correction has the role of the message that it corrects."""
        role = self._correction.get("role")
        return role if isinstance(role, str) and role.splitlines() == [role] else self.role

    @property
    def corrects(self) -> tuple[int, ...]:
        """Seqs of the earlier versions that this message replaces, oldest first."""
        given, end = self._correction.get("seqs"), self.seq or 2**63
        seqs = given if isinstance(given, list) else ()
        return tuple(seq for seq in seqs if type(seq) is int and 0 < seq < end)

    @property
    def corrected_ids(self) -> tuple[str, ...]:
        """Ids of the messages that this one corrects: the same in every memory, as seqs are not."""
        ids = self._correction.get("ids")
        return tuple(given for given in ids if isinstance(given, str)) if isinstance(ids, list) else ()

    @property
    def _correction(self) -> Mapping[str, Any]:
        given = self.metadata.get(CORRECTS) if self.role == EDITOR else None
        return given if isinstance(given, Mapping) else {}

    @property
    def is_noise(self) -> bool:
        """True for tool traffic, thoughts and hidden messages, which nobody said to anybody."""
        kind = self.metadata.get(NOISE)
        return isinstance(kind, str) and kind in NOISES

    @property
    def is_dated(self) -> bool:
        """True if its time is known; False if it was imported without one."""
        return self.metadata.get(TIME_KNOWN) is not False


@dataclass(frozen=True, slots=True)
class ChannelScore:
    """The rank and score that one channel of a view gave a candidate."""

    channel: str  # such as "bm25" or "dense"
    rank: int  # from 1; 0: the channel did not find it
    score: float


@dataclass(frozen=True, slots=True)
class Outdated:
    """A mark that a recalled text holds no more."""

    since: datetime | None  # time of the message that says otherwise; None: unknown
    by: int  # its seq
    rule: str = ""  # the rule or model that noticed it; "" from a server, which does not say
    sentence: str = ""  # the sentence that holds no more, if the text has others
    instead: str = ""  # a few words that hold now; "" if the recall may not show them
    newest: int = 0  # the seq of the message that says so


@dataclass(frozen=True, slots=True)
class Evidence:
    """One intact unit that a view offers."""

    text: str  # verbatim, but parts may be left out
    speaker: str | None  # None if nobody said it
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
    outdated: Outdated | None = None  # set if a later message says otherwise
    standing: bool = False  # always known of the user: rendered before all else
    role: str | None = None  # of the speaker; None if its messages have several
    ids: tuple[str, ...] = ()  # of the messages, as `sources`
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)  # of the first of them
    begins_inside: bool = False  # the text begins inside a sentence
    ends_inside: bool = False  # the text ends inside a sentence
    also_outdated: tuple[Outdated, ...] = ()  # marks of further sentences
    scope: str = ""  # the shared memory that has its sources; "": one's own


@dataclass(frozen=True, slots=True)
class Citation:
    """The message that a part of a recalled text comes from."""

    seq: int
    session: str
    time: datetime
    start: int  # text[start:end] of the Recall comes from the message, later lines indented
    end: int
    id: str | None = None  # of the message
    role: str | None = None  # of who said it
    scope: str = ""  # the shared memory that has the message; "": one's own


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a recall on one candidate, with its reason."""

    evidence: Evidence
    rank: int  # from 1, after fusion
    kept: bool
    reason: str


# The score explanation for a seq, candidate or not; None if the view has no such message.
Explains = Callable[[int], tuple[ChannelScore, ...] | None]


@dataclass(frozen=True, slots=True)
class ViewTrace:
    """One view's part in a recall."""

    view: str
    candidates: int  # units offered
    considered: int  # units scored
    ms: float
    model_calls: int = 0
    note: str = ""  # in words, when something was degraded or cut
    explain: Explains | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Part:
    """The budget and size of one part of a recalled text."""

    name: str  # "standing" or "evidence"
    room_tokens: int  # at most
    tokens: int  # without headers
    units: int


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a recall."""

    views: tuple[ViewTrace, ...]
    decisions: tuple[Decision, ...]  # every candidate, best first
    confidence: float  # a score, 0 to 1, of whether memory can answer; no probability
    floor: float  # below this confidence nothing is recalled
    ms: float
    aim: str = "fact"  # what the answer was taken to need: see search/question.Aim
    note: str = ""  # in words, when something was not read
    parts: tuple[Part, ...] = ()  # in the order in which they were filled
    # Seqs that might be recalled; None: all.
    within: frozenset[int] | None = field(default=None, repr=False, compare=False)
    without: frozenset[int] = field(default=frozenset(), repr=False, compare=False)  # and those left out
    # Stems of the query's words, by which a passage that is too long is cut.
    stems: tuple[str, ...] = field(default=(), repr=False, compare=False)
    # Of each shared memory that was recalled beside one's own, by its name.
    shared: Mapping[str, Trace] = field(default_factory=dict, repr=False, compare=False)
    missing: tuple[str, ...] = ()  # shared memories that could not be recalled; `note` says why
