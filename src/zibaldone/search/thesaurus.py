"""Vectors of one user's own vocabulary, so that a query's word can reach words that mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from zibaldone.models.base import Embedder, Vectors
from zibaldone.models.embedding import unit
from zibaldone.search.dense import Matrix
from zibaldone.search.saved import SavedIndex, in_byte_order

_LAST_BITS = 1e-5
_TERM_BYTES = 560  # its forms in a set, its row, the letters, and their places in four tables
Pairs = Sequence[tuple[str, str]]  # (surface form, term)


class Thesaurus:
    """A term's vector is the mean of the vectors of its surface forms, in a static embedder."""

    def __init__(self, embedder: Embedder, saved: Sequence[SavedIndex] = ()) -> None:
        self._embedder = embedder
        # Segments, which are not in the following four: these have what came since. A term whose vector is
        # made anew has a row behind the one that it had, which is zero from then on.
        self._saved: list[_SavedTerms] = []
        self._uses: Counter[str] = Counter()  # words that have the form
        self._forms: dict[str, set[str]] = {}  # by term
        self._row: dict[str, int] = {}
        self._terms: list[str] = []  # by row
        self._changed: set[str] = set()  # terms whose vector is to be made anew
        self._replaced: set[int] = set()  # rows of segments that are zero since
        self._vectors = Matrix(embedder.dimension, saved, "thesaurus.vectors")
        for part in saved:
            self._saved.append(_SavedTerms(part, self._saved_rows))
            self._vectors.put(
                part.numbers("thesaurus.replaced"), _zeros(part["thesaurus.replaced"], embedder)
            )

    def __len__(self) -> int:
        """Terms that have, or will have, a vector."""
        self.settle()
        return int(np.count_nonzero(self._vectors.has(slice(None))))

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; saved ones are not counted, vectors still to be made are."""
        to_come = len(self._forms) * self._embedder.dimension
        return _TERM_BYTES * len(self._forms) + max(self._vectors.nbytes, to_come)

    def learn(self, pairs: Pairs) -> None:
        """Note the surface forms and terms of a word that was not there before."""
        for form, term in _worded(pairs):
            self._uses[form] += 1
            if self._uses[form] == 1:
                self._forms.setdefault(term, set()).add(form)
                self._changed.add(term)

    def unlearn(self, pairs: Pairs) -> None:
        """Forget a word that was learnt and is there no more, and at once its term, if that was all of it."""
        self._unpack()
        for form, term in _worded(pairs):
            self._uses[form] -= 1
            if not self._uses[form]:
                del self._uses[form]
                self._forms[term].discard(form)
                self._changed.add(term)
                if not self._forms[term]:
                    self._drop(term)

    def let_go(self) -> None:
        """Refer no more to what was saved."""
        self._unpack()
        self._vectors.keep(np.ones(len(self._vectors), dtype=bool))

    def near(self, forms: Sequence[str], threshold: float) -> list[list[tuple[str, float]]]:
        """Per form, the vocabulary's terms of at least this cosine (above 0) with the cosine, by term."""
        self.settle()
        if not forms or not len(self._vectors):
            return [[] for _ in forms]
        near_terms = []
        for column in self._vectors.products_of_each(self._embedder.embed(forms)):
            rows = np.flatnonzero(column >= threshold - _LAST_BITS).tolist()
            # Rounded: the last bits depend on where in the matrix a row happens to stand.
            near = zip(map(self._term, rows), np.round(column[rows], 5).tolist(), strict=True)
            near_terms.append(sorted(pair for pair in near if pair[1] >= threshold))
        return near_terms

    def save(self, saved: SavedIndex, kept: int = 0) -> None:
        """Put there terms, forms and vectors of what is behind the first `kept` segments."""
        self.settle()
        entries: dict[str, tuple[int, dict[str, int]]] = {}
        own = ((self._row[t], t, {form: self._uses[form] for form in of}) for t, of in self._forms.items())
        for row, term, uses in chain(*(part.all() for part in self._saved[kept:]), own):
            entries[term] = row, _added(entries[term][1], uses) if term in entries else uses
        terms = in_byte_order(list(entries))
        forms = [sorted(entries[term][1].items()) for term in terms]
        saved.put_texts("thesaurus.terms", terms)
        self._vectors.save(saved, np.array([entries[term][0] for term in terms], dtype=np.int64))
        saved.put_texts("thesaurus.forms", [form for of in forms for form, _ in of])
        saved.put_numbers("thesaurus.uses", np.array([n for of in forms for _, n in of], dtype=np.int64))
        saved.put_numbers("thesaurus.ends", np.cumsum([len(of) for of in forms], dtype=np.int64))
        first = self._saved[kept].first if kept < len(self._saved) else self._saved_rows
        replaced = self._replaced.union(*(part.replaced.tolist() for part in self._saved[kept:]))
        behind = sorted(row for row in replaced if row < first)
        saved.put_numbers("thesaurus.replaced", np.array(behind, dtype=np.int64))

    @property
    def _saved_rows(self) -> int:
        return self._saved[-1].end if self._saved else 0

    def _term(self, row: int) -> str:
        if row >= self._saved_rows:
            return self._terms[row - self._saved_rows]
        part = next(part for part in self._saved if row < part.end)
        return part.terms[row - part.first]

    def _unpack(self) -> None:
        """Take what was saved in, to be changed."""
        if not self._saved:
            return
        self._terms = [*chain.from_iterable(part.terms for part in self._saved), *self._terms]
        self._row = {term: row for row, term in enumerate(self._terms)}  # the last of each
        for _, term, uses in chain.from_iterable(part.all() for part in self._saved):
            self._forms.setdefault(term, set()).update(uses)
            self._uses.update(uses)
        self._saved, self._replaced = [], set()

    def settle(self) -> None:
        """Make the vectors of changed terms."""
        if not self._changed:
            return
        changed = sorted(self._changed)
        fresh = [term for term in changed if term not in self._row]
        self._row.update((term, row) for row, term in enumerate(fresh, len(self._vectors)))
        self._terms.extend(fresh)
        self._vectors.extend(_zeros(fresh, self._embedder))
        all_forms = {term: self._forms[term].copy() for term in changed}
        for part in self._saved:
            for term, place in part.terms.places_of(all_forms).items():
                all_forms[term].update(part.forms_of(place))
                self._replaced.add(part.first + place)
        self._vectors.put(sorted(self._replaced), _zeros(self._replaced, self._embedder))
        owners = [place for place, term in enumerate(changed) for _ in all_forms[term]]
        forms = [form for term in changed for form in sorted(all_forms[term])]
        sums: Vectors = np.zeros((len(changed), self._embedder.dimension), dtype=np.float32)
        np.add.at(sums, owners, self._embedder.embed(forms))
        self._vectors.put(np.array([self._row[term] for term in changed]), unit(sums))
        self._changed.clear()

    def _drop(self, term: str) -> None:
        """A term without forms; its row stays, with a zero vector that nothing is near."""
        del self._forms[term]
        self._changed.discard(term)
        if (row := self._row.pop(term, None)) is not None:
            self._terms[row] = ""
            self._vectors.put([row], _zeros([row], self._embedder))


