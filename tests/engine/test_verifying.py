"""Verifying: what a receipt says was forgotten is looked for in every table and file, and found there."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import unicodedata
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from hashlib import blake2b

import pytest
from sqlalchemy import text

from zibaldone import Config, InvalidInput, MemAttention, Memory, Placement, RecordedModel, Verification
from zibaldone.engine.verification.needles import normalized
from zibaldone.engine.verification.receipts import read_receipt
from zibaldone.storage.raw_files import PIECE_BYTES
from zibaldone.testing import HashEmbedder

FILE = "zibaldone.sqlite3"
SECRET = "The clinic in Delfshaven says that Größe 7 of the Qantril pump fits me."
ALIVE = [
    "I bake rye bread on Sundays, with my sister.",
    "The clinic opens at nine.",
    "We moved to Lisbon in May, near the river.",
]
GARDEN = [f"On {day} May I planted {day * 7} tulips along path {day * 13}." for day in range(1, 25)]
VIEWS = ("messages", "notes", "chunks", "hierarchy", "topics")


def secret(kind):
    """A text of its own for each kind of leftover; no 24 letters of it in a row are ASCII."""
    return f"Höhe {digest(kind, 4)} über {digest(kind, 5)}, dann öde {digest(kind, 6)} und spät."


def digest(text, size):
    """Also the name of a folder of the user's."""
    return blake2b(text.encode(), digest_size=size).hexdigest()


def run_sql(memory, *statements):
    """Statements of another program, which does not overwrite what it deletes."""
    with closing(sqlite3.connect(memory.path / FILE, isolation_level=None)) as connection:
        connection.execute("PRAGMA secure_delete=OFF")
        for statement, *values in statements:
            connection.execute(statement, values)


def in_a_column(table, column, user="ann"):
    """Plant the text in a column of the user's first row of a table."""

    def plant(memory, text):
        first = f'SELECT min(rowid) FROM {table} WHERE "user" = ? AND {column} IS NOT NULL'
        run_sql(memory, (f"UPDATE {table} SET {column} = ? WHERE rowid = ({first})", text, user))
        return f"table {table}, user '{user}', "

    return plant


def in_a_file(*parts):
    """Plant it in a file of the folder, among other bytes."""

    def plant(memory, text):
        path = memory.path.joinpath(*parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(5000) + text.encode() + os.urandom(5000))
        return f"{'/'.join(parts)}, bytes 4096 to 8192"

    return plant


def compressed_in_a_file(memory, text):
    """As an index holds it: compressed, and here across two of the pieces that files are read in."""
    name, place = (f"index/{digest('ann', 16)}/compressed.index", "compressed about byte ")
    data = zlib.compress(text.encode())
    (memory.path / name).parent.mkdir(parents=True, exist_ok=True)
    (memory.path / name).write_bytes(bytes(PIECE_BYTES - 9) + data + os.urandom(5000))
    return f"{name}, {place}"


def compressed_in_rows(memory, text):
    """Likewise, where an index is rows."""
    data, owner = zlib.compress(text.encode()), digest("ann", 8)
    insert = "INSERT INTO stored_objects VALUES (?, 'index', ?, ?, ?, 0)"
    about = (owner, f"{owner}/messages-1")
    parts = enumerate((os.urandom(99) + data[:12], data[12:] + os.urandom(99)))
    run_sql(memory, *((insert, *about, number, part) for number, part in parts))
    return f"table stored_objects, index {owner}/messages-1"


def in_a_block(memory, text):
    """In the middle of a real block."""
    (block, *_) = sorted(memory.path.glob("blocks/*/*.block"))
    data = block.read_bytes()
    block.write_bytes(data[:40] + text.encode() + data[40:])
    return f"{block.relative_to(memory.path).as_posix()}, bytes "


def in_an_unknown_table(memory, text):
    """In a table that is not ours."""
    run_sql(memory, ("CREATE TABLE drafts (x TEXT)",), ("INSERT INTO drafts VALUES (?)", text))
    return "table drafts"


