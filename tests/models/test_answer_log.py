"""What becomes of a model's answers is told to whoever listens, and to nobody else."""

from __future__ import annotations

from colours_task import NameColours

from zibaldone.models import Asker, Meter, StaticEmbedder
from zibaldone.models.answer_log import PartsHeard, listening, note_parts
from zibaldone.testing import ScriptedModel

GOOD, BAD = {"colours": ["red"]}, {"colours": ["mauve"]}


def test_every_outcome_is_heard_with_what_it_cost() -> None:
    """Taken at once, taken once corrected, answered offline in its stead; nothing after the block."""
    asker = Asker(ScriptedModel([GOOD, BAD, GOOD, BAD, BAD, GOOD]), Meter(None), StaticEmbedder())
    with listening() as heard:
        for _ in range(3):
            asker.ask(NameColours("red"), user="ann")
    asker.ask(NameColours("red"), user="ann")
    assert [(one.task, one.outcome, one.calls, one.prompt_tokens) for one in heard.answers] == [
        ("tests.name_colours", "valid", 1, 10),
        ("tests.name_colours", "repaired", 2, 20),
        ("tests.name_colours", "degraded", 2, 20),
    ]
    assert "mauve" in heard.answers[2].reason


def test_each_listener_hears_all_of_its_own_time() -> None:
    """Two may listen at once."""
    with listening() as first:
        note_parts("a.b", 2, [])
        with listening() as second:
            note_parts("a.c", 3, ["why"])
    assert [one.task for one in first.parts] == ["a.b", "a.c"]
    assert second.parts == [PartsHeard("a.c", 3, ("why",))]
