"""Tasks: prompts that exist, inputs that are sent, answers that are checked."""

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
    DocumentOpened,
    Extract,
    PlanUpdates,
    RewriteCurrent,
    RewriteDocuments,
    shown_entries,
    shown_sections,
)

GIVEN = {1: Entry("I live in Oslo.", first=1), 2: Entry("I bake bread.", first=2)}
SHOWN = shown_sections(GIVEN, {1: "Home"})
DOCUMENTS = tuple(CatalogueLine(f"topic-000{n}", "Title", "summary", 400) for n in range(1, 6))

EXTRACT = Extract((("1 (2023-05-08) the user: I live in Oslo.",),), (), frozenset({1}))
CURRENT = RewriteCurrent(shown_entries(GIVEN))
OPENED = DocumentOpened("topic-0001", "Home", SHOWN[:1], SHOWN[1:])
DOCUMENT = RewriteDocuments((OPENED,))
PLAN = PlanUpdates((BlockShown(1, "Home", ("x",)), BlockShown(2, "Food", ("y",))), DOCUMENTS)
MERGES = ChooseMerges(DOCUMENTS, 4, 1600)
TASKS: list[Task[Any]] = [EXTRACT, CURRENT, DOCUMENT, PLAN, MERGES]


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


def refused(task: Task[Any], answer: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        task.check(task.result.model_validate(answer))


@pytest.mark.parametrize(
    ("groups", "fault"),
    [
        ([["topic-0001", "topic-0009"]], "no documents"),
        ([["topic-0001", "topic-0002"], ["topic-0002", "topic-0003"]], "twice"),
        ([["topic-0001"]], "2 to 4"),
        ([[one.id for one in DOCUMENTS]], "2 to 4"),
    ],
)
def test_merges_are_disjoint_groups_of_two_to_four(groups: list[list[str]], fault: str) -> None:
    """Groups are of documents that are listed."""
    refused(MERGES, {"groups": groups}, fault)


def test_a_merge_stays_below_the_size_of_a_document() -> None:
    """Else it would be split again."""
    tight = ChooseMerges(DOCUMENTS, 4, 700)
    refused(tight, {"groups": [["topic-0001", "topic-0002"]]}, "tokens")


@pytest.mark.parametrize(
    ("blocks", "document", "fault"),
    [
        ([1, 2], "topic-0009", "no documents"),
        ([1], "topic-0001", "one place"),
        ([1, 2, 2], "topic-0001", "one place"),
        ([1, 2, 3], "topic-0001", "one place"),
    ],
)
def test_a_plan_places_every_block_once(blocks: list[int], document: str, fault: str) -> None:
    """In a document that is there."""
    refused(PLAN, {"updates": [{"document": document, "blocks": blocks}], "new_documents": []}, fault)
    if fault != "no documents":
        refused(PLAN, {"updates": [], "new_documents": [{"title": "x", "blocks": blocks}]}, fault)
