"""The line that tells of a turn: what was begun, decided, finished or asked for, in the speaker's own words.

A turn begins an episode of its session where its subject turns: after a pause, or where few of its words were
heard just before. It has a line then. A turn that goes on with an episode has one only where it brings the
episode on: somebody decides or has done something, and more is said of it than was heard. A reply that only
agrees has none. What an assistant or a tool says has none either, nor has an editor's correction.

A line is made of clauses, word for word and in their order, 25 words at most: those that say most for their
length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

import regex

from zibaldone.core import EDITOR, MACHINES, Message
from zibaldone.rendering import OMISSION
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms
from zibaldone.views.timeline.clauses import LONGEST_READ, Clause, clauses

MOST_WORDS = 25
PAUSE = timedelta(minutes=30)
HEARD = 4  # messages back that a turn may go on from
_LEAST_ROOM = 5  # words left in a line for which another clause is looked for
_LEAST_TERMS = 3  # on a subject, for a line; fewer where it has a name or a number
_NEW_SHARE = 0.5  # of a turn's terms unheard: its subject turns
_NEW_TERMS = 2  # unheard, that a step brings
_SHORT = 4  # words that a clause is longer than it is: short ones do not win by one telling word
_SILENT = MACHINES | {EDITOR}
# Words by which a turn only takes up what was said.
_REPLY = lazy_pattern(
    r"""^\W*(?:(?:yeah|yes|yep|yup|sure|ok(?:ay)?|right|cool|great|nice|perfect|awesome|absolutely|definitely|exactly
      |thanks?|thank\s+you|got\s+it|i\s+(?:see|agree|get\s+it)|sounds?\s+(?:good|great|like)|no(?:pe)?|hmm+|oh|alright
      |good\s+(?:point|idea)|makes\s+sense)\b
    | (?:that|this|it)(?:['’]s|\s+(?:all\s+)?(?:makes?|sounds?|is|was|really|plan|seems?|helps?))\b
    | those\s+(?:are|sound)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_LETTER = lazy_pattern(r"[\p{L}\p{N}]")
# A sentence or a paragraph is over: at the end of a text, and at the beginning of what follows it.
_CLOSED = lazy_pattern(r"(?:[.!?…。！？:;][\"'”’)\]]*|\n)$")
_CLOSES = lazy_pattern(r"[\"'”’)\]]*\s*[.!?…。！？:;\n]")


@dataclass(frozen=True, slots=True)
class DatedLine:
    """What tells of one message."""

    text: str  # its words, in order; "…" where some of a sentence were left out
    start: int  # where the first of them stands in the message's content


def speaks(message: Message) -> bool:
    """Whether a message is of somebody whose doings a timeline tells: no assistant, tool or editor."""
    return message.voice not in _SILENT


def lines_of(
    messages: Sequence[Message], before: Mapping[str, Sequence[Message]] = MappingProxyType({})
) -> list[tuple[Message, DatedLine]]:
    """The lines of messages in the order of the log; `before` are those right before them, by session."""
    heard = {session: deque(earlier, maxlen=HEARD) for session, earlier in before.items()}
    lines = []
    for message in messages:
        session = heard.setdefault(message.session, deque(maxlen=HEARD))
        if line := line_of(message, tuple(session)):
            lines.append((message, line))
        session.append(message)
    return lines


def line_of(message: Message, before: Sequence[Message]) -> DatedLine | None:
    """The line of a message, or None; `before` are up to HEARD messages right before it in its session."""
    if not speaks(message):
        return None
    names = {earlier.name for earlier in (message, *before) if earlier.name}
    parties = frozenset(term for name in names for term in terms(name))
    own_clauses = clauses(message.content, parties)
    telling = frozenset().union(*(clause.telling for clause in own_clauses))
    if len(telling) < _LEAST_TERMS and not any(clause.specific for clause in own_clauses):
        return None
    episode = _episode(message, before)
    replies = bool(episode) and _REPLY.match(message.content) is not None
    # What an assistant lays out at length holds most words of a subject: only a reply is measured by it.
    heard = _heard(episode if replies else [earlier for earlier in episode if speaks(earlier)])
    new = telling - heard
    if heard and (replies or len(new) < _NEW_SHARE * len(telling)):
        steps = [clause for clause in own_clauses if clause.acts and clause.telling - heard]
        if not steps or len(new) < _NEW_TERMS:
            return None
    return _written(message.content, _best(own_clauses))


def _episode(message: Message, before: Sequence[Message]) -> list[Message]:
    """What was said right before it in its session, up to a pause."""
    episode: list[Message] = []
    later = message.time
    for earlier in reversed(before[-HEARD:]):
        if later is not None and earlier.time is not None and later - earlier.time > PAUSE:
            break
        episode.append(earlier)
        later = earlier.time
    return episode


def _heard(episode: Sequence[Message]) -> frozenset[str]:
    return frozenset(term for earlier in episode for term in terms(earlier.content[:LONGEST_READ]))


def _best(own_clauses: Sequence[Clause]) -> list[Clause]:
    """Clauses by worth for their length while they fit; at least one, which may be longer than a line."""
    ranked = sorted(
        range(len(own_clauses)), key=lambda i: (-own_clauses[i].worth / (own_clauses[i].words + _SHORT), i)
    )
    taken: list[int] = []
    room, covered = MOST_WORDS, frozenset[str]()
    for place in ranked:
        clause = own_clauses[place]
        if len(clause.telling - covered) < (2 if taken else 1):
            continue
        if clause.words <= room or not taken:
            taken.append(place)
            room -= clause.words
            covered |= clause.telling
        if room < _LEAST_ROOM:
            break
    return [own_clauses[place] for place in sorted(taken)]


def _written(content: str, chosen: Sequence[Clause]) -> DatedLine:
    """The clauses as one line: what stands between neighbours is kept, what was left out is marked.

    So it is where a sentence is begun or broken off inside: "if it rains" may stand before.
    """
    opening = content[: chosen[0].start].rstrip(" \t")
    begins_inside = _LETTER.search(opening) and not _CLOSED.search(opening)
    text, room, end = f"{OMISSION} " if begins_inside else "", MOST_WORDS, 0
    for clause in chosen:
        between = content[end : clause.start]
        if end and _LETTER.search(between):
            text += f" {OMISSION} "
        elif end:
            text += " ".join(between.split()).rstrip() + " "
        clause_words = content[clause.start : clause.end].split()
        text += " ".join(clause_words[:room])
        is_cut = len(clause_words) > room
        room, end = room - clause.words, clause.end
    if is_cut or (_LETTER.search(content, end) and not (_CLOSED.search(text) or _CLOSES.match(content, end))):
        text += f" {OMISSION}"
    return DatedLine(text, chosen[0].start)
