"""The bytes of attachments: found in an export, kept, exported, and forgotten with their message."""

import json
import zipfile
from hashlib import sha256

from zibaldone.importers import attached_files as attached_files_module

CAT, PLAN = b"\x89PNG cat", b"%PDF plan"


def chatgpt(*turns):
    """A conversation of ChatGPT's export: what each turn's content and metadata have."""
    mapping = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    for place, (parts, listed) in enumerate(turns):
        message = {
            "id": f"m{place}",
            "author": {"role": "user"},
            "create_time": 1_700_000_000 + place,
            "content": {"content_type": "multimodal_text", "parts": parts},
            "metadata": {"attachments": listed},
        }
        parent = f"m{place - 1}" if place else "root"
        mapping[f"m{place}"] = {"id": f"m{place}", "message": message, "parent": parent, "children": []}
    return [{"id": "c", "title": "Cats", "mapping": mapping, "current_node": f"m{len(turns) - 1}"}]


def picture(pointer):
    """A part that is an image."""
    return {"content_type": "image_asset_pointer", "asset_pointer": pointer, "size_bytes": len(CAT)}


EXPORT = {
    "conversations.json": chatgpt(
        ([picture("file-service://file-AbC123xyz"), "My cat."], []),
        (["The plan."], [{"id": "file-PlaN99999", "name": "plan.pdf", "mime_type": "application/pdf"}]),
        ([picture("sediment://file_0000gone00"), "Not in the export."], []),
    ),
    "file-AbC123xyz-cat.png": CAT,
    "file-AbC123xyzz-other.png": b"of another id",
    "user-1/file-PlaN99999-plan.pdf": PLAN,
}


def kept(memory):
    """(name, data) of all attachments, message by message."""
    return [
        (attachment.name, attachment.data)
        for message in memory.messages(user="ann")
        for attachment in memory.user("ann").attachments(message.seq)
    ]


def test_files_of_chatgpt_are_kept_if_asked_for(memory, archive):
    """Found by the id in their names; what the export does not hold is named all the same."""
    assert memory.user("ben").import_(archive(EXPORT)).files == 0
    assert not any(memory.user("ben").attachments(m.seq)[0].data for m in memory.messages(user="ben"))
    done = memory.user("ann").import_(archive(EXPORT), attachments=True)
    assert (done.added, done.files, done.refusals) == (3, 2, 0)
    assert kept(memory) == [
        ("file-service://file-AbC123xyz", CAT),
        ("plan.pdf", PLAN),
        ("sediment://file_0000gone00", None),
    ]
    first, *_ = memory.user("ann").attachments(memory.messages(user="ann")[0].seq)
    assert (first.sha256, first.size_bytes) == (sha256(CAT).hexdigest(), len(CAT))


def test_files_of_claude_are_found_by_id_or_by_name(memory, archive):
    """A name that two files have says nothing, unless the size does."""
    message = {
        "uuid": "1",
        "sender": "human",
        "text": "See",
        "created_at": "2024-01-15T10:30:05Z",
        "attachments": [{"file_name": "plan.pdf", "file_size": len(PLAN)}, {"file_name": "twice.png"}],
        "files": [{"file_name": "cat.png", "file_uuid": "0a0a0a0a-1111-2222-3333-444444444444"}],
    }
    files = {
        "conversations.json": [{"uuid": "c", "name": "", "chat_messages": [message]}],
        "files/0a0a0a0a-1111-2222-3333-444444444444/cat.png": CAT,
        "a/plan.pdf": PLAN,
        "b/plan.pdf": PLAN + b"longer",
        "a/twice.png": b"1",
        "b/twice.png": b"2",
    }
    assert memory.user("ann").import_(archive(files), attachments=True).files == 2
    assert kept(memory) == [("plan.pdf", PLAN), ("twice.png", None), ("cat.png", CAT)]


def test_a_file_that_cannot_be_kept_is_in_the_report(memory, archive, monkeypatch):
    """Too large, or damaged: the message comes without it."""
    monkeypatch.setattr(attached_files_module, "MOST_FILE_BYTES", len(CAT))
    path = archive(EXPORT)
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in EXPORT.items():
            packed.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    path.write_bytes(path.read_bytes().replace(CAT, b"oops" + CAT[4:]))  # its checksum does not fit any more
    done = memory.user("ann").import_(path, attachments=True)
    assert (done.added, done.files, done.refusals) == (3, 0, 2)
    assert {refused.where.rpartition("/")[2] for refused in done.refused} == {
        "file-AbC123xyz-cat.png",
        "file-PlaN99999-plan.pdf",
    }


def test_no_more_is_in_memory_than_a_part_s_files(memory, archive, monkeypatch):
    """What is stored together is cut where files are many."""
    monkeypatch.setattr(attached_files_module, "_TOGETHER_BYTES", 1)
    assert memory.user("ann").import_(archive(EXPORT), attachments=True).files == 2
    assert [data for _, data in kept(memory)] == [CAT, PLAN, None]


def test_files_are_exported_and_come_back(memory, archive, tmp_path):
    """An archive of our own has messages and files, each once, and is imported exactly."""
    twice = [picture("file-service://file-AbC123xyz")]
    export = {**EXPORT, "conversations-1.json": chatgpt((twice, []), (twice, []))}
    export["conversations-1.json"][0]["id"] = "again"
    memory.user("ann").import_(archive(export), attachments=True)
    count = memory.user("ann").export(path=tmp_path / "mine.zip", attachments=True)
    with zipfile.ZipFile(tmp_path / "mine.zip") as packed:
        names = [f"attachments/{sha256(data).hexdigest()}" for data in (CAT, PLAN)]
        assert sorted(packed.namelist()) == sorted(["messages.jsonl", names[0], names[1] + ".pdf"])
    assert memory.user("eve").import_(tmp_path / "mine.zip", attachments=True).added == count == 5
    both = [
        [(m.content, m.metadata, memory.user(user).attachments(m.seq)) for m in memory.messages(user=user)]
        for user in ("ann", "eve")
    ]
    assert both[0] == both[1]


def test_files_are_forgotten_with_their_message(memory, archive, tmp_path):
    """Their bytes are in no file of the memory any more; an export that still has them is looked at."""
    memory.user("ann").import_(archive(EXPORT), attachments=True)
    memory.user("ann").export(path=tmp_path / "mine.zip", attachments=True)
    assert any(CAT in path.read_bytes() for path in (tmp_path / "memory").iterdir() if path.is_file())
    receipt = memory.forget(user="ann", seqs=[1])
    assert receipt.messages == 1
    assert not any(CAT in path.read_bytes() for path in (tmp_path / "memory").rglob("*") if path.is_file())
    looked_at = {looked.name for looked in memory.admin.verify(receipt).looked_at if looked.kind == "export"}
    assert looked_at == {str(tmp_path / "mine.zip")}