def in_a_record(memory, text):
    """In the bytes of a record that is still staged."""
    row = json.dumps([[1, text]]).encode()
    run_sql(memory, ("INSERT INTO records VALUES ('ann', 'chunks', 1, 99, 'day', 0, 9, ?, NULL, NULL)", row))
    return "table records, user 'ann', "


def in_an_export(memory, text):
    """In a file that the memory has exported to."""
    path = memory.path.parent / "export.jsonl"
    memory.user("ann").export(path=path)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"content": text}) + "\n")
    return f"{path}, bytes "


def beside_an_export(memory, text):
    """In what a crash left of writing an export."""
    memory.user("ann").export(path=memory.path.parent / "my[1].jsonl")
    path = memory.path.parent / ".my[1].jsonl.x1y2"
    path.write_text(text, encoding="utf-8")
    return f"{path}, bytes "


def in_exported_topics(memory, text):
    """In a folder of exported topic documents."""
    folder = memory.path.parent / "notes"
    memory.user("ann").topics.export(folder)
    (folder / "topic-0001.md").write_text(f"- {text}\n", encoding="utf-8")
    return f"{folder}/topic-0001.md, bytes "


PLANTS = {
    "a unit": in_a_column("units", "text"),
    "a chunk's summary": in_a_column("chunks", "summary"),
    "vectors": in_a_column("units", "vector"),
    "a topic document": in_a_column("topic_documents", "body"),
    "another user's row": in_a_column("units", "days", "bea"),
    "a staged record": in_a_record,
    "a table of nobody": in_an_unknown_table,
    "a rollback journal": in_a_file(f"{FILE}-journal"),
    "a block": in_a_block,
    "an orphaned block": in_a_file("blocks", digest("ann", 8), "0" * 32 + ".block"),
    "an unfinished block": in_a_file("blocks", digest("ann", 8), "0" * 32 + ".block.1.2.part"),
    "another's block": in_a_file("blocks", digest("bea", 8), "0" * 32 + ".block"),
    "an index": in_a_file("index", digest("ann", 16), "other.index"),
    "an unfinished index": in_a_file("index", digest("ann", 16), "tmpabc.part"),
    "a compressed index": compressed_in_a_file,
    "a compressed index in rows": compressed_in_rows,
    "a KV pool": in_a_file("kv", digest("ann", 8), "1-1-00000000.block"),
    "a file of nobody": in_a_file("notes.bak"),
    "an export": in_an_export,
    "beside an export": beside_an_export,
    "exported topics": in_exported_topics,
}
VARIANTS = {
    "case": str.upper,
    "spaces": lambda text: text.replace(" ", "\n\t  "),
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "hard spaces": lambda text: text.replace(" ", "\N{NO-BREAK SPACE}"),
    "JSON": json.dumps,
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "Markdown": lambda text: "*" + text.replace(" ", "* *") + "*",
    "wide": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "a part": lambda text: text[9:42],
    "a name": lambda text: f"{text.split()[1].upper()} was here",
}


@dataclass(frozen=True)
class Planted:
    """A memory that has forgotten a text for each kind, what was left of them, and what verifying said."""

    clean: Verification
    files: dict[str, int]  # their sizes, when nothing was left
    where: dict[str, str]
    verified: Verification

    def left(self, kind):
        """What was found of a kind's text."""
        words = normalized(secret(kind)).decode()
        return [left for left in self.verified.leftovers if left.words in words]


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """All of it in one memory: each kind and each way of writing has a text of its own."""
    path = tmp_path_factory.mktemp("planted") / "memory"
    gate = MemAttention(chunk_gate_tokens=64)
    small = Placement(block_bytes=512)
    with Memory(
        path, embedder=HashEmbedder(16), config=Config(maintained=VIEWS, chunks=gate, placement=small)
    ) as memory:
        memory.add([*ALIVE, *GARDEN], user="ann", session="day")
        memory.add(ALIVE, user="bea")
        memory.add([secret(kind) for kind in (*PLANTS, *VARIANTS)], user="ann", session="night")
        memory.maintain()
        receipt = memory.forget(user="ann", session="night", keep_texts=True)
        memory.maintain()
        memory.recall("rye", user="ann")
        clean = memory.admin.verify(receipt)
        there = [file for file in path.rglob("*") if file.is_file()]
        files = {file.relative_to(path).as_posix(): file.stat().st_size for file in there}
        where = {kind: plant(memory, secret(kind)) for kind, plant in PLANTS.items()}
        for kind, change in VARIANTS.items():
            where[kind] = in_a_file(kind)(memory, change(secret(kind)))
        return Planted(clean, files, where, memory.admin.verify(receipt))


