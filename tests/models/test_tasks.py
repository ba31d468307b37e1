"""A task says what is sent, which version of the instructions it is, and what a good answer looks like."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

import pytest
from colours_task import Colours, NameColours
from pydantic import BaseModel

from zibaldone.models.task import Task

PROMPT = Path(__file__).parent / "prompts" / "name_colours.md"


class Passage(BaseModel):
    """An input with fields of its own."""

    seq: int
    text: str


@dataclass(frozen=True)
class Nested(NameColours):
    """The same question with inputs of many kinds."""

    passages: tuple[Passage, ...] = ()
    time: datetime | None = None
    scores: dict[str, float] = field(default_factory=dict)


def test_the_hash_is_of_the_prompt_file(task):
    """12 hex digits that change with the words of the file, and not with the inputs."""
    words = PROMPT.read_text(encoding="utf-8").strip()
    assert task.prompt_hash == blake2b(words.encode(), digest_size=6).hexdigest()
    assert task.prompt_hash == NameColours("another text").prompt_hash
    assert len(task.prompt_hash) == 12


def test_inputs_of_any_type_are_sent_as_json():
    """Pydantic models, tuples, dates and mappings, in the order of the fields, on one line."""
    noon = datetime(2024, 3, 1, 12, tzinfo=UTC)
    sent = Nested("x", passages=(Passage(seq=7, text="犬"),), time=noon, scores={"a": 0.5}).turns()[1].content
    inputs = json.loads(sent)
    assert list(inputs) == ["text", "known", "passages", "time", "scores"]
    assert inputs["passages"] == [{"seq": 7, "text": "犬"}]
    assert datetime.fromisoformat(inputs["time"]) == noon
    assert inputs["scores"] == {"a": 0.5}
    assert "\n" not in sent


def test_a_task_without_an_offline_answer_cannot_be_made():
    """Every question can be answered without a model."""
    with pytest.raises(TypeError, match="offline"):

        class Hopeless(Task[Colours]):
            view, prompt, result = "tests", "name_colours", Colours
