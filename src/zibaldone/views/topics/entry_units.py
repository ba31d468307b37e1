"""Entries as units: each entry is a row of the units' table, found by its own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

from sqlalchemy import Connection

from zibaldone.core import Message
from zibaldone.models.base import Tokenizer, Vectors
from zibaldone.search.unit import Days, Unit
from zibaldone.text.dates import find_days
from zibaldone.text.rendering import line, line_tokens
from zibaldone.views import units
from zibaldone.views.base import Generation
from zibaldone.views.topics.library import Library
from zibaldone.views.topics.markdown.entry import AI, Entry

NAME = "topics"
_PLACES = 1 << 10  # of entries of a message, that a part tells apart


Entries = Mapping[units.Key, Entry]  # those with sources, by the keys of their units


def sources_of(entry: Entry) -> tuple[int, ...]:
    """Seqs of an entry's messages: the one that it stands on first, then the others, rising."""
    return (*entry.sources[-1:], *entry.sources[:-1])


def entries_of(library: Library | None) -> Entries:
    entries = library.entries() if library else ()
    return {_key(entry): entry for entry in entries if entry.sources}


def _key(entry: Entry) -> units.Key:
    """Key of an entry's unit: its message, its place there, and a hash of its words and sources.

    The same entry always has the same key, and no key is reused for another text.
    """
    digest = blake2b(repr((sources_of(entry), entry.text)).encode(), digest_size=4).digest()
    place = min(entry.part, _PLACES - 1)
    return entry.sources[-1], place << 20 | int.from_bytes(digest) & 0xFFFFF


def rows_of(new: Entries, vectors: Vectors, tokenizer: Tokenizer) -> list[units.Row]:
    """Make the rows of new entries; `vectors` (n, d) are in order."""
    speakers = ("assistant" if one.source == AI else one.source or "user" for one in new.values())
    lines = [line(who, one.text) for who, one in zip(speakers, new.values(), strict=True)]
    counts = line_tokens(lines, tokenizer.count)
    return [
        units.Row(sources_of(entry), part, "entry", tokens, vector, _days(entry), text=entry.text)
        for ((_, part), entry), tokens, vector in zip(new.items(), counts, vectors, strict=True)
    ]


def replace(
    connection: Connection, generation: Generation, gone: Sequence[units.Key], new: Sequence[units.Row]
) -> None:
    """Delete the units of entries that are gone, and insert the rows of new ones."""
    units.remove(connection, NAME, generation, gone)
    units.insert(connection, NAME, generation, new)


def missing(connection: Connection, generation: Generation, library: Library) -> list[str]:
    """Entries of the documents without units, and units of no entry."""
    stored = set(units.keys(connection, NAME, generation))
    wanted = set(entries_of(library))
    return [f"no unit of an entry of message {seq}" for seq, _ in sorted(wanted - stored)] + [
        f"a unit of message {seq} that is no entry of a document" for seq, _ in sorted(stored - wanted)
    ]


def to_units(entries: Sequence[Entry], message: Message, tokenizer: Tokenizer) -> list[Unit]:
    """Units of the entries of a message that the view has not read yet."""
    counts = line_tokens([line(message.speaker, entry.text) for entry in entries], tokenizer.count)
    return [
        units.unit_on(
            message, sources_of(entry), _key(entry)[1], entry.text, "entry", tokens, 0, _days(entry)
        )
        for entry, tokens in zip(entries, counts, strict=True)
    ]


def _days(entry: Entry) -> Days:
    """Days that the entry's time covers, and that its text names, as ordinals."""
    start = entry.time.start if entry.time else None
    if start is None:
        return ()
    own = start.toordinal()
    named = [days.ordinals for days in find_days(entry.text, start.date())]
    return tuple(dict.fromkeys([(own, own), *named]))
