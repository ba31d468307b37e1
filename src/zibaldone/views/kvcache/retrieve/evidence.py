"""The view as a source of evidence: its messages by their words.

Words find, and keys answer: `memory.recall(views=["kv"])` asks no model.
"""

from __future__ import annotations

from zibaldone.models.embedding import embed
from zibaldone.models.static import StaticEmbedder
from zibaldone.search.question import Question
from zibaldone.search.ranker import Explanation, score
from zibaldone.search.unit_index import UnitIndex
from zibaldone.views.base import Retrieved, TakeSnapshot
from zibaldone.views.kvcache import NAME
from zibaldone.views.toolkit import MOST_UNREAD, OFFERED, cut, evidence_of, fill, tail, to_units

_FOREIGN = "the blocks were made by another model: words find all the same, remember() makes them anew"


def retrieved(
    take_snapshot: TakeSnapshot, question: Question, words: StaticEmbedder, fingerprint: str
) -> Retrieved:
    """Rank the newest MOST_UNREAD messages; notes say where there are more, and where keys are another's."""
    user, session = question.scope.user, question.scope.session
    with take_snapshot() as now:
        newest = tail(now.connection, user, 0, session=session, most=MOST_UNREAD, whole=True)
        foreign = now.generation is not None and now.generation.fingerprint != fingerprint
    note = "; ".join(filter(None, (_FOREIGN if foreign else "", newest.note)))
    units = to_units(newest.messages, cut(newest.messages, words))
    if not units:
        return Retrieved((), 0, 0.0, lambda _: None, note)
    index = UnitIndex(words.dimension, words)
    index.extend(units, embed(words, [unit.text for unit in units]))
    scores = score(index, question.embedded(words))
    total = scores.total.round(4).tolist()
    best: dict[int, int] = {}  # by seq, the row of each message's best passage
    for row in sorted(range(len(units)), key=lambda row: (-total[row], -units[row].seq)):
        best.setdefault(units[row].seq, row)
    known = dict(zip(best, Explanation.of(index, scores).of_rows(list(best.values())), strict=True))
    evidence = fill(
        (
            evidence_of(units[row], NAME, 1 / rank, known[seq])
            for rank, (seq, row) in enumerate(best.items(), 1)
        ),
        int(OFFERED * question.budget_tokens),
        words.count,
    )
    return Retrieved(evidence, len(newest.messages), scores.confidence, known.get, note)
