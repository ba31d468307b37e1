"""Tasks: inputs that are sent, answers that are checked."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from zibaldone.models.task import Task
from zibaldone.views.topics.library import CatalogueLine
from zibaldone.views.topics.markdown.entry import Entry, When
from zibaldone.views.topics.tasks import (
    BlockShown,
    ChooseMerges,
    PlanUpdates,
    shown_entries,
    shown_sections,
)

DOCUMENTS = tuple(CatalogueLine(f"topic-000{n}", "Title", "summary", 400) for n in range(1, 6))

PLAN = PlanUpdates((BlockShown(1, "Home", ("x",)), BlockShown(2, "Food", ("y",))), DOCUMENTS)
MERGES = ChooseMerges(DOCUMENTS, 4, 1600)


def test_a_day_is_told_where_it_changes() -> None:
    """Entries of one day come one after the other, and a prompt is paid by the token."""
    first, second = When.of(date(2024, 3, 1)), When.of(date(2024, 3, 2))
    entries = [Entry("a", first=1, time=first), Entry("b", first=2, time=first, source="Ann")]
    entries += [Entry("c", first=3, time=second), Entry("d", first=3, time=first)]
    shown = shown_entries(dict(enumerate(entries, 1)))
    assert shown[0] == "1 (1, 2024-03-01, user) a"
    assert shown[1] == "2 (2, Ann) b"
    assert shown[2:] == ("3 (3, 2024-03-02, user) c", "4 (3, 2024-03-01, user) d")
    (one, other) = shown_sections(dict(enumerate(entries[:2], 1)), {1: "Home", 2: "Food"})
    assert "2024-03-01" in one.entries[0]
    assert "2024-03-01" in other.entries[0]  # below another heading it stands first


def placed(blocks: list[int], document: str = "topic-0001") -> dict[str, Any]:
    """A plan that puts these blocks into a document."""
    return {"updates": [{"document": document, "blocks": blocks}], "new_documents": []}


@pytest.mark.parametrize(
    ("task", "answer", "fault"),
    [
        (MERGES, {"groups": [["topic-0001", "topic-0009"]]}, "no documents"),
        (MERGES, {"groups": [["topic-0001", "topic-0002"], ["topic-0002", "topic-0003"]]}, "twice"),
        (MERGES, {"groups": [["topic-0001"]]}, "2 to 4"),
        (MERGES, {"groups": [[one.id for one in DOCUMENTS]]}, "2 to 4"),
        (ChooseMerges(DOCUMENTS, 4, 700), {"groups": [["topic-0001", "topic-0002"]]}, "tokens"),
        (PLAN, placed([1, 2], "topic-0009"), "no documents"),
        (PLAN, placed([1]), "one place"),
        (PLAN, placed([1, 2, 2]), "one place"),
        (PLAN, placed([1, 2, 3]), "one place"),
        (PLAN, {"updates": [], "new_documents": [{"title": "x", "blocks": [1, 2, 2]}]}, "one place"),
    ],
)
def test_a_bad_answer_is_refused(task: Task[Any], answer: dict[str, Any], fault: str) -> None:
    """Merges are disjoint groups of two to four small documents; a plan places every block once."""
    with pytest.raises(ValueError, match=fault):
        task.check(task.result.model_validate(answer))
