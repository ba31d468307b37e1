"""Marks what no longer holds, and puts what took its place before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zibaldone import log
from zibaldone.core import Evidence, Message, Outdated
from zibaldone.generations import serving
from zibaldone.models.base import Tokenizer
from zibaldone.rendering import OMISSION, line, line_tokens, mark
from zibaldone.storage.database import Database
from zibaldone.views.base import Query
from zibaldone.views.toolkit import cut, evidence_of, to_units
from zibaldone.views.updates import Link, UpdatesView, links_of

_WHOLE = 0.7  # a sentence of that much of a text stands for all of it
_FIRST_WORDS = 7  # of a sentence, by which a reader knows it


def current_first(
    database: Database,
    updates: UpdatesView,
    candidates: Sequence[Evidence],
    query: Query,
    tokenizer: Tokenizer,
) -> list[Evidence]:
    """The candidates, outdated ones marked and right behind what holds now instead of them.

    A message that nobody offered is offered now, if the query may recall it.
    """
    user = query.scope.user
    with database.read() as connection:
        generation = serving(connection, user, updates)
        if generation is None:
            return list(candidates)
        seqs = {seq for unit in candidates for seq in unit.sources}
        known = _in_time(links_of(connection, user, generation.number, seqs), query)
        newer = log.fetch(connection, user, sorted({link.new_seq for link in known}))
    links = {(link.old_seq, link.old_start): link for link in known if link.new_seq in newer}
    by_message: dict[int, list[Link]] = {}
    for known_link in links.values():
        by_message.setdefault(known_link.old_seq, []).append(known_link)
    ranked: dict[tuple[str, tuple[int, ...], int], Evidence] = {}
    offered = {seq: unit for unit in reversed(candidates) for seq in unit.sources}
    for unit in candidates:
        ended = (link for link in by_message.get(unit.sources[0], ()) if _within(link, unit))
        if (link := next(ended, None)) is None:
            ranked.setdefault(_key(unit), unit)
            continue
        last = newest(link, links)
        if query.scope.session in (None, newer[last.new_seq].session):
            current = offered.get(last.new_seq) or _unit_at(
                newer[last.new_seq], last.new_start, unit, tokenizer
            )
            ranked.setdefault(_key(current), current)
        ranked.setdefault(_key(unit), _marked(unit, newer[link.new_seq], link, tokenizer))
    return list(ranked.values())


def holding(
    database: Database, updates: UpdatesView, entries: Sequence[Evidence], query: Query
) -> list[Evidence]:
    """Entries but those that no longer hold: what always holds is not said of them.

    One that was said several times holds unless each of its messages has a sentence that does not.
    """
    user = query.scope.user
    with database.read() as connection:
        generation = serving(connection, user, updates)
        if generation is None or not entries:
            return list(entries)
        seqs = {seq for entry in entries for seq in entry.sources}
        links = _in_time(links_of(connection, user, generation.number, seqs), query)
    ended = {link.old_seq for link in links}
    return [
        entry
        for entry in entries
        if not any(_within(link, entry) for link in links)
        and not (len(entry.sources) > 1 and ended.issuperset(entry.sources))
    ]


def newest(link: Link, links: dict[tuple[int, int], Link]) -> Link:
    """The last of the chain that a link is in."""
    seen = {(link.old_seq, link.old_start)}
    while (place := (link.new_seq, link.new_start)) in links and place not in seen:
        seen.add(place)
        link = links[place]
    return link


def _within(link: Link, unit: Evidence) -> bool:
    """Whether the unit has the sentence that no longer holds."""
    starts = unit.place <= link.old_start < unit.place + max(1, len(unit.text))
    return unit.sources == (link.old_seq,) and starts


def _in_time(links: Sequence[Link], query: Query) -> list[Link]:
    """Those that a recall narrowed to a time, a role or the like may know of."""
    return [link for link in links if query.within is None or link.new_seq in query.within]


def _unit_at(message: Message, start: int, like: Evidence, tokenizer: Tokenizer) -> Evidence:
    """The passage of a message in which a sentence begins, ranked as the one that it replaces."""
    made = to_units([message], cut([message], tokenizer))
    at = max((unit for unit in made if unit.start <= start), key=lambda unit: unit.start, default=made[0])
    return evidence_of(at, like.view, like.score, like.channels)


def _marked(unit: Evidence, by: Message, link: Link, tokenizer: Tokenizer) -> Evidence:
    start = max(0, link.old_start - unit.place)
    sentence = unit.text[start : link.old_end - unit.place].strip()
    whole = len(sentence) >= _WHOLE * len(unit.text)
    first_words = " ".join(sentence.split()[:_FIRST_WORDS])
    shown = "" if whole else first_words if first_words == sentence else f"{first_words} {OMISSION}"
    outdated = replace(unit, outdated=Outdated(by.time if by.is_dated else None, by.seq, link.rule, shown))
    (tokens,) = line_tokens([line(unit.speaker, unit.text) + mark(outdated)], tokenizer.count)
    return replace(outdated, tokens=tokens)


def _key(unit: Evidence) -> tuple[str, tuple[int, ...], int]:
    return unit.view, unit.sources, unit.place
