"""Infini Memory-H (§3.4, figure 4): documents picked by summary, and BM25 over the headings of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from zibaldone.models.asker import Asker
from zibaldone.text.words import terms
from zibaldone.views.topics.read.document_index import bm25
from zibaldone.views.topics.read.fact_chains import follow
from zibaldone.views.topics.read.ranking import RankedEntries
from zibaldone.views.topics.read.reading_index import ReadingIndex
from zibaldone.views.topics.read.reading_result import EntryHit, ReadingResult, falling, ordered
from zibaldone.views.topics.read.tasks import Listed, PickDocuments
from zibaldone.views.topics.read.tool_text import shortened

MOST_FOUND = 200  # entries of one reading
_PER_CHAINED = 3  # selected entries per followed one, where no chain leads
_DEEPEST = 3  # of a document's entries: how well the best ones fit says how well it does


@dataclass(frozen=True, slots=True)
class HybridSettings:
    documents: int = 10  # that are picked
    catalogue: int = 200  # that a model may choose from, the likeliest; the paper shows all
    partitions: int = 10  # heading blocks of the other documents
    picked: float = 1.5  # what an entry gains by its document being picked, in the ranking's scale
    timeout_s: float | None = 10.0  # for the model; then the offline choice stands in
    summaries_only: bool = False  # the ablation of section 4.3.2: whole documents, picked by their summaries


DEFAULT = HybridSettings()
SUMMARIES_ONLY = HybridSettings(summaries_only=True)


class Hybrid:
    """Reads without a model too: then words and vectors choose the documents."""

    def __init__(self, asker: Asker | None = None, settings: HybridSettings = DEFAULT) -> None:
        self._asker, self._settings = asker, settings

    def read(self, ranked: RankedEntries, *, user: str) -> ReadingResult:
        """Entries best first. Raises QuestionOpen only, where somebody is going to answer for the model."""
        index, settings = ranked.index, self._settings
        if not len(index):
            return ReadingResult((), 0)
        likely = by_summary(ranked) if settings.summaries_only else likeliest(ranked)
        first = likely[: settings.documents]

        def alone() -> tuple[EntryHit, ...]:
            return whole(ranked, first) if settings.summaries_only else offline(ranked)

        if self._asker is None or not self._asker.has_model:
            return ReadingResult(alone(), len(index), first)
        listed = as_listed(index, likely[: settings.catalogue])
        task = PickDocuments(ranked.question, listed, settings.documents, likely)
        answer = self._asker.ask(task, user=user, timeout_s=settings.timeout_s)
        known = {document.id for document in listed}
        if answer.degraded:
            return ReadingResult(alone(), len(index), first, model_calls=answer.calls, note=answer.degraded)
        chosen = [id_ for id_ in dict.fromkeys(answer.result.documents) if id_ in known]
        picked = tuple(chosen[: settings.documents])
        if settings.summaries_only:
            entries = whole(ranked, picked)
        else:
            missed = partitions(index, ranked.question, settings.partitions, without=picked)
            entries = _joined(ranked, picked, missed, settings.picked)
        return ReadingResult(entries, len(index), picked, model_calls=answer.calls)


def offline(ranked: RankedEntries) -> tuple[EntryHit, ...]:
    """By words, vectors and what the question's names lead to; nothing of it needs a model."""
    index = ranked.index
    followed = follow(ranked)
    chained, rest = followed.rows[:MOST_FOUND], ranked.best()[:MOST_FOUND]
    rows = [*chained, *rest] if followed.leads else _woven(rest, chained)
    rows = list(dict.fromkeys(rows))[:MOST_FOUND]
    led = set(chained) if followed.leads else set(chained) - set(rest)
    hits = [
        *ranked.hits([row for row in rows if row in led], "followed"),
        *ranked.hits([row for row in rows if row not in led], "selected"),
    ]
    by_place = {(hit.place.document, hit.place.start): hit for hit in hits}
    in_order = [by_place[index.places[row].document, index.places[row].start] for row in rows]
    return falling(_said_otherwise(index, in_order, followed.outdated))


