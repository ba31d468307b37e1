"""What the view can say afterwards about any message: how it ranked when the question was asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from zibaldone.core import ChannelScore
from zibaldone.search.lexical import Floats
from zibaldone.search.ranker import Scores
from zibaldone.search.unit_index import UnitIndex


class Explanation:
    """Ranks and scores of all units, per channel: some 36 bytes a unit, and no text."""

    def __init__(self, rows: npt.NDArray[np.int64], seqs: npt.NDArray[np.int64], scores: Scores) -> None:
        """`rows` and `seqs` say which rows have which message among their sources, pair by pair."""
        self._rows = rows
        self._seqs = seqs
        self._channels: dict[str, Floats] = {
            "score": scores.total,
            "lexical": scores.lexical,
            "dense": scores.dense,
            "context": scores.context,
            "clues": scores.clues,
        }

    @staticmethod
    def of_nothing() -> Explanation:
        """For a memory without units."""
        nobody = np.zeros(0, dtype=np.int64)
        return Explanation(nobody, nobody, Scores.of_nothing())

    @staticmethod
    def of(index: UnitIndex, scores: Scores) -> Explanation:
        """Of all rows of an index, as they were scored; outlives what happens to the index."""
        return Explanation(index.source_rows, index.source_seqs, scores)

    def __call__(self, seq: int) -> tuple[ChannelScore, ...] | None:
        """The channels of the message's best unit; None when it had no unit."""
        rows = self._rows[self._seqs == seq].tolist()
        return min(self.of_rows(rows), key=lambda channels: channels[0].rank) if rows else None

    def of_rows(self, rows: Sequence[int]) -> list[tuple[ChannelScore, ...]]:
        """What every channel gave each row; a lexical or dense score of zero is no find."""
        columns = []
        for name, values in self._channels.items():
            mine = values[rows]
            ranks = len(values) - np.searchsorted(np.sort(values), mine, side="right") + 1
            if name in ("lexical", "dense"):
                ranks[mine <= 0] = 0
            columns.append(
                [ChannelScore(name, *pair) for pair in zip(ranks.tolist(), mine.tolist(), strict=True)]
            )
        return list(zip(*columns, strict=True))
