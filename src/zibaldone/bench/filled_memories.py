"""Memories of given sizes, made and maintained, for the benchmarks that start processes over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.outcome import Progress, Run
from zibaldone.bench.workload import made_up_turns, repeated
from zibaldone.core import Message
from zibaldone.memory import Memory

USER = "ann"
_BATCH = 500  # messages of an add


class FilledMemories:
    """A folder per size, each filled when its turn comes, with turns of a LoCoMo file or made-up ones."""

    def __init__(self, path: Path | None, sizes: Sequence[int], run: Run) -> None:
        """`sizes`: in messages."""
        if path is None:
            self._turns, self.data = made_up_turns(), "made-up turns"
        else:
            talks = LoCoMoQuestions(path)
            self._turns = [message for user in talks.users() for message in talks.messages(user)]
            self.data = f"turns of {path.name}"
        self._sizes, self._run = sizes, run

    def __iter__(self) -> Iterator[tuple[Path, list[Message]]]:
        """Folders, and the messages of the user "ann" that each has."""
        for size in self._sizes:
            folder = self._run.folder / f"memory-{size}"
            stored = list(itertools.islice(repeated(self._turns), size))
            _fill(folder, stored, self._run.progress)
            yield folder, stored


def _fill(folder: Path, messages: Sequence[Message], progress: Progress) -> None:
    with Memory(folder, chat=None) as memory:
        for start in range(0, len(messages), _BATCH):
            progress("adding", start, len(messages))
            memory.add(messages[start : start + _BATCH], user=USER)
        progress("maintaining", 0, 0)
        memory.maintain(user=USER)
