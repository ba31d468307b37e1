"""What each format has beside the words of its turns: who, when, titles, attachments, noise."""

import json
import zipfile
from pathlib import Path

import pytest

from exports import read_file
from zibaldone import InvalidInput


@pytest.fixture
def messages(write):
    """(role, name, content, noise) of all messages of a file, whose format is recognised."""
    return lambda content: [shape(message) for message in all_of(write(content))]


def all_of(path):
    """The messages of a file, a folder or an archive."""
    return [message for talk in read_file(path) for message in talk.messages]


def shape(message):
    """What a test compares."""
    return message.role, message.name, message.content, message.metadata.get("noise")


def export(name):
    """A small export of tests/data, made up."""
    return (Path(__file__).parents[1] / "data" / "exports" / name).read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path):
    """A folder of these files."""

    def folder(files):
        for name, content in files.items():
            path = tmp_path / "export" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return tmp_path / "export"

    return folder


IOS = (
    "\u200e[31/12/23, 22:15:32] Family: \u200eMessages and calls are end-to-end encrypted.\n"
    "[31/12/23, 22:16:00] Ann: Happy new year!\nSee you at ten.\n"
    "[01/01/24, 09:05:10] Ben: \u200e<attached: 00001-PHOTO.jpg>\n"
)
ANDROID = (
    "12/31/23, 10:15\u202fPM - Messages and calls are end-to-end encrypted.\n"
    "12/31/23, 10:16\u202fPM - Ann: Happy new year!\nSee you at ten.\n"
    "1/1/24, 9:05\u202fAM - Ben: IMG-1.jpg (file attached)\n"
)


def test_whatsapp_of_an_iphone(write):
    """Names, days first, lines that go on, media; the people are the title."""
    _, first, photo = all_of(write(IOS))
    assert (first.name, first.content) == ("Ann", "Happy new year!\nSee you at ten.")
    assert first.time.isoformat() == "2023-12-31T22:16:00+00:00"
    assert photo.time.isoformat() == "2024-01-01T09:05:10+00:00"
    assert photo.metadata["attachments"] == [{"type": "file", "name": "00001-PHOTO.jpg"}]
    assert photo.metadata["title"] == "WhatsApp: Ann, Ben"


def test_whatsapp_of_android(write):
    """Months first and a clock of twelve hours; what the program says is noise."""
    notice, first, photo = all_of(write(ANDROID))
    assert (notice.role, notice.metadata["noise"]) == ("system", "notice")
    assert (first.name, first.time.isoformat()) == ("Ann", "2023-12-31T22:16:00+00:00")
    assert photo.time.isoformat() == "2024-01-01T09:05:00+00:00"
    assert photo.metadata["attachments"][0]["name"] == "IMG-1.jpg"


def test_whatsapp_again_after_more_was_said(write, memory):
    """A later export of the same chat adds what is new."""
    assert memory.user("ann").import_(write(IOS)).added == 3
    done = memory.user("ann").import_(write(IOS + "[02/01/24, 09:00:00] Ann: Back home.\n"))
    assert (done.read, done.added) == (4, 1)


PAIR = [
    "24/01/24, 10:00 - Ann: ok",
    "24/01/24, 10:00 - Ben: ok",
    "24/01/24, 10:00 - Ben: ok",
    "24/01/24, 10:05 - Ann: Until eight.",
    "24/01/24, 10:06 - Ben: Yes.",
]


def test_whatsapp_of_a_long_chat_begins_later_when_it_is_exported_again(write, memory):
    """Nothing but who speaks first then may be stored twice, and all of it is one session."""
    assert memory.user("ann").import_(write("\n".join(PAIR))).added == 5
    cut_off = [*PAIR[2:], "25/01/24, 09:00 - Ben: Back home."]
    done = memory.user("ann").import_(write("\n".join(cut_off)))
    assert (done.conversations, done.read, done.added) == (1, 4, 2)
    assert len(memory.user("ann").sessions()) == 1
    elsewhere = [line.replace("Ben", "Zoe") for line in PAIR]
    assert memory.user("ann").import_(write("\n".join(elsewhere))).added == 5


