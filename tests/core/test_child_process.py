"""Processes of our own import nothing from the working folder, and have the variables that they need."""

import subprocess

import pytest

from hostile import MODULES, HostileFolder
from zibaldone.api import settings
from zibaldone.core.child_process import started
from zibaldone.storage.raw_files import pieces_read_apart


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The working folder of the test."""
    folder = HostileFolder(tmp_path / "hostile")
    monkeypatch.chdir(folder.folder)
    return folder


def printed(program, **options):
    """What a child says that runs this."""
    with started(["-c", program], stdout=subprocess.PIPE, **options) as process:
        return process.stdout.read().decode().split()


def variables(monkeypatch, given, **options):
    """Those of these that a child has."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return set(given) & set(printed("import os; print(*os.environ)", **options))


@pytest.mark.parametrize("searched", ["", ":.", "src:"])
def test_a_child_imports_nothing_from_the_working_folder(hostile, monkeypatch, searched):
    """Also where the variable of folders to search names it, as an empty place between colons does."""
    monkeypatch.setenv("PYTHONPATH", searched)
    assert printed(f"import {', '.join(MODULES)}; print('done')") == ["done"]
    assert hostile.executed == []


def test_folders_to_search_that_are_named_in_full_are_searched(tmp_path, monkeypatch):
    """As by the process that starts the child."""
    monkeypatch.setenv("PYTHONPATH", f".:{tmp_path}")
    assert str(tmp_path) in printed("import sys; print(*sys.path)")


def test_a_file_is_read_apart_by_nothing_of_the_working_folder(hostile, tmp_path):
    """The bytes are all that comes."""
    path = tmp_path / "file"
    path.write_bytes(b"bytes")
    assert list(pieces_read_apart(path)) == [(0, b"bytes")]
    assert hostile.executed == []


def test_a_child_has_the_variables_that_it_needs(monkeypatch):
    """Those of the system and the memory's settings, and what its starter adds; nobody's keys."""
    needed = {
        "PATH": "/bin",
        "HOME": "/",
        "LC_ALL": "C.UTF-8",
        "XDG_RUNTIME_DIR": "/run",
        "ZIBALDONE_AUDIT": "1",
    }
    keys = [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "UPSTREAM",
        "AWS_SECRET_ACCESS_KEY",
        "PGPASSWORD",
        "HF_TOKEN",
    ]
    given = needed | dict.fromkeys(keys, "secret")
    assert variables(monkeypatch, given) == set(needed)
    assert variables(monkeypatch, given, also=["AWS_"]) == {*needed, "AWS_SECRET_ACCESS_KEY"}


@pytest.mark.parametrize(
    ("set_", "names"),
    [
        ({}, []),
        ({"BLOCKS": "s3://bucket/prefix"}, ["AWS_"]),
        ({"USER_KEYS": "s3://bucket/keys"}, ["AWS_"]),
        ({"USER_KEYS": "keys"}, []),
        ({"EMBED_MODEL": "openai:text-embedding-3-small"}, ["OPENAI_API_KEY"]),
        ({"EMBED_MODEL": "fastembed:BAAI/bge-small-en-v1.5"}, []),
    ],
)
def test_what_others_read_for_a_memory(monkeypatch, set_, names):
    """Credentials of what its settings name, and of nothing else."""
    for name, value in set_.items():
        monkeypatch.setenv(f"ZIBALDONE_{name}", value)
    assert settings.read_by_others("folder") == names


def test_what_others_read_for_what_is_given(monkeypatch):
    """A database, a bucket, and a command that asks a key ring."""
    assert settings.read_by_others("postgresql://host/memory", "s3://bucket") == ["AWS_", "PG"]
    monkeypatch.setenv("ZIBALDONE_KEY_COMMAND", "pass show zibaldone")
    assert "GNUPGHOME" in settings.read_by_others("folder")