@pytest.mark.parametrize("kind", PLANTS)
def test_a_leftover_is_found(planted, kind):
    """Wherever the text was left, verifying says so, and where it is."""
    places = {left.where for left in planted.left(kind) if left.kind == "text"}
    assert any(place.startswith(planted.where[kind]) for place in places)


@pytest.mark.parametrize("kind", VARIANTS)
def test_however_it_is_written(planted, kind):
    """Case, spaces, Unicode's forms, escapes and marks make no difference, nor that only a part is left."""
    (left,) = planted.left(kind)
    assert left.where == planted.where[kind]
    assert left.kind == ("word" if kind == "a name" else "text")


def test_nothing_is_left(planted):
    """After a forgetting all is clean: every table and every file was looked at, to its last byte."""
    clean = planted.clean
    assert (clean.ok, clean.leftovers, clean.purge_is_due) == (True, (), False)
    assert (clean.user, clean.messages) == ("ann", len(PLANTS) + len(VARIANTS))
    looked = {look.name: look for look in clean.looked_at}
    assert {"messages", "units", "chunks", "topic_documents", "kv_blocks", "migrations"} <= set(looked)
    assert looked["messages"].rows == len(GARDEN) + 2 * len(ALIVE)
    for name, size in planted.files.items():
        if not name.endswith(("-wal", "-shm")):  # which change while they are looked at
            assert looked[name].bytes == size


@pytest.mark.parametrize("checkpoint", [False, True], ids=["in the log before the database", "in free pages"])
def test_pages_that_no_table_uses(memory, checkpoint):
    """The bytes of the database's files are looked at, and not its rows alone."""
    memory.add(SECRET, user="ann")
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    run_sql(
        memory,
        ("CREATE TABLE other (x TEXT)",),
        ("INSERT INTO other VALUES (?)", (SECRET + " ") * 200),
        ("DROP TABLE other",),
        *([("PRAGMA wal_checkpoint(TRUNCATE)",)] if checkpoint else []),
    )
    files = {left.where.partition(",")[0] for left in memory.admin.verify(receipt).leftovers}
    assert files == {FILE if checkpoint else f"{FILE}-wal"}


def test_what_is_still_said_proves_nothing(opened, tmp_path):
    """A text that stands in another message of the user, or of anybody in a file of all, is no leftover."""
    memory = opened(embedder=HashEmbedder(16))
    memory.add([f"So the user: {SECRET} Or so.", SECRET], user="ann")
    memory.add(SECRET, user="bea")
    receipt = memory.forget(user="ann", seqs=[1], keep_texts=True)
    verified = memory.admin.verify(receipt)
    assert verified.ok
    assert verified.excused > 40
    memory.forget(user="ann", seqs=[2])
    verified = memory.admin.verify(receipt)  # only Bea says it now
    assert (verified.ok, verified.excused < 10) == (True, True)
    run_sql(memory, ("INSERT INTO model_usage VALUES ('ann', 'day', ?, 't', 0, 0, 0, 0, 0)", SECRET))
    assert [left.where[:18] for left in memory.admin.verify(receipt).leftovers] == ["table model_usage,"]