class _SavedTerms:
    """Terms in the order of their bytes; the forms of each, sorted."""

    def __init__(self, saved: SavedIndex, first: int) -> None:
        """`first` is the row of the first term's vector."""
        self.terms, self._forms = saved.texts("thesaurus.terms"), saved.texts("thesaurus.forms")
        self._ends, self._uses = saved["thesaurus.ends"], saved["thesaurus.uses"]
        self.replaced = saved["thesaurus.replaced"]  # rows of earlier segments
        self.first, self.end = first, first + len(self.terms)

    def forms_of(self, place: int) -> list[str]:
        begin = int(self._ends[place - 1]) if place else 0
        return [self._forms[at] for at in range(begin, int(self._ends[place]))]

    def all(self) -> Iterator[tuple[int, str, dict[str, int]]]:
        """(row, term, forms and the uses of each)."""
        forms = zip(self._forms, self._uses.tolist(), strict=True)
        sizes = np.diff(self._ends, prepend=0).tolist()
        for row, (term, size) in enumerate(zip(self.terms, sizes, strict=True), self.first):
            yield row, term, dict(islice(forms, size))


def _added(uses: dict[str, int], more: dict[str, int]) -> dict[str, int]:
    return uses | {form: count + uses.get(form, 0) for form, count in more.items()}


def _zeros(rows: Collection[object], embedder: Embedder) -> Vectors:
    return np.zeros((len(rows), embedder.dimension), dtype=np.float32)


def _worded(pairs: Pairs) -> Pairs:
    """Numbers, hashes and ids mean nothing like anything, and there is no end of them."""
    return [pair for pair in pairs if not any(map(str.isdigit, pair[0]))]
