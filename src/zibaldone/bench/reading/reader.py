"""Answers questions from a recalled text with a chat model: one prompt for every system and data set."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from zibaldone.bench.base import Example
from zibaldone.errors import ModelFailed, ModelUnavailable
from zibaldone.models.asker import Asker
from zibaldone.models.base import Turn
from zibaldone.rendering import header

VIEW, READ = "bench", "read"
ANSWER_TOKENS = 2048  # a model that thinks aloud before it answers needs most of them


@dataclass(frozen=True, slots=True)
class ReaderAnswer:
    """What a reader said, or why it said nothing."""

    text: str | None
    refused: str = ""  # the model was asked and gave no answer: it scores 0
    waits: str = ""  # the model could not be asked: nothing is known yet


class Reader:
    """Safe to share among threads."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker
        path = Path(__file__).parent / "prompts" / f"{READ}.md"
        self._instructions = path.read_text(encoding="utf-8").strip()

    def read(self, example: Example, context: str) -> ReaderAnswer:
        """The answer from the context alone."""
        day = f"Asked on {header(example.now.date(), None)}.\n" if example.now else ""
        recalled = context or "(nothing was recalled)"
        prompt = f"Recalled from memory:\n\n{recalled}\n\n{day}Question: {example.question}"
        try:
            text = self._asker.ask_text(
                (Turn("system", self._instructions), Turn("user", prompt)),
                user=example.id,  # one that fails lets no other be left alone
                view=VIEW,
                task=READ,
                max_tokens=ANSWER_TOKENS,
            )
        except ModelFailed as error:
            if isinstance(error, ModelUnavailable) or not error.requests:  # QuestionOpen among them
                return ReaderAnswer(None, waits=str(error))
            return ReaderAnswer(None, refused=str(error))
        answer = text.rpartition("</think>")[2].strip()
        return ReaderAnswer(answer) if answer else ReaderAnswer(None, refused="the answer is empty")
