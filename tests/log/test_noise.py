"""Calls of tools, their results, thoughts: kept word for word, and left out unless they are asked for."""

import pytest

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


@pytest.fixture(params=[False, True], ids=["unread", "maintained"])
def told(request, memory):
    """A memory that holds the chat, read by its views or not yet."""
    memory.add(CHAT, user="ann")
    if request.param:
        memory.maintain(user="ann", views=["messages", "notes", "topics", "hierarchy", "chunks"])
    return memory


def test_noise_is_left_out_unless_it_is_asked_for(told):
    """Of recalls, lists and the profile; another value under the same key of metadata is no noise."""
    options = {"user": "ann", "min_confidence": 0}
    text = told.recall("bakery marmalade lemons", **options).text
    assert "Seville" in text
    assert "GET /marmalade" not in text
    assert "lemons" not in text + told.user("ann").profile.text()
    assert "GET /marmalade" in told.recall("bakery marmalade", **options, include_tool_traffic=True).text
    assert [message.seq for message in told.messages(user="ann")] == [1, 4, 6]
    assert [message.seq for message in told.messages(user="ann", last=2)] == [4, 6]
    assert len(told.messages(user="ann", include_tool_traffic=True)) == len(CHAT)
    assert told.admin.check().ok


def test_noise_survives_an_export(told, tmp_path):
    """Word for word, and marked."""
    told.user("ann").export(path=tmp_path / "out.jsonl")
    told.user("bea").import_(tmp_path / "out.jsonl")
    ours, theirs = (told.messages(user=user, include_tool_traffic=True) for user in ("ann", "bea"))
    assert [(m.content, m.role, m.metadata) for m in ours] == [
        (m.content, m.role, m.metadata) for m in theirs
    ]