def test_whatsapp_in_other_languages(tmp_path, memory):
    """Media and what the program says are told by their form; the bytes of files are kept."""
    lines = [
        "[24/1/24, 10:00:01] Familia: \u200eLos mensajes están cifrados.",
        "\u200e[24/1/24, 10:00:02] Ann: \u200e<adjunto: 00001-PHOTO.jpg>",
        "[24/1/24, 10:00:03] Ann: \u200eIMG-1.jpg (Datei angehängt)",
        "[24/1/24, 10:00:04] Ben: \u200eSe eliminó este mensaje.",
        "[24/1/24, 10:00:05] Ben: <Medien ausgeschlossen>",
        "[24/1/24, 10:00:06] Ben: Vale \u200e<Se editó este mensaje.>",
    ]
    with zipfile.ZipFile(tmp_path / "chat.zip", "w") as packed:
        packed.writestr("_chat.txt", "\n".join(lines))
        packed.writestr("00001-PHOTO.jpg", b"jpeg")
    assert memory.user("ann").import_(tmp_path / "chat.zip", attachments=True).files == 1
    stored = memory.messages(user="ann", include_tool_traffic=True)
    attached = [[file.get("name") for file in m.metadata.get("attachments", ())] for m in stored]
    assert attached == [[], ["00001-PHOTO.jpg"], ["IMG-1.jpg"], [], [None], []]
    assert [m.is_noise for m in stored] == [True, False, False, True, False, False]


def test_telegram_messages_without_words(write):
    """Polls, places and contacts are told, too; a chat of nobody any more is called that."""
    sent = [
        {"poll": {"question": "When?", "closed": False, "answers": [{"text": "Now", "voters": 2}]}},
        {"location_information": {"latitude": 52.5, "longitude": 13.4}},
        {"contact_information": {"first_name": "Bo", "phone_number": "+49 30"}},
        {"photo": "(File not included. Change data exporting settings to download.)"},
    ]
    base = {"type": "message", "from": None, "date": "2024-01-15T10:31:00", "text": ""}
    messages = [{**base, "id": number, **fields} for number, fields in enumerate(sent)]
    found = all_of(write({"name": None, "type": "personal_chat", "id": 7, "messages": messages}))
    assert [message.content for message in found] == [
        "[poll: When?, Now]",
        "[location: 52.5, 13.4]",
        "[contact: Bo, +49 30]",
        "[image]",
    ]
    assert found[0].metadata["title"] == found[0].name == "Deleted account"  # and not the owner


def test_telegram_account(write):
    """All chats; texts of parts, service messages, files."""
    found = all_of(write(export("telegram.json")))
    assert [shape(message) for message in found] == [
        ("user", "Ann", "create group", "notice"),
        ("user", "Ben", "See https://bees.example\n[image: photos/1.jpg]", None),
    ]
    assert found[1].metadata["title"] == "Bees"
    assert found[1].metadata["attachments"] == [{"type": "image", "name": "photos/1.jpg"}]
    assert found[0].time.isoformat() == "2024-01-15T10:30:00+00:00"


def test_slack(folder, memory):
    """Names of people, mentions, threads, bots, joins; a fault is told, and the rest is there."""
    done = memory.user("ann").import_(folder(json.loads(export("slack.json"))))
    stored = memory.messages(user="ann", include_tool_traffic=True)
    assert [(s.session, s.title) for s in memory.user("ann").sessions()] == [("slack:general", "#general")]
    assert [shape(message) for message in stored] == [
        ("user", "Ben", "@Ben joined", "notice"),
        ("user", "Ann", "Hi @Ben", None),
        ("assistant", "deploy", "Done.", None),
        ("user", "Ben", "[file: a.pdf]", None),
    ]
    assert (done.format, done.refusals) == ("slack", 1)
    assert done.refused[0].where.endswith("general/2024-01-15.json: $[4].ts")


def test_slack_as_it_is_shown(folder):
    """Direct messages by their people, links and signs as Slack shows them, and what apps say."""
    said = "<@U1> &lt;3 <#C1|hives> <https://x.example|the plan> <mailto:a@b.c|a@b.c>"
    app = {
        "bot_id": "B",
        "username": "git",
        "text": "",
        "attachments": [{"title": "PR 1", "text": "Fix &amp; go"}],
    }
    found = all_of(
        folder(
            {
                "users.json": [{"id": "U1", "name": "ann"}, {"id": "U2", "name": "ben"}],
                "dms.json": [{"id": "D1", "members": ["U1", "U2"]}],
                "D1/2024-01-15.json": [{"user": "U2", "text": said, "ts": "1.1"}, {**app, "ts": "2.1"}],
            }
        )
    )
    assert [message.content for message in found] == [
        "@ann <3 #hives the plan (https://x.example) a@b.c",
        "PR 1\nFix & go",
    ]
    assert found[0].metadata["title"] == "ann, ben"


