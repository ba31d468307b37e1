"""Bounding boxes (section 3.2.1, Eq. 2), and the relevance of blocks to a query (3.2.2, Eqs. 3-4, Table 1).

I(q, K) = sum_i max(q_i s_max_i, q_i s_min_i) = relu(q) . s_max - relu(-q) . s_min, so that with boxes kept
as [s_max | s_min] the scores of all blocks are one matrix product with [relu(q) | -relu(-q)].

A *row* is whatever asks for itself: a query token, or a head of one. Scores are kept as logarithms, because
sums over heads are large and a softmax of theirs is 0 and 1 in any floating point; ties would follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zibaldone.views.kvcache.config import Aggregation, Heads, Normalization

_BLOCKS_AT_ONCE = 2**14  # made float32 at a time
_ROWS_AT_ONCE = 2**27  # scores in memory at a time: half a gigabyte of float32


@dataclass(frozen=True, slots=True)
class LayerQueries:
    """One layer's raw queries, and which of its heads are listened to."""

    layer: int
    queries: Tensor  # (heads, tokens, dim)
    heads: tuple[int, ...] | None = None  # None: all
    kv_of: tuple[int, ...] = ()  # by head, whose keys it looks at; none given: neighbours share


def bounding_box(keys: Tensor) -> Tensor:
    """(..., tokens, dim) -> (..., 2, dim): s_max and s_min over the tokens (Eq. 2), in the keys' own dtype.

    Minima and maxima of numbers are such numbers, so nothing is rounded.
    """
    return torch.stack((keys.amax(dim=-2), keys.amin(dim=-2)), dim=-2)


def halves(queries: Tensor) -> Tensor:
    """(..., dim) -> (..., 2 dim): what a box [s_max | s_min] is multiplied with for Eq. 3."""
    return torch.cat((queries.clamp(min=0), queries.clamp(max=0)), dim=-1)


def rows_of(layer_queries: LayerQueries, kv_heads: int, heads: Heads) -> list[tuple[tuple[int, ...], Tensor]]:
    """The factors of the boxes: for each (kv heads), (rows, len(kv heads) * 2 dim) float32.

    With "sum", the scores of all heads are added, which is the same as adding their halves first where they
    share keys, and laying them side by side where they do not.
    """
    both = halves(layer_queries.queries.float())
    by_kv = _by_kv_head(layer_queries, kv_heads)
    if heads == "sum":
        added = [both[members].sum(dim=0) for members in by_kv.values()]
        return [(tuple(by_kv), torch.cat(added, dim=-1))]
    return [((kv,), both[members].flatten(0, 1)) for kv, members in by_kv.items()]


def box_scores(layer_queries: LayerQueries, boxes: Tensor, heads: Heads) -> Iterator[Tensor]:
    """Eq. 3: (rows, blocks) float32, some rows at a time; boxes are (blocks, kv_heads, 2, dim).

    Multiplied in float32 whatever boxes are kept in: a bound that is rounded is none.
    """
    for kv, rows in rows_of(layer_queries, boxes.shape[1], heads):
        part = boxes if len(kv) == boxes.shape[1] else boxes[:, list(kv)]
        flat = part.reshape(len(boxes), -1)
        step = max(1, _ROWS_AT_ONCE // max(1, len(boxes)))
        for chunk in rows.split(step):
            yield torch.cat([chunk @ some.float().T for some in flat.split(_BLOCKS_AT_ONCE)], dim=1)


def key_scores(layer_queries: LayerQueries, keys: Tensor, valid: Tensor, heads: Heads) -> Iterator[Tensor]:
    """The best dot product with a key of each block: (rows, blocks) float32.

    Keys are (blocks, kv_heads, tokens, dim), of which `valid` (blocks, tokens) are there. With "sum" each
    head takes its own best key, and these are added.
    """
    heads_of = _by_kv_head(layer_queries, keys.shape[1])
    total: Tensor | None = None
    for kv, members in heads_of.items():
        rows = layer_queries.queries[members].float().flatten(0, 1)
        products = (rows @ keys[:, kv].float().flatten(0, 1).T).unflatten(1, valid.shape)
        best = products.masked_fill_(~valid, -torch.inf).amax(dim=-1)
        if heads == "each":
            yield best
        else:
            added = best.unflatten(0, (len(members), -1)).sum(dim=0)
            total = added if total is None else total + added
    if total is not None:
        yield total


def padded(keys: Sequence[Tensor], tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Blocks' keys (kv_heads, tokens or more, dim) side by side, and which of them are there."""
    width = max(one.shape[1] for one in keys)
    whole = torch.stack([torch.nn.functional.pad(one, (0, 0, 0, width - one.shape[1])) for one in keys])
    there = torch.arange(width, device=whole.device)[None]
    return whole, there < torch.tensor(tokens, device=whole.device)[:, None]


def _by_kv_head(layer_queries: LayerQueries, kv_heads: int) -> dict[int, list[int]]:
    """The heads that are listened to, by whose keys they look at."""
    every = range(layer_queries.queries.shape[0])
    kv_of = layer_queries.kv_of or [head * kv_heads // len(every) for head in every]
    by_kv: dict[int, list[int]] = {}
    for head in every if layer_queries.heads is None else layer_queries.heads:
        by_kv.setdefault(kv_of[head], []).append(head)
    return dict(sorted(by_kv.items()))


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
    k: int = 128,
) -> BlockRelevance:
    """Eq. 4 with one of Table 1's four strategies, over rows of (some, blocks).

    Reciprocal-Rank-Max ties massively, since each row's first block scores 1 / (1 + c): there only the best k
    of each row are ranked, and ties go by the Sum of the same ranks, then by Softmax-Max.
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
    few = min(k, blocks) if aggregation == "max" else blocks
    for scores in rows:
        soft = np.maximum(soft, _log_softmax(scores)[0].amax(dim=0).cpu().numpy())
        order = (
            scores.argsort(dim=-1, descending=True, stable=True)[:, :few]
            if few == blocks
            else _top(scores, few)
        )
        gain = 1.0 / (torch.arange(1, few + 1, device=scores.device, dtype=torch.float64) + rank_constant)
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


def _top(scores: Tensor, few: int) -> Tensor:
    order: Tensor = scores.topk(few, dim=-1, sorted=True).indices
    return order


def chain(parts: Sequence[Iterator[Tensor]]) -> Iterator[Tensor]:
    """Rows of several layers, one after the other: each layer asks for itself."""
    for part in parts:
        yield from part
