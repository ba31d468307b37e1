"""RewriteCurrent and RewriteDoc of Algorithm 1.

A model puts entries in order and marks what is superseded; entries keep their own words, those that it would
join into one too, and its headings and summaries are kept only if the entries bear them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from zibaldone.models.dividing import ask_in_parts
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers
from zibaldone.text.words import as_written, terms
from zibaldone.views.topics.consolidate.summaries import title
from zibaldone.views.topics.consolidate.workbench import Work, bundles, cluster
from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import AI, Entry, superseding
from zibaldone.views.topics.tasks import (
    DocumentOpened,
    DocumentRewritten,
    RewriteCurrent,
    RewriteDocuments,
    Rewritten,
    shown_entries,
    shown_sections,
)

_LEAST_SHOWN, _MOST_SHOWN = 8, 32  # old entries of a document; between them, the nearest of each new one
_MOST_SHOWN_MERGED = 16  # of a document that two became
_VALUE_ALONE = 1  # content words beside a value, in what says no more than that
_NUMBER = regex.compile(r"\p{N}")
_BATCH = 1.5  # of split_tokens: a CURRENT beyond this is shown to a model in parts


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """A block of REWRITE_CURRENT: entries for one heading."""

    title: str
    entries: tuple[Entry, ...]


def rewrite_current(entries: Sequence[Entry], work: Work) -> list[DraftBlock]:
    """RewriteCurrent (line 14): entries in blocks; a model marks contradictions."""
    if not work.has_model:
        return grouped(entries, work)
    sizes = [work.tokens([entry]) for entry in entries]
    batches = bundles(entries, sizes, work.settings.split_tokens * _BATCH)
    return [one for batch in batches for one in _rewritten(batch, work)]


def grouped(entries: Sequence[Entry], work: Work) -> list[DraftBlock]:
    """Blocks by similarity, in the order of each one's first entry."""
    if not entries:
        return []
    vectors = work.centred(work.workbench.vectors([entry.text for entry in entries]))
    sizes = work.workbench.tokens([entry.text for entry in entries])
    groups = cluster(vectors, sizes, work.settings.group_similarity, work.settings.split_tokens / 2)
    blocks = [tuple(entries[row] for row in group) for group in groups]
    return [DraftBlock(title(block, work), block) for block in blocks]


def rewrite_documents(
    changes: Sequence[tuple[Document, Sequence[DraftBlock]]], work: Work
) -> Iterator[tuple[Document, str]]:
    """Existing documents, each with its new portions, and the model's summary ("" without one).

    A model is shown them together, `split_tokens` at a time.
    """
    if not work.has_model:
        yield from ((inserted(document, portions, work), "") for document, portions in changes)
        return
    first, numbered = 1, []
    for document, portions in changes:
        numbered.append(_Change.of(document, portions, first, work))
        first += len(numbered[-1].entries)
    sizes = [work.tokens(change.shown) for change in numbered]
    for bundle in bundles(numbered, sizes, work.settings.split_tokens):
        answers = {
            rewritten.document: rewritten
            for part, answer in ask_in_parts(work.ask, bundle, _task)
            for rewritten in answer.documents
            if any(rewritten.document == change.document.id for change in part)  # it saw no other
        }
        for change in bundle:
            answer = answers.get(change.document.id)
            yield (change.offline, "") if answer is None else change.realised(answer, work)


