"""Overgrown documents are split, and small ones about the same subject are merged (sections 3.3, A.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.search.clustering import halves
from zibaldone.views.topics.consolidate.rewriting import DraftBlock, body_of, portions_of
from zibaldone.views.topics.consolidate.summaries import title, tokens_of
from zibaldone.views.topics.consolidate.workbench import Work, cluster
from zibaldone.views.topics.library import CatalogueLine, order
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.tasks import ChooseMerges


def split(document: Document, work: Work) -> list[Document]:
    """Split into documents of at most `split_tokens`; the first keeps the id. A single block is not split.

    Their summaries and logs are still to be brought up to date.
    """
    if tokens_of(document, work) <= work.settings.split_tokens:
        return [document]
    groups = _parted(portions_of(document), work)
    if len(groups) < 2:
        return [document]
    groups.sort(key=lambda group: -_tokens(group, work))
    made = []
    for number, group in enumerate(groups):
        name = title([entry for portion in group for entry in portion.entries], work)
        body = body_of(
            name, [replace(block, title=name) if block.title == document.title else block for block in group]
        )
        part = replace(document, body=body) if number == 0 else Document(work.new_id(), body=body)
        made.append(replace(part, token_count=tokens_of(part, work)))
    return made


def _parted(portions: list[DraftBlock], work: Work) -> list[list[DraftBlock]]:
    """Halve portions until each group fits; one that is too big alone is parted entry by entry."""
    total = _tokens(portions, work)
    if total <= work.settings.split_tokens * 0.9:  # headings come on top
        return [portions]
    if len(portions) < 2 or max(work.tokens(block.entries) for block in portions) * 2 > total:
        portions = [DraftBlock(block.title, (entry,)) for block in portions for entry in block.entries]
    if len(portions) < 2:
        return [portions]
    sizes = [work.tokens(block.entries) for block in portions]
    sides = halves(work.centres([block.entries for block in portions]), sizes)
    return [group for side in sides for group in _parted([portions[row] for row in side], work)]


def _tokens(portions: Sequence[DraftBlock], work: Work) -> int:
    return sum(work.tokens(portion.entries) for portion in portions)


_SHOWN = 64  # small documents that a model chooses among: the newest


def merge_small(
    documents: Mapping[str, Document], work: Work, *, known: Collection[str] = ()
) -> tuple[list[Document], set[str]]:
    """Merge small documents with similar summaries (Algorithm 1, lines 25-31).

    Returns the merged documents, each with its group's oldest id, and the ids that are gone. A model selects
    among the similar ones; one that has left them apart (`known`) is asked again when there is another.
    Summaries and logs are still to be brought up to date.
    """
    small, vectors = _small_similar(documents, work)
    if not small or (work.has_model and all(document.id in known for document in small)):
        return [], set()
    answer = (
        work.ask(
            ChooseMerges(
                documents=tuple(map(CatalogueLine.of, small)),
                at_most=work.settings.merge_most,
                token_limit=work.settings.split_tokens,
            )
        )
        if work.has_model
        else None
    )
    groups = _groups(small, vectors, work) if answer is None or answer.degraded else answer.result.groups
    made = [_merged([documents[doc_id] for doc_id in sorted(group, key=order)], work) for group in groups]
    return made, {doc_id for group in groups for doc_id in group} - {block.id for block in made}


def _small_similar(documents: Mapping[str, Document], work: Work) -> tuple[list[Document], Vectors]:
    """SmallSimilarDocs: documents below `merge_tokens` with a summary like another one's.

    Returns them and the (n, d) vectors of their summaries.
    """
    small = [document for document in documents.values() if document.token_count < work.settings.merge_tokens]
    small = [document for document in small if document.entries and document.summary][-_SHOWN:]
    if len(small) < 2:
        return [], np.zeros((0, 0), dtype=np.float32)
    rows = work.centred(work.workbench.vectors([document.summary for document in small]))
    likeness = rows @ rows.T
    np.fill_diagonal(likeness, -2)
    similar = np.flatnonzero(likeness.max(axis=1) >= work.settings.merge_similarity)
    return [small[row] for row in similar], rows[similar]


def _groups(small: Sequence[Document], vectors: Vectors, work: Work) -> list[list[str]]:
    """SelectMergeGroups without a model; what a group has above `merge_most` is left for the next time."""
    settings = work.settings
    sizes = [document.token_count for document in small]
    groups = cluster(vectors, sizes, settings.merge_similarity, settings.split_tokens)
    return [[small[row].id for row in group[: settings.merge_most]] for group in groups if len(group) > 1]


def _merged(documents: Sequence[Document], work: Work) -> Document:
    """The oldest document with the sections of all below a new title.

    What stands alone in its document stands directly below the title: a heading for it would tell little.
    """
    name = title([entry for document in documents for entry in document.entries], work)
    portions = [
        DraftBlock(name if len(document.entries) == 1 else block.title, block.entries)
        for document in documents
        for block in portions_of(document)
    ]
    made = documents[0].with_body(body_of(name, portions))
    return replace(made, token_count=tokens_of(made, work))
