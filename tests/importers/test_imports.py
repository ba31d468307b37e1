"""Bringing exports in: as they were downloaded, in part, again, after Ctrl-C, and bombs."""

import io
import json
import struct
import zipfile

import pytest

from exports import chatgpt_chat, claude_chat
from zibaldone import Filter, ImportInterrupted, InvalidImport
from zibaldone.importers import source as source_module

BROKEN = {"title": "Odd", "id": "odd", "mapping": 7}


def contents(memory, user="ann"):
    """What is stored, in order."""
    return [message.content for message in memory.messages(user=user)]


FILES = {
    "chat.html": "<html></html>",
    "conversations-000.json": [chatgpt_chat("a", "Hello", "Hi")],
    "conversations-001.json": [chatgpt_chat("b", "Rye?", "Rye.")],
    "message_feedback.json": [{"id": "f", "conversation_id": "a", "rating": "up", "content": "{}"}],
    "user.json": {"id": "u", "email": "ann@example.org"},
}


@pytest.mark.parametrize("kind", ["archive", "folder", "stream"])
def test_an_export_as_it_was_downloaded(memory, archive, tmp_path, kind):
    """The archive, what was unpacked from it, and an upload: all its files of conversations, and no other."""
    path = archive(FILES)
    if kind == "folder":
        path = tmp_path / "unpacked"
        with zipfile.ZipFile(archive(FILES)) as packed:
            packed.extractall(path / "export")
    given = io.BytesIO(path.read_bytes()) if kind == "stream" else path
    done = memory.user("ann").import_(given)
    assert (done.format, done.conversations, done.added, done.refusals) == ("chatgpt", 2, 4, 0)
    assert done.complete
    assert contents(memory) == ["Hello", "Hi", "Rye?", "Rye."]


def test_a_stream_that_cannot_be_read_twice(memory, archive):
    """Such as a pipe."""

    class Pipe(io.RawIOBase):
        def __init__(self, data):
            self.data = io.BytesIO(data)

        def readable(self):
            return True

        def readinto(self, buffer):
            return self.data.readinto(buffer)

    assert memory.user("ann").import_(Pipe(archive(FILES).read_bytes())).added == 4


def test_claude_s_archive_with_what_it_remembers(memory, archive):
    """Memories and the instructions of projects are known of the user."""
    files = {
        "conversations.json": [claude_chat("c", "Hello", "Hi")],
        "memories.json": [{"conversations_memory": "**Work**\n\nKeeps bees on the roof."}],
        "projects.json": [{"uuid": "p", "name": "Honey", "prompt_template": "Always use grams."}],
    }
    done = memory.user("ann").import_(archive(files))
    assert (done.format, done.added, done.refusals) == ("claude", 4, 0)
    memory.maintain(user="ann")
    known = [(entry.kind, entry.text) for entry in memory.user("ann").profile.entries()]
    assert ("fact", "Keeps bees on the roof.") in known
    assert ("instruction", "Always use grams.") in known


def test_a_project_of_claude_has_its_documents(memory, archive):
    """A session of the project, whose documents are recalled by their names, and are nobody's own words."""
    documents = [
        {"uuid": "d1", "filename": "hives.md", "content": "I keep nine hives on the roof of the mill."},
        {"uuid": "d2", "filename": "empty.md", "content": " "},
        {"uuid": "d1", "filename": "again.md", "content": "The same id once more."},
    ]
    projects = [
        {"uuid": "p", "name": "Honey", "description": "All about the bees.", "docs": documents},
        {"uuid": "s", "name": "How to use Claude", "is_starter_project": True, "docs": documents},
    ]
    export = archive({"conversations.json": [claude_chat("c", "Hello", "Hi")], "projects.json": projects})
    done = memory.user("ann").import_(export)
    assert (done.added, done.refusals) == (4, 1)
    assert memory.user("ann").import_(export).added == 0
    kept = memory.messages(user="ann", filter=Filter(session="claude:project:p"))
    assert [(message.role, message.name, message.content) for message in kept] == [
        ("document", None, "All about the bees."),
        ("document", "hives.md", "I keep nine hives on the roof of the mill."),
    ]
    assert kept[0].metadata["title"] == "Honey"
    assert "hives.md: I keep nine hives" in memory.recall("How many hives?", user="ann").text
    memory.maintain(user="ann")
    assert not any("hives" in entry.text for entry in memory.user("ann").profile.entries())


def test_feedback_on_messages_is_no_conversation(archive, memory, tmp_path):
    """Nobody's memory is made of a file about somebody's messages."""
    path = tmp_path / "message_feedback.json"
    path.write_text(json.dumps(FILES["message_feedback.json"]))
    with pytest.raises(InvalidImport, match=r"no known format.*Tried chatgpt: no 'mapping'.*claude: no"):
        memory.user("ann").import_(path)
    assert memory.users() == []