@dataclass(frozen=True, slots=True)
class _Change:
    """New entries of a document, or none for a merged one; all entries are numbered."""

    document: Document
    portions: Sequence[DraftBlock]
    offline: Document
    entries: Mapping[int, Entry]  # its own, then the new ones
    headings: Mapping[int, str]  # what each stands below, or is to
    old: Sequence[int]  # which of its own a model is shown
    new: Sequence[int]

    @classmethod
    def of(cls, document: Document, portions: Sequence[DraftBlock], first: int, work: Work) -> _Change:
        old = document.entries
        new = [entry for portion in portions for entry in portion.entries]
        own = [path[-1] if path else "" for path, _ in document.placed()]
        return cls(
            document,
            portions,
            inserted(document, portions, work),
            dict(enumerate((*old, *new), first)),
            dict(enumerate([*own, *(one.title for one in portions for _ in one.entries)], first)),
            [first + row for row in _nearest(old, new, own, work)],
            range(first + len(old), first + len(old) + len(new)),
        )

    @property
    def shown(self) -> list[Entry]:
        return [self.entries[number] for number in (*self.old, *self.new)]

    def opened(self) -> DocumentOpened:
        return DocumentOpened(
            self.document.id,
            self.offline.title,
            shown_sections({number: self.entries[number] for number in self.old}, self.headings),
            shown_sections({number: self.entries[number] for number in self.new}, self.headings),
        )

    def realised(self, answer: DocumentRewritten, work: Work) -> tuple[Document, str]:
        """Build the document as the model wrote it, as far as the entries bear it out."""
        entries, summary = list(self.entries.values()), answer.summary
        if summary and summary_fault(summary, entries):
            summary = ""
        # A merged one, into which nothing comes, may be called anew.
        title = self.document.title
        name = title if self.portions else heading_of(answer.title, entries, self.offline.title)
        made = realised(answer, self.entries, self.headings, work)
        return self.document.with_body(body_of(name, made)), summary


def _task(changes: Sequence[_Change], failed: int) -> RewriteDocuments:
    return RewriteDocuments(documents=tuple(change.opened() for change in changes), failed=failed)


def _nearest(old: Sequence[Entry], new: Sequence[Entry], headings: Sequence[str], work: Work) -> list[int]:
    """Rows of the old entries that a model is shown: the most similar to each new one, at most _MOST_SHOWN.

    Of a document into which nothing comes, those most like one below another of its headings.
    """
    if len(old) <= _LEAST_SHOWN:
        return list(range(len(old)))
    vectors = work.workbench.vectors([entry.text for entry in (*old, *new)])
    if new:
        cosines = vectors[: len(old)] @ vectors[len(old) :].T
        best = cosines.max(axis=1)
        best[cosines.argmax(axis=0)] += 2  # above all cosines
        room = min(max(int((best > 1.5).sum()), _LEAST_SHOWN), _MOST_SHOWN)
    else:
        below = np.array(headings)
        best = np.where(below[:, None] == below[None, :], -1, vectors @ vectors.T).max(axis=1)
        room = _MOST_SHOWN_MERGED
    return sorted(int(row) for row in np.argsort(-best, kind="stable")[:room])


def inserted(document: Document, portions: Sequence[DraftBlock], work: Work, name: str = "") -> Document:
    """Insert each portion below its heading; a lone entry whose heading is new, below the title.

    `name` is the title that was planned for a new document.
    """
    name = document.title if document.entries else name or _name(portions, work)
    there = portions_of(document)
    headings = {block.title for block in there}
    placed = [
        block if len(block.entries) > 1 or block.title in headings else DraftBlock(name, block.entries)
        for block in portions
    ]
    return document.with_body(body_of(name, [*there, *placed]))


def portions_of(document: Document) -> list[DraftBlock]:
    """Sections of a document that have entries; those below its title alone have its title."""
    sections = [section for section in document.partitions() if section.entries]
    return [DraftBlock(section.title or document.title, section.entries) for section in sections]


def realised(
    result: Rewritten, numbered: Mapping[int, Entry], headings: Mapping[int, str], work: Work
) -> list[DraftBlock]:
    """A model's sections as portions, with its headings as far as the entries bear them out.

    An entry stands at its first place; one that it does not name, below its own heading.
    """
    marked = dict(numbered)
    for pair in result.superseded:
        if may_supersede(numbered, pair.older, pair.newer):
            newer, older = superseding(marked[pair.newer], marked[pair.older])
            marked |= {pair.newer: newer, pair.older: older}
    left = dict(numbered)
    sections: dict[str, list[int]] = {}
    for part in result.sections:
        if named := [number for number in part.numbers if left.pop(number, None)]:
            there = part.heading in headings.values()
            entries = [marked[number] for number in named]
            name = part.heading if there else heading_of(part.heading, entries, "")
            sections.setdefault(name or title(entries, work), []).extend(named)
    for number in left:
        name = headings.get(number, "") or title([marked[number]], work)
        sections.setdefault(name, []).append(number)
    return [DraftBlock(name, tuple(marked[n] for n in sorted(numbers))) for name, numbers in sections.items()]


