"""The files and folders of a memory's folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

FILE = "zibaldone.sqlite3"
BLOCKS = "blocks"  # of chunks
INDEX = "index"  # saved ones
KV = "kv"  # keys and values
RESERVE = "reserve"  # zeros, whose room a forgetting takes when the disk is full
_EARLIER_FILE = "commonplace.sqlite3"  # of folders written before the project was renamed

# The same in an encrypted folder, beside them, so that a conversion can be stopped at any moment.
HEADER = "encryption.json"  # says that the folder is encrypted, and keeps its keys
ENCRYPTED_FILE = "zibaldone.sqlcipher"
ENCRYPTED_BLOCKS, ENCRYPTED_INDEX = "blocks.encrypted", "index.encrypted"

BESIDE = ("", "-wal", "-shm", "-journal")  # endings of a database's files


def database_file(folder: Path) -> Path:
    """Return the path of the unencrypted database, existing or not; an old folder keeps its old name."""
    earlier = folder / _EARLIER_FILE
    return earlier if earlier.exists() else folder / FILE


def memory_file(folder: Path) -> Path:
    """Return the path of the database in use: the encrypted one if there is a header."""
    return folder / ENCRYPTED_FILE if (folder / HEADER).exists() else database_file(folder)


def is_memory(folder: Path) -> bool:
    """True if a memory lies there, plain or encrypted; a file of no bytes is none, or was one."""
    files = database_file(folder), folder / ENCRYPTED_FILE
    return any(file.exists() and file.stat().st_size for file in files)


def make_private(database: Path) -> None:
    """Create a new database file with mode 0600; SQLite gives the files beside it the same mode.

    One that is there stays as it is: who opened it to a group did so on purpose.
    """
    with suppress(OSError):  # it is there, or SQLite says what is wrong
        os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
