"""Answers questions from a recalled context with a chat model, and scores the answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.answers import bleu1, f1_original, f1_set
from zibaldone.bench.base import Example, RecalledContext
from zibaldone.errors import ModelFailed
from zibaldone.models.asker import Asker
from zibaldone.models.base import Turn

_ANSWER_TOKENS = 128


@dataclass(frozen=True, slots=True)
class Scored:
    """An answer and its scores, from 0 to 1."""

    prediction: str | None  # None: the model gave none
    f1: float  # as LoCoMo's own code scores it
    f1_set: float  # as A-MEM, mem0 and xMemory do
    bleu1: float


class Reader:
    """The same model, prompt and limits for every system."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        path = Path(__file__).parent / "prompts" / "read.md"
        self._instructions = path.read_text(encoding="utf-8").strip()
        self.failed = 0  # questions without an answer

    def read(self, example: Example, context: RecalledContext) -> Scored | None:
        """Answer and score; None for a question without a gold answer."""
        if example.answer is None:
            return None
        prompt = f"{context.text}\n\nQuestion: {example.question}"
        try:
            prediction = self._asker.ask_text(
                (Turn("system", self._instructions), Turn("user", prompt)),
                user=example.user,
                view="bench",
                task="read",
                max_tokens=_ANSWER_TOKENS,
            ).strip()
        except ModelFailed:  # an open question of a recording, too: what is not answered scores nothing
            self.failed += 1
            return Scored(None, 0.0, 0.0, 0.0)
        return Scored(
            prediction,
            f1_original(prediction, example.answer, example.category),
            f1_set(prediction, example.answer),
            bleu1(prediction, example.answer),
        )
