"""Vectors of one user's own vocabulary, so that a query's word can reach words that mean the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from zibaldone.models.base import Embedder, Vectors
from zibaldone.search.dense import Matrix
from zibaldone.search.saved import SavedIndex

_LAST_BITS = 1e-5
_TERM_BYTES = 560  # its forms in a set, its row, the letters, and their places in four tables
Pairs = Sequence[tuple[str, str]]  # (surface form, term)


class Thesaurus:
    """A term's vector is the mean of the vectors of its surface forms, in a static embedder."""

    def __init__(self, embedder: Embedder, saved: SavedIndex | None = None) -> None:
        self._embedder = embedder
        self._saved = saved  # what is not in the following four yet
        self._uses: Counter[str] = Counter()  # words that have the form
        self._forms: dict[str, set[str]] = {}  # by term
        self._row: dict[str, int] = {}
        self._terms: list[str] = []  # by row
        self._changed: set[str] = set()  # terms whose vector is to be made anew
        self._vectors = Matrix(embedder.dimension, saved, "thesaurus.vectors")

    def __len__(self) -> int:
        """Terms that have, or will have, a vector."""
        return len(self._vectors) if self._saved else len(self._forms)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, about; saved ones are not counted, vectors still to be made are."""
        to_come = len(self._forms) * self._embedder.dimension
        return _TERM_BYTES * len(self._forms) + max(self._vectors.nbytes, to_come)

    def learn(self, pairs: Pairs) -> None:
        """Note the surface forms and terms of a word that was not there before."""
        self._unpack()
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
        self._settle()
        terms = self._saved.texts("thesaurus.terms") if self._saved else self._terms
        if not forms or not terms:
            return [[] for _ in forms]
        near_terms = []
        for column in self._vectors.products_of_each(self._embedder.embed(forms)):
            rows = np.flatnonzero(column >= threshold - _LAST_BITS).tolist()
            # Rounded: the last bits depend on where in the matrix a row happens to stand.
            near = zip((terms[row] for row in rows), np.round(column[rows], 5).tolist(), strict=True)
            near_terms.append(sorted(pair for pair in near if pair[1] >= threshold))
        return near_terms

    def save(self, saved: SavedIndex) -> None:
        """Put terms, forms and vectors there."""
        self._unpack()
        self._settle()
        terms = sorted(self._row, key=self._row.__getitem__)
        forms = [(form, place) for place, term in enumerate(terms) for form in sorted(self._forms[term])]
        saved.put_texts("thesaurus.terms", terms)
        self._vectors.save(saved, np.array([self._row[term] for term in terms], dtype=np.int64))
        saved.put_texts("thesaurus.forms", [form for form, _ in forms])
        saved.put_numbers("thesaurus.form_of", np.array([place for _, place in forms], dtype=np.int64))
        saved.put_numbers("thesaurus.uses", np.array([self._uses[form] for form, _ in forms], dtype=np.int64))

    def _unpack(self) -> None:
        """Take what was saved in, to be changed."""
        if self._saved is None:
            return
        terms, forms = list(self._saved.texts("thesaurus.terms")), list(self._saved.texts("thesaurus.forms"))
        self._terms, self._row = terms, {term: row for row, term in enumerate(terms)}
        self._uses = Counter(dict(zip(forms, self._saved["thesaurus.uses"].tolist(), strict=True)))
        for form, place in zip(forms, self._saved["thesaurus.form_of"].tolist(), strict=True):
            self._forms.setdefault(terms[place], set()).add(form)
        self._saved = None

    def _settle(self) -> None:
        """Make the vectors of changed terms."""
        if not self._changed:
            return
        changed = sorted(self._changed)
        fresh = [term for term in changed if term not in self._row]
        self._row.update((term, row) for row, term in enumerate(fresh, len(self._terms)))
        self._terms.extend(fresh)
        self._vectors.extend(np.zeros((len(fresh), self._embedder.dimension), dtype=np.float32))
        owners = [place for place, term in enumerate(changed) for _ in self._forms[term]]
        forms = [form for term in changed for form in sorted(self._forms[term])]
        sums: Vectors = np.zeros((len(changed), self._embedder.dimension), dtype=np.float32)
        np.add.at(sums, owners, self._embedder.embed(forms))
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        np.divide(sums, norms, out=sums, where=norms > 0)
        self._vectors.put(np.array([self._row[term] for term in changed]), sums)
        self._changed.clear()

    def _drop(self, term: str) -> None:
        """A term without forms; its row stays, with a zero vector that nothing is near."""
        del self._forms[term]
        self._changed.discard(term)
        if (row := self._row.pop(term, None)) is not None:
            self._terms[row] = ""
            self._vectors.put(slice(row, row + 1), np.zeros((1, self._embedder.dimension), dtype=np.float32))


def _worded(pairs: Pairs) -> Pairs:
    """Numbers, hashes and ids mean nothing like anything, and there is no end of them."""
    return [pair for pair in pairs if not any(map(str.isdigit, pair[0]))]
