"""JOINTCOMPACT (Algorithm 1, lines 8 and 9), and the checks of a model's answers against their sources.

An update is a new version of a chunk, out of place; replaced items go to the history with the messages that
replaced them. Whatever is wrong in an answer is dropped and the rest stands: a note that says more than its
sources, or less; an id that was not shown; a change that the new items do not bear out. New items that no
note tells whole stay as they were, and an earlier item keeps what still holds of it. A word that no source of
a text has would outlive its message when that is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from zibaldone.text.dates import find_days
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers, nearest, with_sources
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms
from zibaldone.views.chunks.chunk import Item
from zibaldone.views.chunks.gate import Piece
from zibaldone.views.chunks.tasks import Compacted, Note, NoteDeletion, NoteUpdate

SourceText = tuple[str, str | None, datetime]  # text, speaker, time


def source_texts(sources: Iterable[Piece | Item]) -> SourceTexts:
    """Texts of sources, with speakers, times and named days as context that may be told too."""
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
    """Notes that their sources bear out, each other replaced by the plain items of its sources.

    Also why the others were refused. Ids that were not given are no sources of a note. Where notes that stand
    have all of its sources, the plain item that has most of its words takes its place.
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
        bare = sorted(set(note.sources) - covered)
        covered.update(bare)
        instead = [item for number in bare or note.sources for item in plain.get(number, ())]
        if not bare and instead:
            its_terms = set(terms(note.text))
            instead = [max(instead, key=lambda item: len(its_terms & set(terms(item.text))))]
        result += [item for item in instead if item not in result]
    return result, [f"{note.text!r} {fault}" for note, fault in zip(notes, faults, strict=True) if fault]


def _judged(note: Note, sources: Mapping[int, Sequence[Piece | Item]]) -> tuple[Note, str]:
    """(note with all its sources, reason why they do not bear it out or "")."""
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


SUPERSEDED, DUPLICATE = "superseded", "duplicate"


@dataclass(frozen=True, slots=True)
class ItemUpdate:
    """Change or removal of an item of an earlier chunk."""

    chunk: int
    item: int
    text: str | None  # None: it goes
    reason: str
    because: tuple[int, ...]  # seqs of the messages that say so


@dataclass(frozen=True, slots=True)
class Compaction:
    """`(m', U, D)`: items of the new chunk, and changes of earlier ones."""

    items: tuple[Item, ...]
    updates: tuple[ItemUpdate, ...]


def apply(update: ItemUpdate, items: Sequence[Item]) -> tuple[list[Item], Item | None]:
    """(the chunk's items afterwards, the item before); None if it is not there any more."""
    old = next((item for item in items if item.id == update.item), None)
    if old is None:
        return list(items), None
    if update.text is None:
        return [item for item in items if item.id != old.id], old
    # A shortened item is still its own message's; what a model wrote anew stands on both.
    sources = old.sources
    if update.reason != SUPERSEDED or not _is_extract(update.text, old.text):
        sources = tuple(sorted({*old.sources, *update.because}))
    changed = replace(old, text=update.text, sources=sources)
    return [changed if item.id == old.id else item for item in items], old


def _is_extract(text: str, of: str) -> bool:
    return all(text[start:end] in of for start, end in sentences(text))


def carried_out(
    answer: Compacted, new: Sequence[Item], related: Mapping[int, Sequence[Item]]
) -> tuple[Compaction, list[str]]:
    """`(m', U, D)` as far as the items bear it out, and reasons why parts were refused."""
    items, refused = _refined(answer.items, new)
    updates: list[ItemUpdate] = []
    old_of = {(chunk, item.id): item for chunk, those in related.items() for item in those}
    new_of = {item.id: item for item in new}
    changes: list[NoteUpdate | NoteDeletion] = [*answer.updates, *answer.deletions]
    for change in changes:
        old = old_of.pop((change.chunk, change.item), None)  # an item changes once
        because = [new_of[i] for i in dict.fromkeys(change.because) if i in new_of]
        update = _change(change, old, because) if old and because else None
        if update:
            updates.append(update)
        else:
            refused.append(f"{change} is not borne out")
    return Compaction(tuple(items), tuple(updates)), refused


