"""Overgrown documents are split, and small ones about the same subject are merged (sections 3.3, A.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import halves
from zibaldone.views.topics.consolidate.summaries import content_tokens, title, tokens_of
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.library import CatalogueLine, order
from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.tasks import ChooseMerges


@dataclass(frozen=True, slots=True)
class _Piece:
    """Blocks that stay together, with the headings above them."""

    above: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    tokens: int

    @property
    def entries(self) -> list[Entry]:
        return [block for block in self.blocks if isinstance(block, Entry)]


def split(document: Document, work: Work) -> list[Document]:
    """Split into documents of at most `split_tokens`; the first keeps the id. A single block is not split.

    Their summaries and logs are still to be brought up to date.
    """
    if tokens_of(document, work) <= work.settings.split_tokens:
        return [document]
    groups = _parted(_sections(document, work), work)
    if len(groups) < 2:
        return [document]
    groups.sort(key=lambda group: -sum(piece.tokens for piece in group))
    made = []
    for number, group in enumerate(groups):
        entries = [entry for piece in group for entry in piece.entries]
        body = _body(group, title(entries, work) if entries else document.title)
        part = replace(document, body=body) if number == 0 else Document(work.new_id(), body=body)
        made.append(replace(part, token_count=tokens_of(part, work)))
    return made


def _parted(pieces: list[_Piece], work: Work) -> list[list[_Piece]]:
    """Halve pieces until each group fits; a section that is too big alone is parted entry by entry."""
    if sum(piece.tokens for piece in pieces) <= work.settings.split_tokens * 0.9:  # headings come on top
        return [pieces]
    most = max(piece.tokens for piece in pieces)
    if len(pieces) < 2 or most * 2 > sum(piece.tokens for piece in pieces):
        pieces = [_piece(piece.above, (block,), work) for piece in pieces for block in piece.blocks]
    if len(pieces) < 2:
        return [pieces]
    vectors = work.centres([piece.entries for piece in pieces])
    sides = halves(vectors, [piece.tokens for piece in pieces])
    return [group for side in sides for group in _parted([pieces[row] for row in side], work)]


def _sections(document: Document, work: Work) -> list[_Piece]:
    """One piece for each non-empty section; the document's title is dropped."""
    parts = []
    above: list[Heading] = []
    for section in document.partitions():
        if section.heading:
            above = [
                *(heading for heading in above if heading.level < section.heading.level),
                section.heading,
            ]
        if section.blocks:
            parts.append(_piece(tuple(above[1:]), section.blocks, work))
    return parts


def _piece(above: tuple[Heading, ...], blocks: tuple[Block, ...], work: Work) -> _Piece:
    return _Piece(above, blocks, content_tokens(blocks, work))


def _body(group: Sequence[_Piece], name: str) -> tuple[Block, ...]:
    """The pieces below one title, each below its own headings."""
    body = Document("", body=(Heading(name, 1),))
    for piece in group:
        above = tuple(Heading(one.title, max(one.level, 2)) for one in piece.above)
        body = body.with_entries(piece.blocks, (Heading(name, 1), *above))
    return body.body


_SHOWN = 64  # small documents that a model chooses among: the newest


def merge_small(
    documents: Mapping[str, Document], work: Work, *, known: Collection[str] = ()
) -> tuple[list[Document], dict[str, str]]:
    """Merge small documents with similar summaries (Algorithm 1, lines 25-31).

    Returns the merged documents, and for each id that is gone the id that it went into: the group's oldest.
    A model selects among the similar ones; one that has left them apart (`known`) is asked again when there
    is another. Summaries and logs are still to be brought up to date.
    """
    small, likeness = small_similar(documents, work)
    if not small:
        return [], {}
    if not work.has_model:
        chosen = _groups(small, likeness, work)
    elif all(document.id in known for document in small):
        return [], {}
    else:
        task = ChooseMerges(
            documents=tuple(map(CatalogueLine.of, small)),
            at_most=work.settings.merge_most,
            token_limit=work.settings.split_tokens,
        )
        answer = work.ask(task)
        chosen = _groups(small, likeness, work) if answer.degraded else answer.result.groups
    made: list[Document] = []
    gone: dict[str, str] = {}
    for group in chosen:
        first, *others = sorted(group, key=order)
        made.append(_merged([documents[doc_id] for doc_id in (first, *others)], work))
        gone |= dict.fromkeys(others, first)
    return made, gone


def small_similar(documents: Mapping[str, Document], work: Work) -> tuple[list[Document], Vectors]:
    """SmallSimilarDocs: documents below `merge_tokens` with a summary like another one's.

    Returns them and the (n, n) cosines of their summaries.
    """
    small = [one for one in documents.values() if one.token_count < work.settings.merge_tokens]
    small = [one for one in small if one.entries and one.summary][-_SHOWN:]
    if len(small) < 2:
        return [], np.zeros((0, 0), dtype=np.float32)
    rows = work.lean(work.workbench.vectors([document.summary for document in small]))
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -2)
    similar = np.flatnonzero(likeness.max(axis=1) >= work.settings.merge_similarity)
    return [small[row] for row in similar], likeness[np.ix_(similar, similar)]


def _groups(small: Sequence[Document], likeness: Vectors, work: Work) -> list[list[str]]:
    """SelectMergeGroups without a model: the most similar pair first; who joins is similar to all in it."""
    settings = work.settings
    free = np.ones(len(small), dtype=bool)
    groups: list[list[str]] = []
    while True:
        pairs = np.where(free[:, None] & free[None, :], likeness, -2)
        first, second = divmod(int(pairs.argmax()), len(small))
        if pairs[first, second] < settings.merge_similarity:
            return groups
        group = [first, second]
        free[group] = False
        while len(group) < settings.merge_most:
            near = np.where(free, likeness[group].min(axis=0), -2)
            best = int(near.argmax())
            tokens = sum(small[row].token_count for row in (*group, best))
            if near[best] < settings.merge_similarity or tokens > settings.split_tokens:
                break
            group.append(best)
            free[best] = False
        groups.append([small[row].id for row in group])


def _merged(documents: Sequence[Document], work: Work) -> Document:
    """The oldest document with the bodies of all: each one's title becomes a heading below a new title.

    What stands alone in its document stands directly below the title: a heading for it would tell little.
    """
    entries = [entry for document in documents for entry in document.entries]
    body: list[Block] = [Heading(title(entries, work), 1)]
    lone = [document for document in documents if len(document.entries) == 1]
    body += [document.entries[0] for document in lone]
    lowered = [_lowered(document) for document in documents if document not in lone]
    # Entries below no subheading come first, or they would seem to belong below the one before them.
    body += [block for blocks in lowered for block in _before_headings(blocks)]
    body += [block for blocks in lowered for block in blocks[len(_before_headings(blocks)) :]]
    made = replace(documents[0], body=tuple(body))
    return replace(made, token_count=tokens_of(made, work))


def _before_headings(blocks: Sequence[Block]) -> list[Block]:
    return list(takewhile(lambda block: not isinstance(block, Heading), blocks))


def _lowered(document: Document) -> list[Block]:
    """Body of a document with its headings one level down, below its own title."""
    blocks: list[Block] = []
    for place, block in enumerate(document.body):
        if isinstance(block, Heading):
            follows = document.body[place + 1] if place + 1 < len(document.body) else None
            if block.level == 1 and isinstance(follows, Heading):
                continue  # a title with nothing directly below it says what its headings say
            blocks.append(Heading(block.title, max(2, block.level)))
        else:
            if not blocks and isinstance(block, Entry):
                blocks.append(Heading(document.title, 2))
            blocks.append(block)
    return blocks
