"""What is looked up in all documents of a user, kept up from those that differ from the last time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from zibaldone.models.base import Vectors
from zibaldone.views.topics.consolidate.duplicates import Sameness, sameness
from zibaldone.views.topics.library import order
from zibaldone.views.topics.markdown.document import Block, Document
from zibaldone.views.topics.markdown.entry import Entry


@dataclass(frozen=True, slots=True)
class DocumentProfile:
    """What is looked up in a document again and again; a function of its body."""

    total: Vectors  # (d,) sum of its entries' vectors
    entries: int
    slots: Mapping[str, list[Entry]]
    by_sameness: Mapping[int, Entry]  # current entries by the hash of what makes them duplicates
    terms: Counter[str]  # in how many of its entries each occurs


class LibraryIndex:
    """Of the documents that it followed last. It computes nothing that depends on those of before."""

    def __init__(self, profile: Callable[[Document], DocumentProfile]) -> None:
        """`profile` makes a document's."""
        self.df: Counter[str] = Counter()  # in how many entries each term occurs
        self._make = profile
        self._held: dict[str, tuple[tuple[Block, ...], DocumentProfile]] = {}  # by id
        self._followed: dict[str, DocumentProfile] = {}  # those that are counted in what is next
        self._by_slot: dict[str, set[str]] = {}  # ids
        self._by_sameness: dict[int, set[str]] = {}  # ids
        self._rows: dict[str, int] = {}  # by id, where its total is
        self._totals: Vectors = np.zeros((0, 0), dtype=np.float32)
        self._entries: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._free: list[int] = []  # rows

    def profile(self, document: Document) -> DocumentProfile:
        """Computed once for each body."""
        held = self._held.get(document.id)
        if held is not None and held[0] is document.body:
            return held[1]
        made = self._make(document)
        self._held[document.id] = (document.body, made)
        if document.id in self._rows:
            self._put(self._rows[document.id], made)
        return made

    def follow(self, documents: Collection[Document]) -> None:
        """These are all documents from now on."""
        for document in documents:
            profile = self.profile(document)
            if (counted := self._followed.get(document.id)) is not profile:
                if counted is not None:
                    self._count(document.id, counted, -1)
                self._count(document.id, profile, 1)
                self._followed[document.id] = profile
        if len(documents) < len(self._followed):
            for gone in self._followed.keys() - {document.id for document in documents}:
                self._count(gone, self._followed.pop(gone), -1)
                del self._held[gone]
                if gone in self._rows:
                    self._free.append(self._rows.pop(gone))

    def claiming(self, slots: Iterable[str]) -> list[str]:
        """Ids of documents with a current entry that has one of the slots; they rise."""
        return sorted({doc_id for slot in slots for doc_id in self._by_slot.get(slot, ())}, key=order)

    def saying(self, key: Sameness) -> tuple[str, Entry] | None:
        """The first document with an entry that is a duplicate of what has this key, and the entry."""
        for doc_id in sorted(self._by_sameness.get(hash(key), ()), key=order) if key else ():
            entry = self._followed[doc_id].by_sameness[hash(key)]
            if sameness(entry) == key:
                return doc_id, entry
        return None

    def totals(self, documents: Sequence[Document]) -> tuple[Vectors, npt.NDArray[np.int64]]:
        """(n, d) sums of the vectors of each one's entries, of at least one; and (n,) how many entries."""
        rows = []
        for document in documents:
            profile = self.profile(document)
            row = self._rows.get(document.id)
            if row is None:
                row = self._rows[document.id] = self._free.pop() if self._free else len(self._rows)
                self._put(row, profile)
            rows.append(row)
        return self._totals[rows], self._entries[rows]

    def _put(self, row: int, profile: DocumentProfile) -> None:
        if row >= len(self._totals):
            length = max(64, 2 * len(self._totals))
            totals = np.zeros((length, len(profile.total)), dtype=np.float32)
            entries = np.zeros(length, dtype=np.int64)
            if len(self._totals):
                totals[: len(self._totals)], entries[: len(self._entries)] = self._totals, self._entries
            self._totals, self._entries = totals, entries
        self._totals[row], self._entries[row] = profile.total, profile.entries

    def _count(self, doc_id: str, profile: DocumentProfile, sign: int) -> None:
        for term, times in profile.terms.items():
            if left := self.df[term] + sign * times:
                self.df[term] = left
            else:
                del self.df[term]
        _note(self._by_slot, profile.slots, doc_id, sign)
        _note(self._by_sameness, profile.by_sameness, doc_id, sign)


def _note(
    ids: dict[str, set[str]] | dict[int, set[str]], keys: Iterable[str | int], doc_id: str, sign: int
) -> None:
    held: dict[str | int, set[str]] = ids  # type: ignore[assignment] # each has keys of its own kind
    for key in keys:
        if sign > 0:
            held.setdefault(key, set()).add(doc_id)
        else:
            held[key].discard(doc_id)
            if not held[key]:
                del held[key]