def test_discord_authors(write):
    """Nicknames are names, bots are assistants, and the channel is the title."""
    message = {"id": "1", "type": "Default", "timestamp": "2024-01-15T10:30:00+00:00", "content": "Hi"}
    found = all_of(
        write(
            {
                "guild": {"id": "1", "name": "Bees"},
                "channel": {"id": "2", "name": "hives"},
                "dateRange": {"after": None},
                "messages": [
                    {**message, "author": {"name": "ann", "nickname": "Ann", "isBot": False}},
                    {**message, "id": "2", "author": {"name": "Robot", "isBot": True}},
                    {**message, "id": "3", "type": "GuildMemberJoin", "author": {"name": "ben"}},
                ],
            }
        )
    )
    assert [shape(m) for m in found] == [
        ("user", "Ann", "Hi", None),
        ("assistant", "Robot", "Hi", None),
        ("user", "ben", "Hi", "notice"),
    ]
    assert (found[0].session, found[0].metadata["title"]) == ("discord:2", "Bees / hives")


def test_mbox(write):
    """Threads are sessions, subjects titles; a text is taken from HTML, attachments are named."""
    first, second = all_of(write(export("mail.mbox")))
    assert (first.name, first.content) == ("Jürgen", "Three jars?\nFrom the attic.")
    assert (second.name, second.content) == ("Ann", "Two & a half.\n[file: bill.pdf]")
    assert first.session == second.session == "mail:a@x"
    assert first.metadata["title"] == second.metadata["title"] == "Honey"
    assert first.time.isoformat() == "2024-01-15T10:30:00+01:00"
    assert second.metadata["attachments"][0]["name"] == "bill.pdf"


def test_mbox_of_any_charset(tmp_path):
    """Mails in the charsets of their time are read, in a folder as well, and one of an unknown one, too."""
    mail = (
        "From 1@xxx Mon Jan 15 10:30:00 +0000 2024\nFrom: Bea <b@x>\nMessage-ID: <{0}@x>\n"
        "Content-Type: text/plain; charset={0}\nContent-Transfer-Encoding: 8bit\n\nGrüße\n\n"
    )
    for name in ("Inbox", "Mail/All mail.mbox"):
        path = tmp_path / "mails" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(mail.format("latin-1").encode("latin-1") + mail.format("nonsense").encode())
        assert [message.content for message in all_of(path)] == ["Grüße", "Grüße"]
    assert len(all_of(tmp_path / "mails")) == 4


def test_gemini_in_a_takeout(tmp_path):
    """Questions and answers from the archive; what nobody asked is left out, what was answered never."""
    path = tmp_path / "takeout.zip"
    activities = json.loads(export("gemini.json"))
    activities.append({**activities[0], "title": "Gefragt: Wie lange?", "time": "2024-01-14T10:30:00Z"})
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("Takeout/My Activity/Gemini Apps/MyActivity.json", json.dumps(activities))
    *found, german, _ = all_of(path)
    assert german.content == "Gefragt: Wie lange?"
    assert [shape(m)[::2] for m in found] == [
        ("user", "How long does rye rise?"),
        ("assistant", "Two hours.\n\nKeep it > 24 °C"),
    ]


def test_claude_code(messages):
    """Thoughts, calls and results are noise; so are commands and what the program adds."""
    assert messages(export("claude_code.jsonl")) == [
        ("user", None, "Fix it", None),
        ("thinking", None, "hm", "thinking"),
        ("assistant", None, '[tool call: Bash({"command": "ls"})]', "call"),
        ("tool", None, "a.py", "result"),
        ("user", None, "Caveat", "hidden"),
        ("assistant", None, "Done.", None),
    ]


def test_codex(messages):
    """Items of the Responses API, each with its role."""
    drafted = "# AGENTS.md instructions for /src\n\nUse tabs."  # as Codex writes it for its user
    assert messages(export("codex.jsonl")) == [
        ("user", None, "<environment_context>x</environment_context>", "hidden"),
        ("user", None, "Fix it", None),
        ("thinking", None, "hm", "thinking"),
        ("assistant", None, '[tool call: shell({"command":["ls"]})]', "call"),
        ("tool", None, "a.py", "result"),
        ("assistant", None, drafted, None),
        ("assistant", None, "Done.", None),
    ]


def test_a_folder_of_notes(folder):
    """Front matter gives title, time and tags; the name of a daily note its day."""
    path = folder(
        {
            "Bees.md": "---\ntitle: My bees\ncreated: 2024-01-15\ntags: [hive, honey]\n---\n# Hives\nThree.",
            "daily/2024-02-03.md": "Bought sugar.",
            "empty.md": "---\ntitle: x\n---\n",
            ".obsidian/workspace.json": "{}",
        }
    )
    bees, day = all_of(path)
    assert (bees.content, bees.session) == ("# Hives\nThree.", "note:Bees.md")
    assert (bees.metadata["title"], bees.metadata["tags"]) == ("My bees", ["hive", "honey"])
    assert [note.time.date().isoformat() for note in (bees, day)] == ["2024-01-15", "2024-02-03"]


