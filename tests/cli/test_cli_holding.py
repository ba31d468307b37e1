"""A process that holds a memory answers commands as they would be answered without it."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path

import platformdirs
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from hostile import HostileFolder
from zibaldone import Config, InvalidInput, Memory, change_key
from zibaldone.cli import client as holder
from zibaldone.cli import daemon as holding
from zibaldone.cli.app import app
from zibaldone.storage.folder_layout import database_file
from zibaldone.testing import FrozenClock

TALK = [
    {"session": "1", "name": "Ann", "content": "My dentist is Dr. Moss.", "time": "2024-01-02T09:00"},
    {"session": "2", "name": "Ann", "content": "I bake rye bread \x1b[31m on Sundays.", "time": "2024-02-03"},
]
PROGRAM = get_command(app)
START = [sys.executable, "-m", "zibaldone"]


@pytest.fixture(scope="module")
def runtime():
    """A runtime folder of the tests' own; its path is short, since a socket's has to be."""
    folder = tempfile.mkdtemp(prefix="zb-")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", folder)
        yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, runtime):
    """A memory of two messages."""
    folder = tmp_path_factory.mktemp("holding") / "memory"
    with Memory(folder, config=Config(clock=FrozenClock())) as memory:
        memory.add(TALK, user="me")
    return folder


@pytest.fixture(scope="module")
def held(folder):
    """That memory, held by this process."""
    with Memory(folder, config=Config(clock=FrozenClock())) as memory, holding.held(memory, PROGRAM):
        yield folder


@pytest.fixture
def environment(folder, monkeypatch):
    """The variables of whoever asks."""
    monkeypatch.setenv("ZIBALDONE_MEMORY", str(folder))
    monkeypatch.delenv("ZIBALDONE_USER", raising=False)
    monkeypatch.setenv("COLUMNS", "80")


COMMANDS = [
    "recall dentist --now 2024-03-01",
    "recall dentist --json --user me",
    "search bread",
    "search bread --json",
    "messages",
    "messages --session 2 --json",
    "show 2",
    "sessions",
    "users",
    "timeline",
    "notes",
    "--user me recall dentist",
    "recall dentist --user mo",
    "recall dentist --budget 0",
    "recall --help",
    "search",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_answer_is_the_same(held, environment, capfdbinary, command):
    """The same bytes on both streams, but for the time that a recall took, and the same exit code."""
    code = holder.answer(command.split())
    answered = capfdbinary.readouterr()
    alone = CliRunner().invoke(app, command.split(), prog_name="zibaldone")
    assert code == alone.exit_code
    assert answered.out == alone.stdout_bytes
    assert _untimed(answered.err) == _untimed(alone.stderr_bytes)


def _untimed(text):
    return re.sub(r"[\d.]+ ms", "", text.decode())


def test_what_is_new_is_answered(held, environment, capfdbinary):
    """What another process stores meanwhile is found at once."""
    with Memory(held, config=Config(clock=FrozenClock())) as other:
        other.add("The boat is called Gull.", user="bea")
    assert holder.answer(["recall", "What is the boat called?", "-u", "bea"]) == 0
    assert b"Gull" in capfdbinary.readouterr().out


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        ("add text", {}),
        ("forget --all --yes", {}),
        ("recall x --memory elsewhere", {}),
        ("recall x", {"ZIBALDONE_EMBED_MODEL": "fastembed:other"}),
        ("", {}),
    ],
)
def test_what_means_something_else_is_not_answered(held, environment, capfd, monkeypatch, command, variables):
    """What writes, another memory, other models: the asker does these itself, and nothing is written."""
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert holder.answer(command.split()) is None
    assert capfd.readouterr() == ("", "")


def test_another_version_is_not_asked(held, environment, monkeypatch):
    """After an upgrade the process that still runs is the old one."""
    monkeypatch.setattr("zibaldone.cli.client.version", lambda: "0.0.9")
    request = {"arguments": ["users"], **holder.circumstances()}
    monkeypatch.undo()
    assert "code" not in holder.ask(held, request)


def test_nobody_else_can_ask(held):
    """The socket and its folder are the user's alone."""
    address = holder.socket_of(held)
    assert stat.S_IMODE(address.stat().st_mode) == 0o600
    assert stat.S_IMODE(address.parent.stat().st_mode) == 0o700