def may_supersede(given: Mapping[int, Entry], older: int, newer: int) -> bool:
    """True if `newer` can supersede `older`: both are given, about one thing, and it is newer."""
    if older == newer or older not in given or newer not in given:
        return False
    if (*given[older].recency, older) > (*given[newer].recency, newer):
        return False
    return _of_one_thing(given[older], given[newer])


def _of_one_thing(older: Entry, newer: Entry) -> bool:
    """True if two entries share a subject and a word.

    The subject is shared when one person says both; else it must be a second word that they share. Neither
    who speaks nor the name that a text begins with is that word, and no number: days are shared by anything.
    A person who says no more than a value ("Make that 30.") speaks of what was said before, in other words.
    """
    if older.source == newer.source or AI in {older.source, newer.source}:
        if _NUMBER.search(newer.text) and len(_content(newer.text)) <= _VALUE_ALONE:
            return True
        who = {*terms(older.source or ""), *terms(newer.source or ""), *(_first(older) & _first(newer))}
        return bool(_content(older.text) & _content(newer.text) - who)
    both = [_content(f"{one.source or ''} {one.text}") for one in (older, newer)]
    return len(both[0] & both[1]) > 1


def _content(text: str) -> set[str]:
    return {term for term in set(terms(text)) if not _NUMBER.search(term)}


def _first(entry: Entry) -> set[str]:
    """Terms of the text's first word, which is written with a capital whatever it is."""
    return set(terms(" ".join(as_written(entry.text)[:1])))


def heading_of(written: str, entries: Iterable[Entry], other: str) -> str:
    """The heading that a model wrote if its names and numbers are the entries'; else `other`.

    Its other words may be new: it states nothing, and goes when one of them is forgotten.
    """
    name = " ".join(written.split())
    new = SourceTexts(f"{entry.text} {entry.source or ''}" for entry in entries).invented(name)
    return name if name and names_and_numbers(name).isdisjoint(new) else other


def summary_fault(text: str, entries: Iterable[Entry]) -> str:
    """Reason why the entries do not bear out a summary; its form is keywords, a semicolon, a sentence.

    Telling words state nothing: as in a heading, those that are no names or numbers may be new.
    """
    entries = list(entries)
    known = SourceTexts([entry.text for entry in entries], " ".join(entry.source or "" for entry in entries))
    telling, mark, sentence = text.partition(";")
    new = names_and_numbers(telling).intersection(known.invented(telling)) if mark else set()
    if new:
        return f"says {sorted(new)[:8]}, which no entry says"
    return known.refusal(sentence if mark else text)


def body_of(name: str, portions: Iterable[DraftBlock]) -> tuple[Block, ...]:
    """A title, and below it a subheading for each portion but an only one, or one of the title's name."""
    blocks: list[Block] = [Heading(name, 1)]
    together: dict[str, list[Entry]] = {}
    for portion in portions:
        together.setdefault(portion.title, []).extend(portion.entries)
    for heading in sorted(together, key=lambda one: one != name):
        if heading != name and len(together) > 1:
            blocks.append(Heading(heading, 2))
        blocks.extend(together[heading])
    return tuple(blocks)


def _name(portions: Sequence[DraftBlock], work: Work) -> str:
    if len(portions) == 1:
        return portions[0].title
    return title([entry for portion in portions for entry in portion.entries], work)


def _rewritten(entries: Sequence[Entry], work: Work) -> list[DraftBlock]:
    offline = grouped(entries, work)
    numbered = dict(enumerate(entries, 1))
    answer = work.ask(RewriteCurrent(shown_entries(numbered)))
    if answer.degraded:
        return offline
    number = {id(entry): n for n, entry in numbered.items()}
    headings = {number[id(entry)]: one.title for one in offline for entry in one.entries}
    return realised(answer.result, numbered, headings, work)
