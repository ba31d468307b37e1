"""Which sentences no longer hold because a person corrected the profile: links to the corrections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zibaldone.views.links import Link
from zibaldone.views.profile.clauses import KINDS
from zibaldone.views.profile.corrections import Act, Correction
from zibaldone.views.profile.entries import EntryDraft
from zibaldone.views.profile.settling import Settled

_RULES: dict[Act, str] = {"changed": "edited", "removed": "retired"}
_Span = tuple[int, int, int]  # seq, and start and end in that message


def ended_by_hand(settled: Settled, user: str, generation: int, seqs: Iterable[int]) -> tuple[Link, ...]:
    """The links that begin or end in these messages, in the order of the newer sentences.

    From an entry's sentence, and from the wordings that a person gave it since, to its last one; nothing took
    the place of an entry that was retired. And from and to what an edited entry supersedes in its new words.
    """
    if not settled.corrections:
        return ()
    wanted = set(seqs)
    pairs = [*_corrected(settled), *_superseded(settled)]
    links = {
        Link(user, generation, *old, *new, rule)
        for old, new, rule in pairs
        if not wanted.isdisjoint((old[0], new[0]))
    }
    return tuple(sorted(links, key=lambda link: (link.new_seq, link.new_start, link.old_seq, link.old_start)))


def _corrected(settled: Settled) -> Iterator[tuple[_Span, _Span, str]]:
    for (seq, mark, _), corrections in settled.corrections.items():
        acts = [correction for correction in corrections if correction.act in _RULES]
        if not acts:
            continue
        *before, last = acts
        stated = next(
            (read.unit for kind in KINDS if (read := settled.statements.get((seq, mark, kind)))), None
        )
        new = _span(last)
        if stated is not None and stated.text != last.text:
            yield (seq, stated.start, stated.start + len(stated.text)), new, _RULES[last.act]
        for earlier in before:
            if earlier.act == "changed" and earlier.text != last.text:
                yield _span(earlier), new, _RULES[last.act]


def _superseded(settled: Settled) -> Iterator[tuple[_Span, _Span, str]]:
    by_id = {draft.id: draft for draft in settled.drafts}
    for old in settled.drafts:
        new = by_id.get(old.superseded_by or "")
        if new is not None and (old.spoken_by or new.spoken_by):
            yield _span_of(old), _span_of(new), "edited"


def _span(correction: Correction) -> _Span:
    seq = correction.message.seq
    return seq, 0, len(correction.message.content) if correction.act == "changed" else 0


def _span_of(draft: EntryDraft) -> _Span:
    unit = draft.spoken_by or draft.unit
    return unit.seq, unit.start, unit.start + len(draft.text)
