"""Twenty changes as people mention them, and twenty near misses, with a model that errs in nothing."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from zibaldone import Message

DAY = datetime(2024, 1, 1, 9, tzinfo=UTC)
FILLERS = ("How do I poach an egg?", "Thanks!", "Any film for tonight?", "Write a haiku about moss.")


def cases(name):
    """Each a list of strings."""
    path = Path(__file__).parents[2] / "data" / f"{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


# What held, its clause, what was said later, the clause that says so, kind, question.
CHANGES = cases("overrides")
# What holds, its clause, what was said later of something else, kind, question.
NEAR_MISSES = cases("near_misses")


def talk(held, later):
    """A session for each thing that held, and a month later one for each thing said since."""
    for first_day, said in ((0, held), (40, later)):
        for number, text in enumerate(said):
            turns = FILLERS[number % 4], text, FILLERS[(number + 1) % 4]
            for minute, turn in enumerate(turns):
                time = DAY + timedelta(days=first_day + number, minutes=minute)
                yield Message(turn, session=f"{first_day}-{number}", time=time)


@pytest.mark.parametrize("quotes", [True, False], ids=["in its place", "over"])
def test_changes_are_marked_and_shown_with_what_took_their_place(memory, script, quotes):
    """In nineteen of twenty recalls, in one question a session."""
    for held, clause, later, new_clause, kind, _ in CHANGES:
        script.says(held, kind=kind, text=clause, quote=clause)
        script.is_over(later, clause)
        if quotes:
            script.says(later, kind=kind, text=new_clause, quote=new_clause)
    memory.add(list(talk([case[0] for case in CHANGES], [case[2] for case in CHANGES])), user="ann")
    memory.maintain()
    assert len(script.given) == 2 * len(CHANGES)
    shown = 0
    for held, clause, later, new_clause, _, question in CHANGES:
        evidence = memory.recall(question, user="ann", budget_tokens=300, min_confidence=0).evidence
        old = next((unit for unit in evidence if held in unit.text), None)
        if old and old.outdated and any(later in unit.text for unit in evidence):
            assert old.outdated.sentence == "" or clause.startswith(old.outdated.sentence.removesuffix(" …"))
            shown += new_clause in old.outdated.instead
    assert shown >= 19


def test_near_misses_end_nothing(memory, script):
    """Questions, suppositions, and statements of something else end no note."""
    for held, clause, _, kind, _ in NEAR_MISSES:
        script.says(held, kind=kind, text=clause, quote=clause)
    memory.add(list(talk([case[0] for case in NEAR_MISSES], [case[2] for case in NEAR_MISSES])), user="ann")
    memory.maintain()
    assert all(note.holds for note in memory.user("ann").profile.entries())
    for *_, question in NEAR_MISSES:
        evidence = memory.recall(question, user="ann", budget_tokens=300, min_confidence=0).evidence
        assert [unit.text for unit in evidence if unit.outdated] == []