def _refined(notes: Sequence[Note], new: Sequence[Item]) -> tuple[list[Item], list[str]]:
    """(notes that their items bear out, with items that no note tells whole; reasons for refusals)."""
    new_of = {item.id: item for item in new}
    entries, refused = grounded(notes, {item.id: [item] for item in new}, {})
    stands = [entry for entry in entries if isinstance(entry, Note)]
    whole = {item.id for item in new if not _left_out(item, [n.text for n in stands if item.id in n.sources])}
    telling = [note for note in stands if not whole.isdisjoint(note.sources)]
    kept = [(min(note.sources), _item(note, new_of)) for note in telling]
    kept += [(item.id, item) for item in new if item.id not in whole]
    ordered = [item for _, item in sorted(kept, key=lambda pair: pair[0])]
    partly = [f"{n.text!r} leaves out what its notes say" for n in stands if not whole.issuperset(n.sources)]
    return [replace(item, id=number) for number, item in enumerate(ordered, 1)], refused + partly


def _left_out(item: Item, texts: Sequence[str]) -> bool:
    """True if these texts lack a name, number or negation of the item.

    Words that name a day may be missing: the notes have dates instead.
    """
    given, text = SourceTexts(texts, item.speaker or ""), item.text
    for days in reversed(find_days(text, item.time.date())):
        text = f"{text[: days.start]}{text[days.end :]}"
    missing = names_and_numbers(text).intersection(given.invented(text))
    return bool(missing) or bool(given.turned(item.text)) or not texts


def _item(note: Note, new_of: Mapping[int, Item]) -> Item:
    """The note as an item of its own, or the item whose words it repeats."""
    stands_on = [new_of[i] for i in note.sources]
    last = max(stands_on, key=lambda item: (item.time, item.sources))
    if len(stands_on) == 1 and note.text.strip() in (last.text, f"{last.speaker}: {last.text}"):
        return last
    return Item(0, note.text.strip(), None, _seqs(stands_on), last.time, last.session)


def _change(change: NoteUpdate | NoteDeletion, old: Item, because: Sequence[Item]) -> ItemUpdate | None:
    """Change of an earlier item; None if the new items are no reason for it.

    That a new value takes an old one's place is for a model to judge: they need not share a word. What
    repeats an item says all of it.
    """
    if isinstance(change, NoteUpdate):
        text = change.text.strip()
        if not text or source_texts([old, *because]).refusal(text):
            return None
        rest = _untouched(old, [text, *(item.text for item in because)])
        return ItemUpdate(change.chunk, old.id, " ".join([text, *(rest or ())]), SUPERSEDED, _seqs(because))
    if change.reason == DUPLICATE:
        if source_texts(because).refusal(old.text):
            return None
        return ItemUpdate(change.chunk, old.id, None, DUPLICATE, _seqs(because))
    rest = _untouched(old, [item.text for item in because])
    if rest is None:
        return None
    return ItemUpdate(change.chunk, old.id, " ".join(rest) or None, SUPERSEDED, _seqs(because))


def _untouched(old: Item, texts: Iterable[str]) -> list[str] | None:
    """Sentences of an item that share no word with its replacement; None if none of several does.

    A lone sentence is meant all the same: "We live in Paris" goes for "I moved to Rome".
    """
    spans = sentences(old.text)
    touching = {term for text in texts for term in terms(text)} - set(terms(old.speaker or ""))
    rest = [old.text[start:end] for start, end in spans if touching.isdisjoint(terms(old.text[start:end]))]
    if len(rest) < len(spans):
        return rest
    return None if len(spans) > 1 else []


def _seqs(items: Iterable[Item]) -> tuple[int, ...]:
    return tuple(sorted({seq for item in items for seq in item.sources}))
