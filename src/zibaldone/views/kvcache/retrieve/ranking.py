"""Memory retrieval (section 3.2.2): from a question's raw queries to one set of blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zibaldone.views.kvcache.config import MemArt
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.scoring import (
    BlockRelevance,
    LayerQueries,
    aggregate,
    box_scores,
    chain,
    key_scores,
    padded,
)
from zibaldone.views.kvcache.storage.manifest import KVBlock

# Blocks' raw keys in a layer, (kv_heads, tokens, dim) each.
Keys = Callable[[Sequence[KVBlock], int], Sequence[Tensor]]
_MOST_RESCORED, _SHARE = 4096, 10  # candidates, however large the memory; one in ten at least


# (places in the index, the best first; scores of all blocks, logarithms, -inf for those left out, by boxes
# unless all were candidates)
Ranked = tuple[list[int], npt.NDArray[np.float64]]


def rank(
    index: Index,
    per_layer: Sequence[LayerQueries],
    config: MemArt,
    k: int,
    without: frozenset[int],
    keys: Keys | None,
) -> Ranked:
    """The k best blocks for these queries, of those whose numbers are not in `without`.

    Boxes bound the scores of the keys inside (Eq. 3). With `rescore`, candidates are scored again by their
    best keys, since boxes around unlike keys bound loosely. Every row (a head at a query token) names its
    candidates in turn, its best block first, its second next: how high a bound is says little beside other
    rows', and a row whose bounds are flat would say the most in a softmax.
    """
    count = len(index.blocks)
    live = [place for place, block in enumerate(index.blocks) if block.number not in without]
    if not live or not per_layer:
        return [], np.full(count, -np.inf)
    wanted = k
    if config.rescore:
        wanted = max(k, min(_MOST_RESCORED, max(config.rescore * k, len(live) // _SHARE)))
        if wanted >= len(live):  # all are candidates: their keys say more than any box
            exact = _rescore(index, per_layer, config, live, k, keys)
            return [live[i] for i in exact.top(k)], _spread(exact.best, live, count)
    chosen = torch.tensor(live, device=next(iter(index.boxes.values())).device)

    def boxes(layer: int) -> Tensor:
        return index.boxes[layer] if len(live) == count else index.boxes[layer][chosen]

    scores = aggregate(
        chain(
            [
                box_scores(layer_queries, boxes(layer_queries.layer), config.heads)
                for layer_queries in per_layer
            ]
        ),
        len(live),
        "reciprocal_rank" if config.rescore else config.normalization,
        "max" if config.rescore else config.aggregation,
        k=wanted,
    )
    best = scores.top(wanted)
    if config.rescore and len(best) > k:
        again = _rescore(index, per_layer, config, [live[i] for i in best], k, keys)
        best = [best[i] for i in again.top(k)]
    softmax = scores.ties[-1] if config.rescore else scores.best
    return [live[i] for i in best[:k]], _spread(softmax, live, count)


def _spread(values: npt.NDArray[np.float64], live: Sequence[int], count: int) -> npt.NDArray[np.float64]:
    out = np.full(count, -np.inf)
    out[list(live)] = values
    return out


def _rescore(
    index: Index,
    per_layer: Sequence[LayerQueries],
    config: MemArt,
    places: Sequence[int],
    k: int,
    keys: Keys | None,
) -> BlockRelevance:
    """Table 1 over candidates and their best keys."""
    assert keys is not None, "rescoring looks at keys"
    blocks = [index.blocks[place] for place in places]
    tokens = [block.tokens for block in blocks]

    def exact() -> Iterator[Tensor]:
        for layer_queries in per_layer:
            block_keys = [one.to(layer_queries.queries.device) for one in keys(blocks, layer_queries.layer)]
            yield from key_scores(layer_queries, *padded(block_keys, tokens), config.heads)

    return aggregate(exact(), len(places), config.normalization, config.aggregation, k=k)