def test_a_socket_that_others_may_use_is_not_asked(held):
    """It may be somebody else's."""
    address = holder.socket_of(held)
    address.chmod(0o666)
    try:
        assert holding.status(held) is None
    finally:
        address.chmod(0o600)
    assert holding.status(held).pid == os.getpid()


def test_nonsense_is_survived(held):
    """A request that is no JSON, one that breaks off, and one that never comes end nothing."""
    for line in (b"nonsense\n", b"[1]\n", b'{"arguments": []}\n', b""):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(holder.socket_of(held)))
            connection.sendall(line)
    assert holding.status(held).folder == str(held)


def test_a_memory_is_held_once(held):
    """By one process at a time."""
    with (
        Memory(held) as again,
        pytest.raises(InvalidInput, match=r"holds .* already"),
        holding.held(again, PROGRAM),
    ):
        pass


def test_a_holder_that_has_gone_is_not_missed(tmp_path, runtime, environment, monkeypatch, capfd):
    """Nothing listens behind a socket that a killed process left: the asker does it itself."""
    monkeypatch.setenv("ZIBALDONE_MEMORY", str(tmp_path))
    address = holder.socket_of(tmp_path)
    address.parent.mkdir(mode=0o700, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(address))
    address.chmod(0o600)
    assert holder.answer(["users"]) is None
    assert holding.status(tmp_path) is None
    with Memory(tmp_path) as memory, holding.held(memory, PROGRAM):
        assert holding.status(tmp_path).pid == os.getpid()
    assert not address.exists()


def test_a_path_that_is_too_long_is_refused(opened, monkeypatch, tmp_path):
    """With what to do about it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 30)))
    with pytest.raises(InvalidInput, match="XDG_RUNTIME_DIR"), holding.held(opened(), PROGRAM):
        pass


def test_a_runtime_folder_that_is_open_to_others_is_refused(opened, monkeypatch, tmp_path):
    """Somebody else could have made it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "zibaldone").mkdir(mode=0o777)
    (tmp_path / "zibaldone").chmod(0o777)
    with pytest.raises(InvalidInput, match="open to others"), holding.held(opened(), PROGRAM):
        pass


def test_a_process_of_its_own(tmp_path, runtime, environment, monkeypatch):
    """Started, shown, asked, stopped, from the command line; then commands do without it."""
    folder = tmp_path / "memory"
    with Memory(folder, config=Config(clock=FrozenClock())) as memory:
        memory.add(TALK, user="me")

    def run(*words):
        given = {**os.environ, "ZIBALDONE_MEMORY": str(folder)}
        done = subprocess.run([*START, *words], capture_output=True, text=True, env=given, check=False)
        return done.returncode, done.stdout, done.stderr

    def here(*words):
        done = CliRunner().invoke(app, [*words, "--memory", str(folder)])
        return done.exit_code, done.stdout, done.stderr

    code, _, err = here("open", "--status")
    assert (code, "no process holds" in err) == (1, True)
    code, started, err = run("open", "--background")
    assert code == 0, err
    try:
        assert started.startswith("running: process ")
        assert here("open", "--background")[1] == started
        code, out, _ = run("recall", "Who is the dentist?")
        assert (code, "Dr. Moss" in out) == (0, True)
        assert json.loads(here("open", "--status", "--json")[1])["answered"] == 1
    finally:
        code, stopped, _ = run("open", "--stop")
    assert (code, stopped) == (0, started.replace("running", "stopped"))
    assert holding.status(folder) is None


