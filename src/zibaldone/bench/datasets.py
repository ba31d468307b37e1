"""A data set from its path: which benchmark it is of, its content says."""

from __future__ import annotations

from pathlib import Path

from zibaldone.bench.base import DataSet
from zibaldone.bench.beam import BEAMQuestions
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.bench.longmemeval import LongMemEvalQuestions
from zibaldone.errors import InvalidInput
from zibaldone.importers import recognise


def read_data_set(path: Path) -> DataSet:
    """A LoCoMo or LongMemEval file, or a folder of BEAM chats.

    Raises InvalidInput for what is no benchmark.
    """
    if path.is_dir():
        return BEAMQuestions(path)
    kind = recognise(path).name
    if kind == "locomo":
        return LoCoMoQuestions(path)
    if kind == "longmemeval":
        return LongMemEvalQuestions(path)
    raise InvalidInput(
        f"{str(path)!r} is of the format {kind!r}, which has no questions: give a LoCoMo or LongMemEval file,"
        " or a folder of BEAM chats"
    )