def _woven(many: Sequence[int], few: Sequence[int]) -> list[int]:
    """After every few of the one list, one of the other."""
    rows: list[int] = []
    rest = iter(few)
    for at, row in enumerate(many, 1):
        rows.append(row)
        if at % _PER_CHAINED == 0:
            rows += [next(rest)] if (at // _PER_CHAINED) <= len(few) else []
    return [*rows, *rest]


def likeliest(ranked: RankedEntries) -> tuple[str, ...]:
    """Documents with anything in them, by the mean of their best entries' scores."""
    best = {}
    for id_, rows in ranked.index.of_document.items():
        if len(rows):
            best[id_] = float(np.sort(ranked.total[rows])[-_DEEPEST:].mean())
    return tuple(sorted(best, key=lambda id_: (-round(best[id_], 6), id_)))


def as_listed(index: ReadingIndex, ids: Sequence[str]) -> tuple[Listed, ...]:
    """Documents as a model is shown them before it opens any."""
    documents = [index.documents[id_].document for id_ in ids]
    return tuple(Listed(id=one.id, summary=shortened(one.summary or one.title)) for one in documents)


def partitions(
    index: ReadingIndex, question: str, most: int, without: Sequence[str] = ()
) -> list[tuple[str, int]]:
    """(document, number) of the heading blocks that BM25 finds in documents beside these, best first."""
    held = [(id_, document) for id_, document in index.documents.items() if id_ not in without]
    scores = bm25([document.partitions for _, document in held], dict.fromkeys(terms(question), 1.0))
    order = [
        (-float(score), i, number)
        for i, given in enumerate(scores)
        for number, score in enumerate(given)
        if score > 0
    ]
    return [(held[i][0], number) for _, i, number in sorted(order)[:most]]


def _joined(
    ranked: RankedEntries, picked: Sequence[str], missed: Sequence[tuple[str, int]], gain: float
) -> tuple[EntryHit, ...]:
    """Heading blocks: those of picked documents, and those that BM25 added, gain."""
    index = ranked.index
    bonus = np.zeros(len(index))
    for id_ in picked:
        bonus[index.of_document[id_]] = gain
    for id_, number in missed:
        inside = [place.partition == number for place in index.documents[id_].places]
        rows = index.of_document[id_][np.array(inside, dtype=bool)]
        bonus[rows] = np.maximum(bonus[rows], gain / 2)
    gained = replace(ranked, total=ranked.total + bonus)
    return in_blocks(gained, offline(gained))


def in_blocks(ranked: RankedEntries, hits: Sequence[EntryHit]) -> tuple[EntryHit, ...]:
    """What is followed first; then whole heading blocks where their best entries stand, best first inside."""
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


def whole(ranked: RankedEntries, documents: Sequence[str]) -> tuple[EntryHit, ...]:
    """All entries of these documents, one document after the other."""
    rows = [int(row) for id_ in documents for row in ranked.index.of_document[id_]]
    return falling(ranked.hits(rows[:MOST_FOUND], "picked"))


def by_summary(ranked: RankedEntries) -> tuple[str, ...]:
    """Documents with anything in them, by how near their summaries are to the question."""
    held = [id_ for id_, rows in ranked.index.of_document.items() if len(rows)]
    shown = [ranked.index.documents[id_].document for id_ in held]
    question, *rows = ranked.embed([ranked.question, *(one.summary or one.title for one in shown)])
    near = {id_: float(row @ question) for id_, row in zip(held, rows, strict=True)}
    return tuple(sorted(near, key=lambda id_: (-round(near[id_], 6), id_)))


def _said_otherwise(
    index: ReadingIndex, hits: Sequence[EntryHit], outdated: Mapping[int, int]
) -> list[EntryHit]:
    """With what a later entry replaces marked; the later one is named."""
    replaced = {id(index.places[row]): index.places[later].entry.last for row, later in outdated.items()}
    return [
        replace(hit, superseded=True, later=replaced[id(hit.place)]) if id(hit.place) in replaced else hit
        for hit in hits
    ]
