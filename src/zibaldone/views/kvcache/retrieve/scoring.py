"""Compressed keys (CompK) as bounding boxes (AABB; section 3.2.1, Eq. 2), and relevance of blocks (3.2.2).

Eqs. 3 and 4, Table 1.

I(q, K) = sum_i max(q_i s_max_i, q_i s_min_i) = relu(q) . s_max - relu(-q) . s_min, so that with boxes kept
as [s_max | s_min] the scores of all blocks are one matrix product with [relu(q) | -relu(-q)].

All heads of a layer choose the same blocks (section 3.2.2): a token's scores are added over its heads. Sums
are kept as logarithms: they are large, and a softmax of theirs is 0 and 1 in any floating point; ties would
follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zibaldone.views.kvcache.config import Aggregation, Normalization

_BLOCKS_AT_ONCE = 2**14  # made float32 at a time
_ROWS_AT_ONCE = 2**27  # scores in memory at a time: half a gigabyte of float32


def bounding_box(keys: Tensor) -> Tensor:
    """(..., tokens, dim) -> (..., 2, dim): s_max and s_min over the tokens (Eq. 2), in the keys' own dtype.

    Minima and maxima of numbers are such numbers, so nothing is rounded.
    """
    return torch.stack((keys.amax(dim=-2), keys.amin(dim=-2)), dim=-2)


def box_scores(queries: Tensor, boxes: Tensor, kv_of: Sequence[int]) -> Iterator[Tensor]:
    """Eq. 3, added over heads: (query tokens, blocks) float32, some tokens at a time.

    Raw queries are (heads, tokens, dim), boxes (blocks, kv_heads, 2, dim), and `kv_of` says by head whose
    keys it looks at. Heads that share keys are added before the product, which is the same. Multiplied in
    float32 whatever boxes are kept in: a bound that is rounded is none.
    """
    q = queries.float()
    halves = torch.cat((q.clamp(min=0), q.clamp(max=0)), dim=-1)
    shared = torch.zeros((boxes.shape[1], *halves.shape[1:]), device=q.device)
    shared.index_add_(0, torch.tensor(kv_of, device=q.device), halves)
    rows = shared.transpose(0, 1).flatten(1)
    flat = boxes.flatten(1)
    for some in rows.split(max(1, _ROWS_AT_ONCE // max(1, len(boxes)))):
        yield torch.cat([some @ part.float().T for part in flat.split(_BLOCKS_AT_ONCE)], dim=1)


@dataclass(frozen=True, slots=True)
class BlockRelevance:
    """I(Q, K) of every block as a logarithm, and what ties are broken by, in this order."""

    best: npt.NDArray[np.float64]
    ties: tuple[npt.NDArray[np.float64], ...] = ()

    def top(self, k: int) -> list[int]:
        """The k best blocks, best first; of equal ones the earlier."""
        count = len(self.best)
        if count == 0 or k <= 0:
            return []
        places = np.arange(count)
        if k < count:
            border = np.partition(self.best, count - k)[count - k]
            places = places[self.best >= border]
        order = np.lexsort((places, *(-tie[places] for tie in reversed(self.ties)), -self.best[places]))
        return [int(i) for i in places[order][:k]]


def aggregate(
    rows: Iterator[Tensor],
    blocks: int,
    normalization: Normalization,
    aggregation: Aggregation,
    *,
    rank_constant: int = 60,  # c of the reciprocal rank; the paper gives none
) -> BlockRelevance:
    """Eq. 4 with one of Table 1's four strategies, over rows of (some, blocks).

    Reciprocal-Rank-Max ties massively, since each row's first block scores 1 / (1 + c): ties go by the Sum of
    the same ranks, then by Softmax-Max.
    """
    if normalization == "softmax":
        best, margin = np.full(blocks, -np.inf), np.full(blocks, -np.inf)
        for scores in rows:
            log, ahead = _log_softmax(scores)
            if aggregation == "max":
                best = np.maximum(best, log.amax(dim=0).cpu().numpy())
            else:
                best = np.logaddexp(best, log.logsumexp(dim=0).cpu().numpy())
            margin = np.maximum(margin, ahead.amax(dim=0).cpu().numpy())
        return BlockRelevance(best, (margin,))
    top, added, soft = np.zeros(blocks), np.zeros(blocks), np.full(blocks, -np.inf)
    for scores in rows:
        soft = np.maximum(soft, _log_softmax(scores)[0].amax(dim=0).cpu().numpy())
        order = scores.argsort(dim=-1, descending=True, stable=True)
        gain = 1.0 / (torch.arange(1, blocks + 1, device=scores.device, dtype=torch.float64) + rank_constant)
        gains = torch.zeros(scores.shape, dtype=torch.float64, device=scores.device)
        gains.scatter_(1, order, gain.expand(len(order), -1))
        top = np.maximum(top, gains.amax(dim=0).cpu().numpy())
        added += gains.sum(dim=0).cpu().numpy()
    with np.errstate(divide="ignore"):
        if aggregation == "sum":
            return BlockRelevance(np.log(added), (soft,))
        return BlockRelevance(np.log(top), (added, soft))


def _log_softmax(scores: Tensor) -> tuple[Tensor, Tensor]:
    """(log-probabilities, and by how much a row's best leads the others together), (rows, blocks) float64.

    The best one's logarithm is -log(1 + exp(-lead)): the difference of two large numbers would be 0 for every
    clear winner. Where even that is 0, the leads still tell winners apart. -inf for those that do not lead.
    """
    best, place = scores.max(dim=-1, keepdim=True)
    others = scores.scatter(1, place, -torch.inf).logsumexp(dim=-1, keepdim=True)
    lead = (best - others).double()
    log = (scores - torch.logaddexp(best, others)).double()
    log.scatter_(1, place, -torch.nn.functional.softplus(-lead, threshold=1e9))
    ahead = torch.full_like(log, -torch.inf).scatter_(1, place, lead)
    return log, ahead