@pytest.mark.wide
def test_it_executes_nothing_of_the_working_folder(tmp_path, runtime):
    """A file there may be named like any module that it imports."""
    folder, hostile = tmp_path / "memory", HostileFolder(tmp_path / "hostile")
    program = [sys.executable, "-P", *START[1:], "open", "--background", "--memory", str(folder)]
    subprocess.run(program, cwd=hostile.folder, check=True, capture_output=True)
    assert holding.stop(folder)
    assert hostile.executed == []


@pytest.mark.wide
def test_a_process_that_cannot_start_says_why(tmp_path, runtime, environment):
    """The last line that it wrote is the error."""
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    done = CliRunner().invoke(app, ["open", "--background", "--memory", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert str(tmp_path / "file") in done.stderr


def test_a_folder_that_was_made_anew_is_not_answered_for(tmp_path, runtime, environment, monkeypatch):
    """The memory that is held is not the one that is there; its process ends."""
    folder, ended = tmp_path / "memory", threading.Event()
    monkeypatch.setattr("os.kill", lambda pid, number: ended.set())
    monkeypatch.setenv("ZIBALDONE_MEMORY", str(folder))
    with Memory(folder) as memory, holding.held(memory, PROGRAM):
        database_file(folder).rename(tmp_path / "moved")
        assert holder.answer(["users"]) is None
    assert ended.is_set()


def test_a_deleted_folder_is_not_held_on_to(tmp_path, runtime, environment, monkeypatch):
    """Its process ends though nobody asks it anything; that of one that is there goes on."""
    monkeypatch.setattr(holding, "_FOLDER_LOOK_S", 0.01)
    ended = threading.Event()
    monkeypatch.setattr("os.kill", lambda pid, number: ended.set())
    with Memory(tmp_path / "memory") as memory, holding.held(memory, PROGRAM):
        assert not ended.wait(1.2)  # two looks
        shutil.rmtree(tmp_path / "memory")
        assert ended.wait(20)


def test_a_folder_with_another_key_is_not_answered_for(tmp_path, runtime, environment, monkeypatch):
    """Whoever has the old key alone reads no more of it than without a holder."""
    pytest.importorskip("sqlcipher3", reason="pip install 'zibaldone[encryption]'")
    folder, keys = tmp_path / "secret", [bytes([number]) * 32 for number in (1, 2)]
    monkeypatch.setenv("ZIBALDONE_KEY", keys[0].hex())
    ended = []
    monkeypatch.setattr(holding.os, "kill", lambda pid, number: ended.append(number))
    with Memory.from_env(folder) as memory, holding.held(memory, PROGRAM):
        memory.add("Rye bread.", user="me")
        assert holder.answer(["users", "--memory", str(folder)]) == 0
        change_key(folder, *keys)
        assert holder.answer(["users", "--memory", str(folder)]) is None
    assert ended == [signal.SIGTERM]


def test_asking_imports_next_to_nothing():
    """So that an answer takes a few hundredths of a second."""
    program = "import sys, zibaldone.cli.start, zibaldone.cli.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = "numpy typer rich pydantic sqlalchemy typing importlib platformdirs zibaldone.api.memory"
    assert not set(heavy.split()) & set(done.stdout.split())


@pytest.mark.skipif(sys.platform != "linux", reason="the variables of a desktop on Linux")
@pytest.mark.parametrize("data", [None, "", "data", "/srv/data", " /srv/data", "/srv/data/"])
@pytest.mark.parametrize("home", ["/home/ann", "/home/ann/"])
def test_folders_are_those_of_platformdirs(data, home, monkeypatch, tmp_path):
    """What is read without it, since it takes long to load, is what it says."""
    monkeypatch.setenv("HOME", home)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if data is not None:
        monkeypatch.setenv("XDG_DATA_HOME", data)
    assert holder.default_folder() == Path(platformdirs.user_data_dir("zibaldone")) / "memory"
    for runtime in (tmp_path, tmp_path / "none", Path("relative")):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = platformdirs.user_runtime_path("zibaldone")
        assert holder.runtime_folder() == expected