def test_a_bad_conversation_holds_nothing_up(memory, archive):
    """What can be imported is; the report says which not, where and why."""
    odd = chatgpt_chat("c", "Good", "bad")
    odd["mapping"]["n1"]["message"]["create_time"] = "soon"
    path = archive(
        {"conversations.json": [chatgpt_chat("a", "Hello"), BROKEN, odd, chatgpt_chat("d", "Bye")]}
    )
    done = memory.user("ann").import_(path)
    assert contents(memory) == ["Hello", "Good", "Bye"]
    assert [(refused.conversation, refused.where.rpartition(": ")[2]) for refused in done.refused] == [
        ("Odd", "$[1].mapping"),
        ("Title c", "$[2].mapping.n1.message.create_time"),
    ]
    assert "found 7, expected an object" in done.refused[0].why
    assert done.refusals == 2


def test_a_file_that_breaks_off_keeps_what_stands_before(memory, archive):
    """And the next file is read all the same."""
    torn = json.dumps([chatgpt_chat("a", "Hello"), chatgpt_chat("b", "lost")])[:-40]
    done = memory.user("ann").import_(
        archive({"conversations-0.json": torn, "conversations-1.json": [chatgpt_chat("c", "Bye")]})
    )
    assert contents(memory) == ["Hello", "Bye"]
    (refused,) = done.refused
    assert "conversations-0.json" in refused.where + refused.why
    assert "ends too early" in refused.why


def test_nothing_but_faults_is_an_error(memory, archive):
    """Where nothing can be imported, the first reason is raised."""
    with pytest.raises(InvalidImport, match=r"found 7.*\(and 1 more like it"):
        memory.user("ann").import_(archive({"conversations.json": [BROKEN, BROKEN]}), format="chatgpt")


def test_ctrl_c_keeps_what_is_complete(memory, archive, monkeypatch):
    """The report counts what is stored, and the next run brings the rest."""
    monkeypatch.setattr("zibaldone.engine.imports._MESSAGES", 1)
    monkeypatch.setattr("zibaldone.importers.importing.PIECE_MESSAGES", 2)
    path = archive({"conversations.json": [chatgpt_chat(str(n), f"Hello {n}", "Hi") for n in range(5)]})
    calls = []

    def stop(done, total):
        calls.append((done, total))
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(ImportInterrupted) as stopped:
        memory.user("ann").import_(path, progress=stop)
    report = stopped.value.report
    assert not report.complete
    assert 0 < report.added == len(contents(memory)) < 10
    again = memory.user("ann").import_(path)
    assert (again.read, again.added) == (10, 10 - report.added)
    assert len(set(contents(memory))) == 6
    assert memory.admin.check().ok


def test_progress_is_in_bytes(memory, archive):
    """It rises to all of what is read."""
    seen = []
    path = archive(FILES)
    memory.user("ann").import_(path, progress=lambda *pair: seen.append(pair))
    sizes = sum(len(json.dumps(FILES[name])) for name in FILES if name.startswith("conversations"))
    assert seen == sorted(seen)
    assert seen[-1] == (sizes, sizes)


def test_what_was_forgotten_stays_forgotten(memory, archive):
    """Until it is asked for again; what is new comes in all the same."""
    memory.user("ann").import_(archive(FILES))
    memory.forget(user="ann", session="a")
    more = {**FILES, "conversations-002.json": [chatgpt_chat("c", "New")]}
    done = memory.user("ann").import_(archive(more))
    assert (done.added, done.forgotten) == (1, 2)
    assert contents(memory) == ["Rye?", "Rye.", "New"]
    back = memory.user("ann").import_(archive(more), again=True)
    assert (back.added, back.forgotten) == (2, 0)
    assert sorted(contents(memory)) == ["Hello", "Hi", "New", "Rye.", "Rye?"]


@pytest.mark.parametrize(
    "name", ["../conversations.json", "/etc/conversations.json", "a\\..\\..\\b.json", "C:/x.json"]
)
def test_names_that_leave_the_archive_are_refused(memory, archive, name):
    """Nothing is read of such an archive."""
    with pytest.raises(InvalidImport, match="would lie outside of it"):
        memory.user("ann").import_(archive({**FILES, name: "[]"}))


def test_bombs_are_refused(memory, archive, monkeypatch, tmp_path):
    """By ratio, and by the number of files."""
    monkeypatch.setattr(source_module, "_RATIO_FROM", 10_000)
    bomb = archive({"conversations.json": "[" + " " * 10_000_000 + "]"})
    with pytest.raises(InvalidImport, match="no export does"):
        memory.user("ann").import_(bomb)
    monkeypatch.setattr(source_module, "MOST_FILES", 3)
    with pytest.raises(InvalidImport, match="more than 3 files: unpack it"):
        memory.user("ann").import_(archive(FILES))


def test_a_size_that_is_a_lie_reads_no_further(memory, archive):
    """A file that unpacks to more than it says is cut off there, and is damaged."""
    path = archive({"conversations.json": [chatgpt_chat("a", "x" * 50_000)]})
    data = bytearray(path.read_bytes())
    at = data.rindex(b"PK\x01\x02")
    struct.pack_into("<L", data, at + 24, 1000)
    path.write_bytes(data)
    with pytest.raises(InvalidImport, match=r"no 'mapping'|download it again|ends too early"):
        memory.user("ann").import_(path, format="chatgpt")
