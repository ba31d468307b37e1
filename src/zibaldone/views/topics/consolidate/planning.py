"""SafePlanUpdate (Algorithm 2): which document each block updates or makes. Nothing is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from zibaldone.models.base import Vectors
from zibaldone.views.topics.consolidate.rewriting import DraftBlock, heading_of, summary_fault
from zibaldone.views.topics.consolidate.summaries import summary, title
from zibaldone.views.topics.consolidate.workbench import Work, bundles, cluster
from zibaldone.views.topics.library import CatalogueLine
from zibaldone.views.topics.markdown.document import Document
from zibaldone.views.topics.tasks import BlockShown, Planned, PlanUpdates

_SHOWN_DOCUMENTS = 64  # of a catalogue; a model is shown those most like the content
_SHOWN_ENTRIES = 6  # of a block; its heading says what the others are about
_FILLED = 0.8  # of split_tokens: how much a new document may have when it is made


@dataclass(slots=True)
class Plan:
    updates: dict[str, list[DraftBlock]] = field(default_factory=dict)  # by document id
    new: dict[str, list[DraftBlock]] = field(default_factory=dict)  # by title
    summaries: dict[str, str] = field(default_factory=dict)  # of new ones by title, "" where nobody wrote one

    def add(self, other: Plan) -> None:
        """MergePlans: join portions of one place; a summary of only a part of them is dropped."""
        for name in other.new:
            self.summaries[name] = "" if name in self.new else other.summaries.get(name, "")
        for own, others in ((self.updates, other.updates), (self.new, other.new)):
            for place, portions in others.items():
                own.setdefault(place, []).extend(portions)


def plan(portions: Sequence[DraftBlock], documents: Mapping[str, Document], work: Work) -> Plan:
    """Assign every portion to one place.

    A model is shown no more than `split_tokens` at a time: content above that is cut between headings, and a
    portion above it between entries. Without a model all is planned at once.
    Both of the paper's limits are `split_tokens`.
    """
    if not work.has_model:
        return _routed(portions, documents, work)
    whole = Plan()
    for chunk in chunks(portions, work):
        whole.add(_safely(chunk, documents, work, work.settings.plan_depth))
    return whole


def chunks(portions: Sequence[DraftBlock], work: Work) -> list[list[DraftBlock]]:
    """SplitByHeading, then RecursiveFallbackSplit: in order, none above the limit unless an entry is."""
    limit = work.settings.split_tokens
    pieces = [piece for one in portions for piece in _pieces(one, limit, work)]
    return list(bundles(pieces, [work.tokens(piece.entries) for piece in pieces], limit))


def _pieces(portion: DraftBlock, limit: int, work: Work) -> list[DraftBlock]:
    if work.tokens(portion.entries) <= limit or len(portion.entries) < 2:
        return [portion]
    middle = len(portion.entries) // 2
    return [
        piece
        for half in (portion.entries[:middle], portion.entries[middle:])
        for piece in _pieces(DraftBlock(portion.title, half), limit, work)
    ]


def _safely(
    portions: Sequence[DraftBlock], documents: Mapping[str, Document], work: Work, depth: int
) -> Plan:
    """PlanUpdate, lines 12 to 17: the model's plan, or plans of halves, and in the end a document each."""
    near = _nearest(portions, documents, work)
    task = PlanUpdates(
        blocks=tuple(
            BlockShown(
                number,
                portion.title,
                tuple(f"{one.source or 'user'}: {one.text}" for one in portion.entries[:_SHOWN_ENTRIES]),
            )
            for number, portion in enumerate(portions, 1)
        ),
        documents=tuple(map(CatalogueLine.of, near)),
    )
    answer = work.ask(task)
    if answer.unusable:
        if depth > 0 and len(portions) > 1:
            middle = len(portions) // 2
            first = _safely(portions[:middle], documents, work, depth - 1)
            first.add(_safely(portions[middle:], documents, work, depth - 1))
            return first
        alone = Plan()
        for portion in portions:
            alone.add(Plan(new={portion.title: [portion]}))
        return alone
    if answer.degraded:
        return _routed(portions, documents, work)
    return _realised(answer.result, portions)


def _routed(portions: Sequence[DraftBlock], documents: Mapping[str, Document], work: Work) -> Plan:
    """Plan by similarity of summaries; portions that no document is like make new ones, like with like."""
    plan = Plan()
    if not portions:
        return plan
    rows = _summary_vectors([summary(portion.entries, work) for portion in portions], work)
    rest = list(range(len(portions)))
    if documents:
        ids = list(documents)
        likeness = rows @ _summary_vectors([one.summary for one in documents.values()], work).T
        best = likeness.argmax(axis=1)
        rest = [row for row in rest if likeness[row, best[row]] < work.settings.route_similarity]
        left = set(rest)
        for row, portion in enumerate(portions):
            if row not in left:
                plan.updates.setdefault(ids[best[row]], []).append(portion)
    sizes = [work.tokens(portions[row].entries) for row in rest]
    limit = _FILLED * work.settings.split_tokens
    for group in cluster(rows[rest], sizes, work.settings.route_similarity, limit):
        members = [portions[rest[row]] for row in group]
        name = title([entry for block in members for entry in block.entries], work)
        plan.new.setdefault(name, []).extend(members)
    return plan


def _summary_vectors(texts: Sequence[str], work: Work) -> Vectors:
    """(n, d) vectors of summaries, centred on what is common."""
    return work.centred(work.workbench.vectors(texts))


def _nearest(portions: Sequence[DraftBlock], documents: Mapping[str, Document], work: Work) -> list[Document]:
    """The documents that a model is shown, by rising id."""
    if len(documents) <= _SHOWN_DOCUMENTS:
        return list(documents.values())
    centres = work.centres([portion.entries for portion in portions])
    ids = list(documents)
    likeness = work.centres(one.entries for one in documents.values()) @ centres.T
    best = np.argsort(-likeness.max(axis=1), kind="stable")[:_SHOWN_DOCUMENTS]
    return [documents[ids[row]] for row in sorted(best.tolist())]


def _realised(planned: Planned, portions: Sequence[DraftBlock]) -> Plan:
    plan = Plan()
    for update in planned.updates:
        plan.add(Plan(updates={update.document: [portions[n - 1] for n in update.blocks]}))
    for new in planned.new_documents:
        if new.blocks:
            entries = [entry for n in new.blocks for entry in portions[n - 1].entries]
            name = heading_of(new.title, entries, "")
            fault = summary_fault(new.summary, entries) if new.summary else ""
            name = name or portions[new.blocks[0] - 1].title
            plan.add(
                Plan(
                    new={name: [portions[n - 1] for n in new.blocks]},
                    summaries={name: "" if fault else new.summary},
                )
            )
    plan.updates = {doc_id: group for doc_id, group in plan.updates.items() if group}
    return plan