def test_exports_that_lie_beside_those_of_another_format_are_named(folder, memory):
    """An import is of one format: what is left to other imports is in the report."""
    path = folder({"result.json": export("telegram.json"), "chat.txt": IOS, "old.zip": "x", "a.jpg": "x"})
    done = memory.user("ann").import_(path, me=["Ben"])
    assert done.format == "telegram"
    assert done.notes == (
        "not read, since an import is of one format: chat.txt, old.zip: give each by itself",
    )


def test_sharegpt(messages):
    """Who a turn is from says its role; a turn of nobody known is no message."""
    turns = [
        {"from": "system", "value": "Be kind"},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Yes"},
    ]
    assert messages([{"id": "c", "conversations": turns}]) == [
        ("system", None, "Be kind", "hidden"),
        ("user", None, "Hi", None),
        ("assistant", None, "Yes", None),
    ]


def test_mem0(write, memory):
    """Memories are of their users, and entries of their profiles."""
    given = {
        "results": [
            {"id": "1", "memory": "Keeps bees", "user_id": "ann", "created_at": "2024-01-15T10:30:00Z"},
            {"id": "2", "memory": "Likes rye", "user_id": "bea", "metadata": {"app": "x"}},
        ]
    }
    assert memory.admin.import_(write(given)).users == ("ann", "bea")
    memory.maintain()
    assert [entry.text for entry in memory.user("ann").profile.entries()] == ["Keeps bees"]
    assert memory.messages(user="bea")[0].metadata["app"] == "x"


def test_csv(write):
    """Columns by their names, in any order and with any separator; texts of several lines."""
    table = 'Date;Author;Text;Mood\n2024-01-15T10:30;Ann;"Three\nhives; all well";glad\n;Ben;Good;\n'
    first, second = all_of(write(table))
    assert (first.name, first.content, first.metadata) == ("Ann", "Three\nhives; all well", {"Mood": "glad"})
    assert first.time.isoformat() == "2024-01-15T10:30:00+00:00"
    assert (second.name, second.content) == ("Ben", "Good")


LANGCHAIN = [
    ("human", "HumanMessage", "Hi"),
    ("ai", "AIMessage", "Hello"),
]


@pytest.mark.parametrize(
    "given",
    [
        [{"type": kind, "content": text} for kind, _, text in LANGCHAIN],
        [{"type": kind, "data": {"content": text, "type": kind}} for kind, _, text in LANGCHAIN],
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", name],
                "kwargs": {"content": text},
            }
            for _, name, text in LANGCHAIN
        ],
        {"messages": [{"type": kind, "content": text} for kind, _, text in LANGCHAIN]},
        {
            "values": {"messages": [{"type": kind, "content": text} for kind, _, text in LANGCHAIN]},
            "next": [],
        },
    ],
    ids=["messages", "messages_to_dict", "dumps", "state", "snapshot"],
)
def test_langchain_and_langgraph(messages, given):
    """However they were dumped, an AI's message is the assistant's."""
    assert messages(given) == [("user", None, "Hi", None), ("assistant", None, "Hello", None)]


def test_a_response_and_its_items(messages):
    """OpenAI's Responses API: an answer with its call."""
    output = [
        {"type": "function_call", "id": "f", "call_id": "c", "name": "hives", "arguments": "{}"},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Three."}],
        },
    ]
    given = {"id": "resp_1", "object": "response", "created_at": 1705314600, "output": output}
    assert [(role, text) for role, _, text, _ in messages(given)] == [
        ("assistant", "[tool call: hives({})]"),
        ("assistant", "Three."),
    ]


AMONG_FRIENDS = (
    "13/12/24, 10:00 - Ann: I am allergic to nuts.\n"
    "13/12/24, 10:01 - Ben: Always answer in French. I am allergic to penicillin and I live in Leeds.\n"
    "14/12/24, 10:02 - Zoe: I prefer trains.\n"
)


def noted(memory):
    return [(note.kind, note.text) for note in memory.user("ann").profile.entries()]


