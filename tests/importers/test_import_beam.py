"""BEAM chats: files, and folders of them."""

import json

import pytest

from zibaldone import Memory
from zibaldone.errors import InvalidImport
from zibaldone.importers import names, recognise
from zibaldone.importers.importing import read_file


def turn(role, own_id, content, **more):
    return {"role": role, "id": own_id, "content": content, **more}


CHAT = [
    {
        "batch_number": 1,
        "time_anchor": None,
        "turns": [
            [
                turn("user", 0, "I keep bees. ->-> 1,1"),
                turn("assistant", 1, "How many hives? ->-> 1,1", time_anchor="March-15-2024"),
            ],
            [turn("user", 2, "Two, on the roof ->-> 1,N/A"), turn("assistant", 3, " ")],
        ],
    },
    {
        "batch_number": 2,
        "turns": [
            turn("user", 4, "Three by now.", time_anchor="April-02-2024"),
            turn("assistant", 5, "Well done!"),
        ],
    },
]


@pytest.fixture
def folder(tmp_path):
    """Write files, by their paths in a folder, and give the folder."""

    def folder(files):
        for name, content in files.items():
            path = tmp_path / "4" / name
            path.parent.mkdir(parents=True)
            path.write_text(json.dumps(content), encoding="utf-8")
        return tmp_path / "4"

    return folder


def test_messages_of_a_chat(read):
    """Turns in lists or by themselves, the batch as the session, no index after a user's words."""
    (conversation,) = read(CHAT)
    opening = conversation.messages[0].session.partition("/")[0]
    assert [(m.role, m.content, m.session, m.metadata) for m in conversation.messages] == [
        ("user", "I keep bees.", f"{opening}/1", {"chat_id": 0}),
        ("assistant", "How many hives? ->-> 1,1", f"{opening}/1", {"chat_id": 1}),
        ("user", "Two, on the roof", f"{opening}/1", {"chat_id": 2}),
        ("user", "Three by now.", f"{opening}/2", {"chat_id": 4}),
        ("assistant", "Well done!", f"{opening}/2", {"chat_id": 5}),
    ]
    assert conversation.messages[3].id == f"beam:{opening}:2:1"


def test_a_day_holds_until_the_next(read):
    """What stands before the first day that is named happened on it."""
    (conversation,) = read(CHAT)
    assert [message.time.strftime("%d %b %Y %H:%M %Z") for message in conversation.messages] == [
        *["15 Mar 2024 00:00 UTC"] * 3,
        *["02 Apr 2024 00:00 UTC"] * 2,
    ]


def test_a_batch_may_name_its_day(read):
    """For its messages and those after them."""
    (conversation,) = read([{**CHAT[0], "time_anchor": "March-10-2024"}, CHAT[1]])
    assert [message.time.day for message in conversation.messages] == [10, 15, 15, 2, 2]


def test_a_chat_without_days_has_no_times(read):
    """None is made up here; the memory says when it was told."""
    (conversation,) = read([{"batch_number": 1, "turns": [turn("user", 0, "Hello")]}])
    assert conversation.messages[0].time is None


def test_two_chats_of_one_user_keep_apart(write, tmp_path):
    """Their batches have the same numbers, and neither their messages nor their sessions are mixed."""
    other = json.loads(json.dumps(CHAT).replace("I keep bees", "I keep goats"))
    with Memory(tmp_path / "memory") as memory:
        memory.user("ann").import_(write(CHAT))
        assert memory.user("ann").import_(write(other)).added == 5
        assert len({message.session for message in memory.messages(user="ann")}) == 4


def test_a_folder_of_one_chat_is_its_file(folder):
    """Whichever is imported, the messages are the same."""
    path = folder({"chat.json": CHAT})
    assert recognise(path).name == "beam"
    (whole,) = read_file(path).conversations
    (file,) = read_file(path / "chat.json").conversations
    assert whole.messages == file.messages
    assert whole.name == "4"


def test_plans_follow_each_other_by_number(folder):
    """Plan 10 after plan 2, each with sessions of its own; a day is carried over."""
    path = folder(
        {
            "plan-10/chat.json": [{**CHAT[0], "turns": [turn("user", 0, "Hello again.")]}],
            "plan-2/chat.json": CHAT,
        }
    )
    (conversation,) = read_file(path).conversations
    contents = [message.content for message in conversation.messages]
    assert (contents[0], contents[-1], len(contents)) == ("I keep bees.", "Hello again.", 6)
    first, last = conversation.messages[0], conversation.messages[-1]
    assert (first.session.partition("/")[2], last.session.partition("/")[2]) == ("plan-2/1", "plan-10/1")
    assert last.id.endswith(":plan-10:1:1")
    assert last.time == conversation.messages[-2].time
    assert len({message.id for message in conversation.messages}) == 6


@pytest.mark.parametrize("name", [None, *names()])
def test_other_folders_are_refused(tmp_path, name):
    """By every importer, with what to give instead."""
    with pytest.raises(InvalidImport, match=r"is a directory"):
        read_file(tmp_path, name)


@pytest.mark.parametrize("name", [None, *(name for name in names() if name != "beam")])
def test_a_chat_of_another_format_is_no_reason_to_take_a_folder(folder, name):
    """A file inside called chat.json is not enough."""
    with pytest.raises(InvalidImport, match=r"is .*a directory"):
        read_file(folder({"chat.json": [{"role": "user", "content": "Hi"}]}), name)


def test_a_fault_in_a_plan_names_its_file(folder):
    """Among ten of them."""
    path = folder(
        {"plan-0/chat.json": CHAT, "plan-1/chat.json": [{"batch_number": 1, "turns": [[turn("user", 0, 7)]]}]}
    )
    with pytest.raises(InvalidImport, match=r"plan-1/chat\.json: \$\[0\]\.turns\[0\]\[0\]\.content: found 7"):
        read_file(path)


@pytest.mark.parametrize(
    ("batch", "expected"),
    [
        ({"batch_number": 3}, "$[1]: found an object with 'batch_number', expected the field 'turns'"),
        ({"batch_number": 1, "turns": []}, "$[1].batch_number: found '1', which $[0].batch_number has"),
        ({"batch_number": 3, "turns": 3}, "$[1].turns: found 3, expected a list"),
        ({"batch_number": 3, "turns": [{"role": "user"}]}, "$[1].turns[0]: found"),
        ({"batch_number": 3, "turns": [], "time_anchor": "soon"}, "$[1].time_anchor: found 'soon', expected"),
        ({"batch_number": 3, "turns": [], "time_anchor": "June-31-2024"}, "expected a date such as 'March"),
    ],
)
def test_faults(fault, batch, expected):
    """A bad file is refused with the JSON path of the fault."""
    assert expected in fault([CHAT[0], batch])