def test_words_of_memory_itself(opened):
    """Names of tables, views, roles and the like stand in every memory: they are no leftovers."""
    memory = opened(embedder=HashEmbedder(16), audit=True, maintained=VIEWS)
    said = ["messages", "hierarchy", "assistant", "generation", "document", "semantic", "titled sessions"]
    said += ["fingerprint of the embedder", "What is in messages_by_session or in hierarchy_states?"]
    memory.add([*said, {"content": "Fine.", "role": "assistant"}], user="ann")
    memory.user("ann").titled_sessions()
    memory.maintain()
    receipt = memory.forget(user="ann", seqs=range(1, len(said) + 1), keep_texts=True)
    memory.maintain()
    verified = memory.admin.verify(receipt)
    assert (verified.ok, verified.leftovers) == (True, ())


def test_an_id_that_reads_as_the_user_before_a_digest(memory):
    """Ids such as "ann-1234" are common, and so are digests that begin with four digits of them."""
    memory.add({"content": "Fine.", "id": "first"}, user="ann")
    memory.forget(user="ann", session="default")
    with memory._database.read() as connection:
        (digested,) = connection.execute(text("SELECT digest FROM forgotten_ids")).scalars()
    (added,) = memory.add({"content": "Fine.", "id": f"ann-{digested[:4]}"}, user="ann")
    receipt = memory.forget(user="ann", seqs=[added.seq], keep_texts=True)
    assert memory.admin.verify(receipt).leftovers == ()


def test_rows_that_refer_to_what_is_gone(opened):
    """Such a row is a leftover without a word of text; it is found without the texts, too."""
    memory = opened(embedder=HashEmbedder(16))
    memory.add([*ALIVE, SECRET], user="ann")
    receipt = memory.forget(user="ann", seqs=[4])
    run_sql(
        memory,
        ("INSERT INTO unit_sources VALUES ('ann', 'messages', 1, 1, 0, 4)",),
        ("INSERT INTO notes_unread VALUES ('ann', 1, 4, 3)",),
        ("INSERT INTO message_files VALUES ('ann', 77, 0, x'00')",),
        ("UPDATE units SET seq = 44 WHERE seq = 3 AND view = 'messages'",),
    )
    verified = memory.admin.verify(receipt)
    assert {(left.where, left.words) for left in verified.leftovers if left.kind == "reference"} >= {
        ("table unit_sources", "source 4"),
        ("table notes_unread", "seq 4"),
        ("the log", "a file of message 77, which is not there"),
        ("view messages", "a unit of message 44, which is not in the log"),
    }
    assert (verified.ok, verified.texts) == (False, 0)


def test_a_receipt_has_no_text_unless_it_is_told_to(memory):
    """Nor does it show any when it is printed."""
    memory.add([SECRET, SECRET + "!"], user="ann")
    assert memory.forget(user="ann", seqs=[1]).texts == ()
    receipt = memory.forget(user="ann", seqs=[2], keep_texts=True)
    assert SECRET + "!" in receipt.texts
    assert "clinic" not in repr(receipt)


