"""Calls of tools, their results, thoughts: kept word for word, and left out unless they are asked for."""

import pytest

from zibaldone import Memory

CHAT = [
    {"role": "user", "content": "Which marmalade did the bakery recommend?"},
    {
        "role": "thinking",
        "content": "Marmalade: look at the bakery's site.",
        "metadata": {"noise": "thinking"},
    },
    {"role": "tool", "content": "GET /marmalade 200 seville bakery page", "metadata": {"noise": "result"}},
    {"role": "assistant", "content": "The bakery recommends Seville marmalade."},
    {"role": "user", "content": "I hide nothing. I love lemons.", "metadata": {"noise": "hidden"}},
    {"role": "user", "content": "Noise is what I call it.", "metadata": {"noise": "loud"}},
]


@pytest.fixture
def memory(tmp_path):
    """One that holds the chat, maintained."""
    with Memory(tmp_path / "memory") as opened:
        opened.add(CHAT, user="ann")
        opened.maintain(user="ann")
        yield opened


def test_recall_leaves_noise_out(memory):
    """Unless it is told not to."""
    assert "GET /marmalade" not in memory.recall("bakery marmalade", user="ann", min_confidence=0).text
    assert "Seville" in memory.recall("bakery marmalade", user="ann", min_confidence=0).text
    assert (
        "GET /marmalade"
        in memory.recall("bakery marmalade", user="ann", min_confidence=0, include_tool_traffic=True).text
    )


def test_what_no_view_has_read_yet_is_left_out_too(tmp_path):
    """A message past the cursor is found by its words, noise is not."""
    with Memory(tmp_path / "memory") as opened:
        opened.add(CHAT, user="ann")
        text = opened.recall("I love lemons", user="ann", min_confidence=0).text
        assert "lemons" not in text
        assert "lemons" not in opened.user("ann").profile.text()


def test_lists_leave_noise_out(memory):
    """Another value under the same key of metadata is no noise."""
    assert [message.seq for message in memory.messages(user="ann")] == [1, 4, 6]
    assert [message.seq for message in memory.messages(user="ann", last=2)] == [4, 6]
    assert [message.seq for message in memory.messages(user="ann", include_tool_traffic=True)] == [
        1,
        2,
        3,
        4,
        5,
        6,
    ]


def test_no_view_makes_anything_of_noise(memory):
    """A rebuild neither, and nothing is missing."""
    memory.builds.rebuild(user="ann")
    memory.maintain(user="ann", views=["topics", "hierarchy", "chunks"])
    assert memory.admin.check().ok
    assert all("lemons" not in entry.text for entry in memory.user("ann").profile.entries())


def test_noise_survives_an_export(memory, tmp_path):
    """Word for word, and marked."""
    memory.user("ann").export(path=tmp_path / "out.jsonl")
    memory.user("bea").import_(tmp_path / "out.jsonl")
    ours, theirs = (memory.messages(user=user, include_tool_traffic=True) for user in ("ann", "bea"))
    assert [(m.content, m.role, m.metadata) for m in ours] == [
        (m.content, m.role, m.metadata) for m in theirs
    ]
