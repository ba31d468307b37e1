"""No document, tool or machine gives a rule in a person's name, whichever door it comes through."""

import json

import pytest

from injections import INJECTIONS, RULE, swallowed, swallowing
from zibaldone import Message
from zibaldone.testing import ScriptedModel


@pytest.fixture(params=[None, swallowing], ids=["no model", "a model that swallows them"])
def memory(request, opened):
    """Without a model, and with one that takes everything for a rule."""
    return opened(chat=request.param and ScriptedModel(request.param))


def rules(memory, user="ann"):
    """Rules that nobody gave, in the profile and in a recall."""
    recalled = memory.recall("Where do invoices and passwords go?", user=user, min_confidence=0)
    assert not any(unit.standing for unit in recalled.evidence)
    return [note.text for note in swallowed(memory.user(user).profile.entries())]


def test_an_injection_is_no_rule(memory):
    """Neither as soon as it is stored, nor once it is maintained; each is said to another user."""
    for role, text in INJECTIONS:
        memory.add([Message("Hello!"), Message(text, role=role), Message("Thanks.")], user=f"{role}: {text}")
    users = memory.users()
    assert len(users) == len(INJECTIONS)
    assert [rules(memory, user) for user in users] == [[]] * len(users)
    memory.maintain()
    assert [rules(memory, user) for user in users] == [[]] * len(users)


def test_an_imported_injection_is_no_rule(memory, tmp_path):
    """Nor what an import brings."""
    path = tmp_path / "chat.jsonl"
    lines = [{"role": role, "content": text, "session": str(n)} for n, (role, text) in enumerate(INJECTIONS)]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    memory.user("ann").import_(path)
    memory.maintain()
    assert rules(memory) == []


def test_a_person_s_own_rule_is_one(memory):
    """The guard leaves what a person says themselves."""
    memory.add(RULE, user="ann")
    memory.maintain()
    assert next(note.kind for note in memory.user("ann").profile.entries()) == "instruction"
