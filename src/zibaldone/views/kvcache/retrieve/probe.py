"""From a question to blocks: read the question where it will stand, and let its queries choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from zibaldone.views.kvcache.model.attention_hooks import Raw
from zibaldone.views.kvcache.model.encoding import Encoder
from zibaldone.views.kvcache.model.turns import QuestionTokens
from zibaldone.views.kvcache.retrieve.fetching import Fetcher
from zibaldone.views.kvcache.retrieve.index import Index
from zibaldone.views.kvcache.retrieve.ranking import rank
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries
from zibaldone.views.kvcache.storage import manifest
from zibaldone.views.kvcache.storage.manifest import KVBlock, PoolReader


@dataclass(frozen=True, slots=True)
class Choice:
    """The blocks that a question chose, and how."""

    index: Index
    blocks: tuple[KVBlock, ...]  # the best first
    scores: npt.NDArray[np.float64]  # of every block of the index, a logarithm; -inf for those left out


class Probe:
    """Questions to one model's blocks. Not for several threads at once."""

    def __init__(
        self, encoder: Encoder, fetcher: Fetcher, layers: Mapping[int, tuple[int, ...] | None]
    ) -> None:
        """`layers` are those that score, with the heads that are listened to."""
        self._encoder, self._fetcher, self._layers = encoder, fetcher, dict(layers)

    def newest(self, reader: PoolReader, session: str | None, room: int) -> tuple[KVBlock, ...]:
        """As many of the newest blocks as `probe_tokens` and the room hold, in the order of the log."""
        most = self._encoder.config.probe_tokens
        blocks = reader.look(manifest.newest, session, most) if most else []
        return last_of(blocks, min(most, room))

    def choose(
        self,
        reader: PoolReader,
        index: Index,
        question: QuestionTokens,
        k: int,
        *,
        session: str | None = None,
        behind: Sequence[KVBlock] | None = None,
    ) -> Choice:
        """The k best blocks for a question, of one session or of all. No transaction may be open.

        The question is read `behind` the blocks that are given, which stand before it and are left out of the
        search; or else behind the newest ones of the session (or of whichever), which are not.
        """
        without = {block.number for block in index.blocks if session not in (None, block.session)}
        without |= {block.number for block in behind or ()}
        if behind is None:
            window = self._encoder.window - len(self._encoder.prefix_ids) - len(question.ids)
            behind = self.newest(reader, session, window)
        before = self._fetcher.fetch(reader, behind).raw
        asks = bool(index.blocks and self._layers)
        queries = queries_of(self._encoder, question, before, list(self._layers)) if asks else {}
        per_layer = [
            LayerQueries(layer, query, self._layers[layer], self._encoder.tap.shapes[layer].kv_of)
            for layer, query in sorted(queries.items())
        ]

        def keys(blocks: Sequence[KVBlock], layer: int) -> list[Tensor]:
            return self._fetcher.keys(index.pool, blocks, layer)

        best, scores = rank(index, per_layer, self._encoder.config, k, frozenset(without), keys)
        return Choice(index, tuple(index.blocks[place] for place in best), scores)


def queries_of(
    encoder: Encoder, question: QuestionTokens, before: Sequence[Raw], layers: Sequence[int]
) -> dict[int, Tensor]:
    """Raw queries of those tokens of a question that ask: (heads, tokens, dim) by layer."""
    queries = probe(encoder, question.ids, before, layers)
    words = question.words
    if encoder.config.asking == "all" or words.stop <= words.start:
        return queries
    end = len(question.ids)  # counted from there, since a long question is cut in front
    kept = slice(words.start - end, words.stop - end or None)
    return {layer: query[:, kept] if query[:, kept].numel() else query for layer, query in queries.items()}


@torch.no_grad()
def probe(
    encoder: Encoder, ids: Sequence[int], before: Sequence[Raw], layers: Sequence[int]
) -> dict[int, Tensor]:
    """Raw queries of these tokens behind the pinned prefix and `before`: (heads, tokens, dim) by layer.

    The pass ends at the deepest layer that is asked for.
    """
    if not ids:
        return {}
    parts = [*([encoder.standing] if encoder.standing else []), *before]
    done = sum(part[0].tokens for part in parts)
    given = ids[-(encoder.window - done) :]
    with encoder.tap.open(wanted=layers, stop=True) as session:
        cache = encoder.tap.prefilled(parts, final=done + len(given), raw=True)
        encoder.tap.forward(given, cache, done)
    return {layer: scaled(encoder, layer, query[0]) for layer, query in session.queries.items()}


def scaled(encoder: Encoder, layer: int, queries: Tensor) -> Tensor:
    """Queries whose products with raw keys are the model's own attention logits, but for positions."""
    if not encoder.config.scaled:
        return queries
    return queries.float() * encoder.tap.shapes[layer].scaling


def last_of(blocks: Sequence[KVBlock], tokens: int, *, whole_turns: bool = False) -> tuple[KVBlock, ...]:
    """The last of these blocks, or of their whole turns, that so many tokens hold."""
    units: dict[int, list[KVBlock]] = {}
    for block in blocks:
        units.setdefault(block.tile.seqs[-1] if whole_turns else block.number, []).append(block)
    taken: list[KVBlock] = []
    for unit in reversed(units.values()):
        tokens -= sum(block.tokens for block in unit)
        if tokens < 0:
            break
        taken[:0] = unit
    return tuple(taken)