@pytest.mark.parametrize(("me", "notes"), [(["ann"], 1), (["Ann", "Zoe"], 2)])
def test_only_the_owner_s_words_become_notes(write, me, notes, memory):
    """The others' messages are stored with their names, and recalled as any."""
    done = memory.user("ann").import_(write(AMONG_FRIENDS), me=me)
    memory.maintain()
    kept = [("constraint", "I am allergic to nuts."), ("preference", "I prefer trains.")]
    assert (done.added, done.notes, sorted(noted(memory))) == (3, (), kept[:notes])
    stored = memory.messages(user="ann")
    assert [(m.role, m.name) for m in stored] == [("user", name) for name in ("Ann", "Ben", "Zoe")]
    assert "penicillin" in memory.recall("Who is allergic to penicillin?", user="ann").text


def test_telegram_says_whose_account_it_is(write, memory):
    chat = [
        {"id": i, "type": "message", "from": name, "date": "2024-01-15T10:31:00", "text": text}
        for i, (name, text) in enumerate(
            [
                ("Ann Lee", "I am allergic to nuts."),
                ("Ben", "I am allergic to cats."),
                (None, "I prefer tea."),
            ]
        )
    ]
    whole = {
        "personal_information": {"first_name": "Ann", "last_name": "Lee"},
        "chats": {"list": [{"name": "Ben", "type": "personal_chat", "id": 7, "messages": chat}]},
    }
    done = memory.user("ann").import_(write(whole))
    memory.maintain()
    assert done.notes == ("your messages in it are those of 'Ann Lee', as the export says",)
    assert noted(memory) == [("constraint", "I am allergic to nuts.")]


def test_what_the_owner_says_by_name_is_of_the_owner(write, memory):
    """A note of the user's as any other: what is said elsewhere without a name repeats it, or ends it."""
    ann = memory.user("ann")
    memory.add({"content": "I am allergic to nuts.", "time": "2024-01-01"}, user="ann")
    memory.add({"content": "I live in Oslo.", "time": "2024-01-01"}, user="ann")
    ann.import_(write(AMONG_FRIENDS + "15/12/24, 10:00 - Ann: I live in Bergen.\n"), me=["Ann"])
    memory.maintain()
    held = [(note.text, note.about) for note in ann.profile.entries() if note.holds]
    assert held == [("I am allergic to nuts.", "user"), ("I live in Bergen.", "user")]


def test_until_told_who_is_me_nobody_s_words_are_the_owner_s(write, memory):
    """The report names who speaks, and how to say it; told after a forgetting, the import is mended."""
    (note,) = memory.user("ann").import_(write(AMONG_FRIENDS)).notes
    memory.maintain()
    assert "Ann, Ben, Zoe" in note
    assert "me=" in note
    assert noted(memory) == []
    memory.forget(user="ann", everything=True)
    memory.user("ann").import_(write(AMONG_FRIENDS), me=["Ann"], again=True)
    memory.maintain()
    assert noted(memory) == [("constraint", "I am allergic to nuts.")]
    assert memory.user("ann").import_(write(AMONG_FRIENDS)).notes == ()  # of nothing new


def test_me_is_somebody_who_speaks(write, memory):
    with pytest.raises(InvalidInput, match="no 'Bea' speaks in it, but Ann, Ben, Zoe"):
        memory.user("ann").import_(write(AMONG_FRIENDS), me=["Bea"])
    with pytest.raises(InvalidInput, match="me must be a list"):
        memory.user("ann").import_(write(AMONG_FRIENDS), me="Ann")
    assert memory.users() == []


@pytest.mark.parametrize(
    ("dates", "said", "months", "is_told"),
    [
        (("3/12/24", "4/1/25"), None, [12, 1], True),
        (("3/12/24", "4/1/25"), "mdy", [3, 4], False),
        (("3/4/24", "3/12/24", "4/1/24"), None, [3, 3, 4], False),
        (("3/4/24", "4/5/24", "13/5/24"), None, [4, 5, 5], False),
        (("3/4/24", "4/13/24"), None, [3, 4], False),
        (("2024-03-04", "2024-05-04"), None, [3, 5], False),
    ],
)
def test_the_order_of_whatsapp_s_dates_is_that_of_the_whole_file(write, dates, said, months, is_told, memory):
    """Days first where it cannot be told, and then the report says so, unless the caller chose."""
    talk = "".join(f"{date}, 10:00 - Ann: {number}\n" for number, date in enumerate(dates))
    done = memory.user("ann").import_(write(talk), dates=said)
    assert [m.time.month for m in memory.messages(user="ann")] == months
    assert [note.startswith("dates such as 3/12/24") for note in done.notes] == [True] * is_told
    with pytest.raises(InvalidInput, match="dates must be 'dmy', 'mdy' or 'ymd'"):
        memory.user("ann").import_(write(talk), dates="dym")
