"""A person's own notes and edits: kept through rebuilds, forgotten with what they are of."""

import pytest

from zibaldone import InvalidInput, Message
from zibaldone.testing import ScriptedModel
from zibaldone.views.notes.hand import mark_of

TALK = ["I live in Oslo.", "Always answer in metric units.", "I'm allergic to walnuts."]


@pytest.fixture
def profile(opened):
    """Ann's, of three notes and without a model."""
    memory = opened(chat=None)
    memory.add(TALK, user="ann", session="1")
    return memory.user("ann").profile


def lines(profile):
    """Lines of the text, without days."""
    return [line.partition(" (")[0] for line in profile.text(200).splitlines()]


def test_the_text_has_what_holds_kind_by_kind(profile):
    """Pinned notes first inside of a small budget; a note is never cut."""
    assert lines(profile) == [
        "Standing instructions:",
        "- Always answer in metric units.",
        "Constraints:",
        "- I'm allergic to walnuts.",
        "About the user:",
        "- I live in Oslo.",
    ]
    profile.pin("1.0")
    assert profile.text(30).splitlines()[0] == "About the user:"
    assert profile.text(2) == ""


def test_what_is_added_is_a_note_by_hand(profile):
    """That nobody said: of the user, and found by a recall."""
    note = profile.add("plan", "Sails to  Bergen in May.")
    assert (note.kind, note.text, note.about, note.made_by) == (
        "plan",
        "Sails to Bergen in May.",
        "user",
        "hand",
    )
    assert "- Sails to Bergen in May." in lines(profile)
    assert profile.retire(note).holds is False
    with pytest.raises(InvalidInput, match="no kind 'wish'"):
        profile.add("wish", "A boat.")
    with pytest.raises(InvalidInput, match="text is empty"):
        profile.add("plan", "  ")


@pytest.mark.parametrize("rebuilt", [False, True])
def test_edits_outlive_a_rebuild(opened, profile, rebuilt):
    """Pins, edits, retirements and additions are messages of the log."""
    profile.pin("3.0")
    profile.edit("1.0", "I live in Hamar.")
    profile.retire("2.0")
    profile.add("person", "Ida is my sister.")
    memory = opened(chat=None)
    memory.maintain()
    if rebuilt:
        memory.builds.rebuild("notes", user="ann")
    again = memory.user("ann").profile
    assert lines(again) == [
        "Constraints:",
        "- I'm allergic to walnuts.",
        "About the user:",
        "- I live in Hamar.",
        "People:",
        "- Ida is my sister.",
    ]
    assert {(note.id, note.pinned, note.edited, note.retired) for note in again.entries()} >= {
        ("1.0", False, True, False),
        ("2.0", False, False, True),
        ("3.0", True, False, False),
    }


def test_a_model_s_note_is_edited_as_any_other(opened):
    """And its edit stands though another model makes no such note any more."""
    told = {"notes": [{"kind": "plan", "text": "The party is on the 9th.", "sources": [1]}], "ended": []}
    memory = opened(chat=ScriptedModel(lambda _: told))
    memory.add("Ok so the party is on the 9th.", user="ann")
    memory.maintain()
    (note,) = memory.user("ann").profile.entries()
    memory.user("ann").profile.edit(note, "The party is on the 10th.")
    for chat in (ScriptedModel(lambda _: told), None):
        memory.builds.rebuild("notes", user="ann", chat=chat)
        memory.builds.switch("notes", user="ann")
        assert [entry.text for entry in memory.user("ann").profile.entries()] == ["The party is on the 10th."]


def test_edits_are_forgotten_with_what_they_are_of(opened, profile):
    """A new wording may keep some of the old words."""
    profile.edit("1.0", "I live in Oslo and in Hamar.")
    profile.pin("3.0")
    memory = opened(chat=None)
    memory.forget(user="ann", seqs=[1])
    assert [note.text for note in memory.user("ann").profile.entries() if note.holds] == TALK[1:]
    assert "Hamar" not in str(memory.messages(user="ann", include_tool_traffic=True))


def test_edits_of_a_folder_of_before_stand(opened):
    """Entries that were made by other rules are read again from what the edits name: none is lost."""
    memory = opened(chat=None)
    said = "My wife Anjali loves tulips."
    memory.add([said, "I use a wheelchair."], user="ann")
    part = {"part": "profile", "kind": "relation", "sources": [1]}
    memory.add(
        [
            Message("", role="editor", metadata={**part, "edit": "pinned", "before": mark_of(said)}),
            Message(
                "I walk again.",
                role="editor",
                metadata={**part, "kind": "fact", "sources": [2], "edit": "changed", "before": "0" * 16},
            ),
        ],
        user="ann",
    )
    memory.maintain()
    found = {note.text: note for note in memory.user("ann").profile.entries()}
    assert (found[said].kind, found[said].pinned) == ("person", True)
    assert (found["I walk again."].kind, found["I walk again."].edited) == ("fact", True)
    assert memory.user("ann").profile.retire(found[said]).holds is False


def standing(memory, question):
    """Notes that a recall always has."""
    return [
        unit.text for unit in memory.recall(question, user="ann", min_confidence=0).evidence if unit.standing
    ]


def test_pinned_rules_stand_in_every_recall(profile, opened):
    """Other rules only where they fit the question; facts never."""
    memory = opened(chat=None)
    memory.add("Never book flights before nine.", user="ann")
    assert standing(memory, "When is the flight?") == ["Never book flights before nine."]
    assert standing(memory, "Where do I live in Oslo?") == []
    profile.pin("3.0")
    assert standing(memory, "Where do I live in Oslo?") == [TALK[2]]