def test_a_receipt_comes_back_from_its_file(memory, tmp_path):
    """All of it, from a file that nobody else may read; verifying takes the file as well."""
    memory.add({"content": SECRET, "name": "Ann", "metadata": {"a": ["Äpfel"]}}, user="ann")
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    path = tmp_path / "receipt.json"
    memory.admin.save_receipt(receipt, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    verified = memory.admin.verify(path)
    assert (verified.ok, verified.texts) == (True, len(receipt.texts))
    assert {SECRET, "Ann", "Äpfel"} <= set(receipt.texts)
    again = read_receipt(path)
    assert (again, again.texts, again.time) == (receipt, receipt.texts, receipt.time)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": "zibaldone-receipt-1"}', "[" * 10000])
def test_what_is_no_receipt_of_a_forgetting(memory, tmp_path, content):
    """A file without one; a dry run removed nothing; and kept in the memory one would be a leftover."""
    memory.add(SECRET, user="ann")
    dry, receipt = (memory.forget(user="ann", everything=True, dry_run=dry) for dry in (True, False))
    path = tmp_path / "receipt.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match="no receipt"):
        memory.admin.verify(path)
    with pytest.raises(InvalidInput, match="dry run"):
        memory.admin.verify(dry)
    with pytest.raises(InvalidInput, match="inside the memory's own folder"):
        memory.admin.save_receipt(receipt, memory.path / "receipt.json")


def test_a_receipt_of_another_memory(memory, opened):
    """That nothing is left where it never was proves nothing; after a forgetting of everything it does."""
    memory.add([SECRET, "More."], user="ann")
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    assert memory.admin.verify(receipt).ok
    other = opened("other")
    for never in ("had the user 'ann'", "had message 2 of user 'ann'"):
        with pytest.raises(InvalidInput, match=never):
            other.admin.verify(receipt)
        other.add("Hello.", user="ann")


def test_a_purge_that_is_due(memory):
    """While a reader keeps an older snapshot alive the text is found in the files, and the reason is said."""
    memory.add([SECRET, "Something else."], user="ann")
    with closing(sqlite3.connect(memory.path / FILE, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM messages").fetchall()
        memory._database._busy_timeout_s = 0.0
        receipt = memory.forget(user="ann", seqs=[1], keep_texts=True)
        assert not receipt.purged
        verified = memory.admin.verify(receipt)
        assert verified.purge_is_due
        assert [left for left in verified.leftovers if left.where.startswith(FILE)]


def test_looking_leaves_the_locks_alone(memory):
    """Who closes a file loses its locks on it: another process is kept out of a transaction all the same."""
    memory.add(SECRET, user="ann")
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    begin = (
        "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)"
        ".execute('BEGIN IMMEDIATE')"
    )
    with memory._database.write() as connection, ThreadPoolExecutor() as pool:
        connection.exec_driver_sql("UPDATE users SET version = version + 1")
        assert pool.submit(memory.admin.verify, receipt).result().ok
        other = subprocess.run(
            [sys.executable, "-c", begin, str(memory.path / FILE)], capture_output=True, check=False
        )
    assert b"database is locked" in other.stderr


def test_elsewhere(memory, tmp_path):
    """Files and folders that the caller names are looked through, and texts that the caller has."""
    memory.add(SECRET, user="ann")
    receipt = memory.forget(user="ann", everything=True)
    backup = tmp_path / "backup"
    backup.mkdir()
    (backup / "old.tar").write_bytes(bytes(100_000) + SECRET.encode() + bytes(100_000))
    assert memory.admin.verify(receipt, also=[backup]).ok  # no text is known
    (left,) = memory.admin.verify(receipt, texts=[SECRET], also=[backup]).leftovers
    assert left.where == f"{backup}/old.tar, bytes 98304 to 102400"


def test_recordings_of_a_model(opened, tmp_path):
    """What a recorded model was asked is looked at, too."""
    folder = tmp_path / "recordings"
    memory = opened(chat=RecordedModel(folder, on_miss="offline"), embedder=HashEmbedder(16))
    memory.add(SECRET, user="ann")
    receipt = memory.forget(user="ann", everything=True, keep_texts=True)
    (folder / "task").mkdir()
    (folder / "task" / "1.md").write_text(SECRET, encoding="utf-8")
    (left,) = memory.admin.verify(receipt).leftovers
    assert left.where.startswith(f"{folder}/task/1.md")


def test_short_texts(memory):
    """Of eight bytes on they are looked for whole; shorter ones are counted, as nothing is said of them."""
    texts = ["Code 99", "Größe 7!", "PIN 4711"]
    memory.add(texts, user="ann", session="a")
    receipt = memory.forget(user="ann", everything=True)
    (memory.path / "notes.bak").write_bytes(b"\0\0pin: 4711\0code 99\0")
    verified = memory.admin.verify(receipt, texts=texts)
    assert [left.words for left in verified.leftovers] == ["pin 4711"]
    assert verified.too_short == 1
