"""Marks what no longer holds, and puts what took its place before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zibaldone.core import Decision, Evidence, Message, Outdated
from zibaldone.models.base import Tokenizer
from zibaldone.text.rendering import OMISSION, line, line_tokens, mark
from zibaldone.text.words import terms
from zibaldone.views.notes import Link
from zibaldone.views.toolkit import cut, described, evidence_of, to_units

_WHOLE = 0.7  # a sentence of that much of a text stands for all of it
_FIRST_WORDS = 5  # of a clause, by which a reader knows it
_MOST_WORDS = 20  # of what took its place


def current_first(
    candidates: Sequence[Evidence],
    known: Sequence[Link],
    newer: Mapping[int, Message],
    session: str | None,
    tokenizer: Tokenizer,
) -> list[Evidence]:
    """The candidates, outdated ones marked and right behind what holds now instead of them.

    `newer` has, by seq, the messages at the new ends of the links. One that nobody offered is offered now, if
    it is of the `session`; None: any. Of several links of one clause the one with the newest end counts.
    """
    links = {
        (link.old_seq, link.old_start): link
        for link in sorted(known, key=lambda link: link.new_seq)
        if link.new_seq in newer
    }
    by_message: dict[int, list[Link]] = {}
    for known_link in links.values():
        by_message.setdefault(known_link.old_seq, []).append(known_link)
    ranked: dict[tuple[str, tuple[int, ...], int], Evidence] = {}
    offered = {seq: unit for unit in reversed(candidates) for seq in unit.sources}
    for unit in candidates:
        ended = [link for link in by_message.get(unit.sources[0], ()) if _within(link, unit)]
        marks: list[Outdated] = []
        for link in sorted(ended, key=lambda link: link.old_start):
            last = newest(link, links)
            instead = ""
            if last.new_end > last.new_start and session in (None, newer[last.new_seq].session):
                current = offered.get(last.new_seq)
                if current is None or not 0 <= last.new_start - current.place < max(1, len(current.text)):
                    current = _unit_at(newer[last.new_seq], last.new_start, unit, tokenizer)
                ranked.setdefault(_key(current), current)
                instead = _in_few_words(newer[last.new_seq].content[last.new_start : last.new_end])
            by = newer[(last if instead else link).new_seq]  # a quote stands beside its own day
            marks.append(_outdated(unit, by, link, instead, last.new_seq, alone=len(ended) == 1))
        ranked.setdefault(_key(unit), _marked(unit, marks, tokenizer) if marks else unit)
    return list(ranked.values())


def corrections_instead(
    candidates: Sequence[Evidence],
    newest_of: Mapping[int, int],
    corrections: Mapping[int, Message],
    session: str | None,
    tokenizer: Tokenizer,
) -> tuple[list[Evidence], list[Decision]]:
    """Candidates without what is made of corrected messages alone, and why; in its place what corrects it.

    `newest_of` has the seq of a message's last correction by the seq of the message. Of `corrections` the
    passage comes that has most words of what it replaces; nothing comes of those that are not in it.
    """
    offered = {seq: unit for unit in reversed(candidates) for seq in unit.sources}
    current: dict[tuple[str, tuple[int, ...], int], Evidence] = {}
    replaced: list[Decision] = []
    for rank, unit in enumerate(candidates, 1):
        if not newest_of.keys() >= set(unit.sources):
            current.setdefault(_key(unit), unit)
            continue
        new_seq = max(newest_of[seq] for seq in unit.sources)
        replaced.append(Decision(unit, rank, kept=False, reason=f"message {new_seq} corrects it"))
        message = corrections.get(new_seq)
        if message is None or session not in (None, message.session):
            continue
        if (instead := offered.get(new_seq)) is None:
            made = to_units([message], cut([message], tokenizer))
            if not made:
                continue
            old_words = set(terms(unit.text))
            at = max(made, key=lambda part: len(old_words.intersection(terms(part.text))))
            instead = described(evidence_of(at, unit.view, unit.score, unit.channels), [message])
        current.setdefault(_key(instead), instead)
    return list(current.values()), replaced


def newest(link: Link, links: dict[tuple[int, int], Link]) -> Link:
    """The last of the chain that a link is in."""
    seen = {(link.old_seq, link.old_start)}
    while (place := (link.new_seq, link.new_start)) in links and place not in seen:
        seen.add(place)
        link = links[place]
    return link


def _within(link: Link, unit: Evidence) -> bool:
    """True if the unit has the sentence that no longer holds."""
    starts = unit.place <= link.old_start < unit.place + max(1, len(unit.text))
    return unit.sources == (link.old_seq,) and starts


def _in_few_words(clause: str) -> str:
    """A clause as it stands in a mark."""
    clause_words = clause.split()
    cut = f" {OMISSION}" if len(clause_words) > _MOST_WORDS else ""
    return " ".join(clause_words[:_MOST_WORDS]) + cut


def _unit_at(message: Message, start: int, like: Evidence, tokenizer: Tokenizer) -> Evidence:
    """The passage of a message in which a sentence begins, ranked as the one that it replaces."""
    made = to_units([message], cut([message], tokenizer))
    at = max((unit for unit in made if unit.start <= start), key=lambda unit: unit.start, default=made[0])
    return described(evidence_of(at, like.view, like.score, like.channels), [message])


def _sentence(unit: Evidence, link: Link) -> str:
    """The sentence that no longer holds, as far as the unit has it."""
    return unit.text[max(0, link.old_start - unit.place) : link.old_end - unit.place]


def _outdated(
    unit: Evidence, by: Message, link: Link, instead: str, newest_seq: int, *, alone: bool
) -> Outdated:
    """The mark of one sentence; `alone` in its unit and most of it, it need not be named."""
    sentence = _sentence(unit, link).strip()
    whole = alone and len(sentence) >= _WHOLE * len(unit.text)
    first_words = " ".join(sentence.split()[:_FIRST_WORDS])
    shown = "" if whole else first_words if first_words == sentence else f"{first_words} {OMISSION}"
    since = by.time if by.is_dated else None
    return Outdated(since, by.seq, link.rule, shown, instead, newest_seq)


def _marked(unit: Evidence, marks: Sequence[Outdated], tokenizer: Tokenizer) -> Evidence:
    outdated = replace(unit, outdated=marks[0], also_outdated=tuple(marks[1:]))
    (tokens,) = line_tokens([line(unit.speaker, unit.text) + mark(outdated)], tokenizer.count)
    return replace(outdated, tokens=tokens)


def _key(unit: Evidence) -> tuple[str, tuple[int, ...], int]:
    return unit.view, unit.sources, unit.place
