"""What a model says of a chunk, held against the very sources it names: what they do not say is refused.

A word that no source of a text has would outlive its message when that is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from zibaldone.text.dates import find_days
from zibaldone.text.faithfulness import SourceTexts, nearest, with_sources
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.gate import Piece
from zibaldone.views.chunks.tasks import Note

SourceText = tuple[str, str | None, datetime]  # text, speaker, time


def source_texts(sources: Iterable[Piece | Item]) -> SourceTexts:
    """Their texts; who speaks, when, and the days that they name may be said as well."""
    texts: list[str] = []
    context: set[str] = set()
    for source in sources:
        text, speaker, time = _said(source)
        texts.append(text)
        days = [time.date(), *(day for d in find_days(text, time.date()) for day in (d.first, d.last))]
        context.update(f"{day.isoformat()} {day:%A}" for day in days)
        context.add(speaker or "")
    return SourceTexts(texts, " ".join(sorted(context)))


def grounded(
    notes: Sequence[Note], sources: Mapping[int, Sequence[Piece | Item]], plain: Mapping[int, Sequence[Item]]
) -> tuple[list[Note | Item], list[str]]:
    """The notes that their sources bear out; in the place of each other the plain items of its sources.

    Also why the others were refused. Ids that were not given are no sources of a note. A plain item is left
    out where a note that stands has its source.
    """
    notes = [
        Note(text=note.text, sources=[n for n in dict.fromkeys(note.sources) if n in sources])
        for note in notes
    ]
    judged = [_judged(note, sources) for note in notes]
    notes, faults = [note for note, _ in judged], [fault for _, fault in judged]
    covered = {n for note, fault in zip(notes, faults, strict=True) if not fault for n in note.sources}
    result: list[Note | Item] = []
    for note, fault in zip(notes, faults, strict=True):
        if not fault:
            result.append(note)
            continue
        for number in sorted(set(note.sources) - covered):
            covered.add(number)
            result += plain.get(number, ())
    return result, [f"{note.text!r} {fault}" for note, fault in zip(notes, faults, strict=True) if fault]


def _judged(note: Note, sources: Mapping[int, Sequence[Piece | Item]]) -> tuple[Note, str]:
    """The note with all its sources, and why they do not bear it out."""
    if not note.sources:
        return note, "names no source that was given"

    def read(numbers: Sequence[int]) -> SourceTexts:
        return source_texts(part for number in numbers for part in sources[number])

    named, fault = with_sources(note.text, note.sources, nearest(note.sources, sources), read)
    return Note(text=note.text, sources=named), fault


def _said(source: Piece | Item) -> SourceText:
    if isinstance(source, Item):
        return source.text, source.speaker, source.time
    message = source.message
    assert message.time is not None
    return source.text, message.speaker, message.time
