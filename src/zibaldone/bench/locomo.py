"""LoCoMo: ten long conversations between two friends, with questions whose evidence turns are marked.

Get `data/locomo10.json` from the LoCoMo repository (CC BY-NC 4.0). Categories are numbered 1 multi-hop,
2 temporal, 3 open-domain, 4 single-hop, 5 adversarial; several repositories label them wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from zibaldone.bench.base import Example
from zibaldone.bench.conversations import read_benchmark, read_plain_json
from zibaldone.core import Message
from zibaldone.errors import InvalidImport, InvalidInput

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = CATEGORIES[5]
ERRORS_NAME = "locomo-errors.json"

# The audit of gold answers names a conversation by its place in the full file.
_PLACES = {f"conv-{n}": i for i, n in enumerate((26, 30, 41, 42, 43, 44, 47, 48, 49, 50))}
_DIA_ID = re.compile(r"D:?(\d+):(\d+)")


class LoCoMoQuestions:
    """Questions of categories 1 to 4 are answerable; category 5 asks for what was never said.

    `errors` is the public audit's file (a list of {question_id, ...}); without it, `locomo-errors.json`
    beside the data is taken when there is one.
    """

    name = "locomo"
    categories = tuple(name for name in CATEGORIES.values() if name != ADVERSARIAL)

    def __init__(self, path: Path, errors: Path | None = None) -> None:
        if errors is None and (beside := path.parent / ERRORS_NAME).is_file():
            errors = beside
        samples, self._messages = read_benchmark(path, "locomo")
        faulted = read_faulted(errors) if errors else frozenset()
        self.has_faults = errors is not None
        self.examples: list[Example] = []
        for place, sample in enumerate(samples):
            user = str(sample["sample_id"])
            # No question has a date: all are asked when the last message has been said.
            now = max((message.time for message in self._messages[user] if message.time), default=None)
            prefix = f"locomo_{_PLACES.get(user, place)}"
            self.examples += _examples(sample, user, prefix, faulted, now)

    def messages(self, user: str) -> tuple[Message, ...]:
        return self._messages[user]

    def users(self) -> tuple[str, ...]:
        return tuple(self._messages)


def read_faulted(path: Path) -> frozenset[str]:
    """The question ids of an audit file; raises InvalidInput when it is none."""
    raw = read_plain_json(path)
    if not isinstance(raw, list) or not all(
        isinstance(fault, dict) and isinstance(fault.get("question_id"), str) for fault in raw
    ):
        raise InvalidInput(
            f"{str(path)!r} is not an audit of LoCoMo: it must be a list of objects with a 'question_id',"
            " such as 'locomo_0_qa1'"
        )
    return frozenset(fault["question_id"] for fault in raw)


def dia_ids(evidence: object) -> tuple[str, ...]:
    """The turns that an evidence list names, repaired ('D8:6; D9:17', 'D:11:26', 'D30:05'), each once."""
    entries = evidence if isinstance(evidence, list) else [evidence]
    turns = (
        f"D{int(session)}:{int(turn)}" for entry in entries for session, turn in _DIA_ID.findall(str(entry))
    )
    return tuple(dict.fromkeys(turns))


def _examples(
    sample: Mapping[str, Any], user: str, prefix: str, faulted: frozenset[str], now: datetime | None
) -> list[Example]:
    turns = _turn_texts(sample["conversation"])
    examples = []
    questions = sample.get("qa")
    if not isinstance(questions, list):
        raise InvalidImport(f"sample {user!r} has no list 'qa': take the whole locomo10.json")
    for i, qa in enumerate(questions):
        if not isinstance(qa, dict) or not isinstance(qa.get("question"), str):
            raise InvalidImport(f"sample {user!r}: qa[{i}] is not an object with a 'question'")
        if qa.get("category") not in CATEGORIES:
            raise InvalidImport(
                f"sample {user!r}: qa[{i}] has category {qa.get('category')!r}, not one of 1 to 5"
            )
        category = CATEGORIES[qa["category"]]
        answer = qa.get("answer")
        answerable = category != ADVERSARIAL
        examples.append(
            Example(
                id=f"{prefix}_qa{i}",
                user=user,
                question=qa["question"],
                answer=str(answer) if answerable and answer is not None else None,
                category=category,
                evidence=tuple(turns[turn] for turn in dia_ids(qa.get("evidence", [])) if turns.get(turn)),
                unknown=not answerable,
                answerable=answerable,
                faulted=f"{prefix}_qa{i}" in faulted,
                now=now,
            )
        )
    return examples


def _turn_texts(conversation: Mapping[str, Any]) -> dict[str, str]:
    """By dia_id, each turn's own text, without what an importer may add to it."""
    return {
        str(turn["dia_id"]): str(turn.get("text") or "")
        for key, turns in conversation.items()
        if key.startswith("session_") and isinstance(turns, list)
        for turn in turns
        if isinstance(turn, dict) and "dia_id" in turn
    }
