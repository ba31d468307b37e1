"""Infini Memory-H (§3.4, figure 4): documents picked by summary, and BM25 over the headings of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zibaldone.models.asker import Asker
from zibaldone.views.topics.library import order
from zibaldone.views.topics.read.agent_tools import shortened
from zibaldone.views.topics.read.fact_chains import follow
from zibaldone.views.topics.read.index import ReadingIndex, best_blocks
from zibaldone.views.topics.read.ranking import EntryHit, RankedEntries, ReadingResult, falling, ordered
from zibaldone.views.topics.tasks import Listed, PickDocuments

MOST_FOUND = 200  # entries of one reading
_PER_CHAINED = 3  # selected entries per followed one, where no chain leads
_DEEPEST = 3  # of a document's entries: how well the best ones fit says how well it does


_DOCUMENTS = 10  # that are picked
_CATALOGUE = 200  # documents that a model may choose from, the likeliest; the paper shows all
_PARTITIONS = 10  # heading blocks of the other documents
_PICKED = 1.5  # what an entry gains by its document being picked, in the ranking's scale
_TIMEOUT_S = 10.0  # for the model; then the offline choice stands in


def read_hybrid(ranked: RankedEntries, asker: Asker, *, user: str) -> ReadingResult:
    """Entries best first; without a model words and vectors choose the documents.

    Raises QuestionOpen only, where somebody is going to answer for the model.
    """
    index = ranked.index
    shown = [id_ for id_ in likeliest(ranked) if id_ != index.current][:_CATALOGUE]
    if not (asker.has_model and shown):
        return ReadingResult(offline(ranked), len(index))
    listed = catalogue(index, sorted(shown, key=order))
    task = PickDocuments(listed, _DOCUMENTS, ranked.question.text)
    answer = asker.ask(task, user=user, timeout_s=_TIMEOUT_S)
    if answer.degraded:
        return ReadingResult(offline(ranked), len(index), answer.calls, answer.degraded)
    known = {document.id for document in listed}
    chosen = [id_ for id_ in dict.fromkeys(answer.result.documents) if id_ in known]
    picked = tuple(chosen[:_DOCUMENTS])
    missed = partitions(index, ranked.question.stems, _PARTITIONS, without=picked)
    entries = _joined(ranked, (*picked, index.current), missed)  # CURRENT's too: Algorithm 3, line 17
    return ReadingResult(entries, len(index), answer.calls)


def catalogue(index: ReadingIndex, ids: Sequence[str]) -> tuple[Listed, ...]:
    """LibrarySummaries, line 2: documents in the form in which a model is shown them."""
    held = [index.documents[id_].document for id_ in ids]
    return tuple(Listed(id=one.id, summary=shortened(one.summary or one.title)) for one in held)


def offline(ranked: RankedEntries) -> tuple[EntryHit, ...]:
    """Entries by words, vectors and chains of the question's names; needs no model."""
    followed = follow(ranked)
    chained, rest = followed.rows[:MOST_FOUND], ranked.best()[:MOST_FOUND]
    rows = [*chained, *rest] if followed.leads else _woven(rest, chained)
    rows = list(dict.fromkeys(rows))[:MOST_FOUND]
    led = set(chained) if followed.leads else set(chained) - set(rest)
    hits = []
    for row, hit in zip(rows, ranked.hits(rows, "selected"), strict=True):
        later = followed.outdated.get(row)
        if later is not None:
            hit = replace(hit, superseded=True, later=ranked.index.places[later].entry.last)
        hits.append(replace(hit, why="followed") if row in led else hit)
    return falling(hits)


def _woven(many: Sequence[int], few: Sequence[int]) -> list[int]:
    """Merge two lists: after every _PER_CHAINED of `many` one of `few`."""
    rows: list[int] = []
    rest = iter(few)
    for at, row in enumerate(many, 1):
        rows.append(row)
        if at % _PER_CHAINED == 0:
            rows += [next(rest)] if (at // _PER_CHAINED) <= len(few) else []
    return [*rows, *rest]


def likeliest(ranked: RankedEntries) -> tuple[str, ...]:
    """Non-empty documents by the mean score of their best entries, best first."""
    best = {}
    for id_, rows in ranked.index.of_document.items():
        if len(rows):
            best[id_] = float(np.sort(ranked.total[rows])[-_DEEPEST:].mean())
    return tuple(sorted(best, key=lambda id_: (-round(best[id_], 6), id_)))


def partitions(
    index: ReadingIndex, stems: Sequence[str], most: int, without: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """(document, number) of heading blocks by BM25, best first, outside of the documents `without`."""
    held = [document for id_, document in index.documents.items() if id_ not in without]
    return [(one.document.id, number) for one, number, _ in best_blocks(held, stems)[:most]]


def _joined(
    ranked: RankedEntries, picked: Sequence[str], missed: Sequence[tuple[str, int]]
) -> tuple[EntryHit, ...]:
    """Rank again, with a bonus for entries of picked documents and half of it for blocks that BM25 added."""
    index = ranked.index
    bonus = np.zeros(len(index))
    for id_ in picked:
        bonus[index.of_document[id_]] = _PICKED
    for id_, number in missed:
        inside = [place.partition == number for place in index.documents[id_].places]
        rows = index.of_document[id_][np.array(inside, dtype=bool)]
        bonus[rows] = np.maximum(bonus[rows], _PICKED / 2)
    gained = replace(ranked, total=ranked.total + bonus)
    return _in_blocks(gained, offline(gained))


def _in_blocks(ranked: RankedEntries, hits: Sequence[EntryHit]) -> tuple[EntryHit, ...]:
    """Followed entries first; then whole heading blocks in the order of their best entries."""
    index = ranked.index
    blocks: dict[tuple[str, int], list[int]] = {}
    for row, place in enumerate(index.places):
        blocks.setdefault((place.document, place.partition), []).append(row)
    hit_at = {(hit.place.document, hit.place.start): hit for hit in hits}
    rows = [
        row
        for hit in hits
        if hit.why != "followed"
        for row in ranked.best(blocks.pop((hit.place.document, hit.place.partition), ()))
    ]
    whole_blocks = [
        hit_at.get((hit.place.document, hit.place.start), hit) for hit in ranked.hits(rows, "block")
    ]
    followed = [hit for hit in hits if hit.why == "followed"]
    return falling(ordered([followed, whole_blocks])[:MOST_FOUND])
