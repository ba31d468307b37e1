"""The command line: what goes to which stream, with which exit code."""

import json
import os
import re
import shlex
import subprocess
import sys
from unittest.mock import Mock

import pytest

from zibaldone import Admin, Imported, ImportInterrupted, errors
from zibaldone.text.rendering import verbatim

TALK = [
    {
        "id": "1",
        "role": "user",
        "name": "Ann",
        "content": "My dentist is Dr. Moss.",
        "time": "2024-01-02T09:00",
    },
    {"id": "2", "role": "assistant", "content": "Noted: Dr. Moss.", "time": "2024-01-02T09:01"},
    {"id": "3", "session": "2", "content": "I bake rye bread on Sundays.", "time": "2024-02-03T10:00"},
]


@pytest.fixture
def talk(tmp_path):
    """A file of three messages in two sessions."""
    path = tmp_path / "talk"
    path.write_text("".join(json.dumps(line) + "\n" for line in TALK), encoding="utf-8")
    return path


@pytest.fixture
def filled(run, talk):
    """The command line, on a memory that holds the three messages."""
    run("import", talk)
    return run


def test_add_and_list(run):
    """What is added is listed, with its speaker, session and time."""
    run("add", "I like rye.", "--name", "Ann", "--session", "s", "--time", "2024-01-02T09:00")
    assert run("messages").stdout == "1  2024-01-02 09:00  [s]  Ann: I like rye.\n"


def test_add_reads_standard_input(run):
    """Without a text, standard input is the message, less the line break at its end."""
    stored = json.loads(run("add", "--json", stdin="two\nlines\n").stdout)
    assert [message["content"] for message in stored["messages"]] == ["two\nlines"]


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        (["add", " "], None, "nothing to add"),
        (["import", "/dev/null", "--user", ""], None, "user must be a non-empty string"),
        (["add"], b"\xff", "not UTF-8"),
        (["add", "x", "--time", "soon"], None, "not an ISO 8601"),
        (["add", "x", "--user", ""], None, "user must be a non-empty string"),
    ],
)
def test_bad_input_is_one_line(run, arguments, stdin, said):
    """What cannot be added is one line on standard error and exit code 2."""
    done = run(*arguments, stdin=stdin, code=2)
    assert done.stdout == ""
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_import_says_what_it_did(run, talk):
    """The summary is the answer; how to go on is said beside it. A second import finds all there."""
    done = run("import", talk)
    assert done.stdout == "jsonl: 3 messages in 2 conversations for me: 3 added\n"
    assert "zibaldone recall" in done.stderr
    again = json.loads(run("import", "-", "--json", stdin=talk.read_text(encoding="utf-8")).stdout)
    counts = [again[name] for name in ("format", "users", "conversations", "read", "added", "refused")]
    assert counts == ["jsonl", ["me"], 2, 3, 0, []]


def test_import_keeps_the_users_of_the_file(run, tmp_path):
    """Without --user, a file that names its users decides; with --user, the caller does."""
    path = tmp_path / "file"
    path.write_text('{"content": "x", "user": "ann"}', encoding="utf-8")
    assert json.loads(run("import", path, "--json").stdout)["users"] == ["ann"]
    assert json.loads(run("import", path, "--json", "--user", "bob").stdout)["users"] == ["bob"]


def test_import_of_a_bad_file(run, tmp_path):
    """What can be read is imported, the rest is named by its line."""
    path = tmp_path / "bad"
    path.write_text('{"role": "user", "content": "x"}\n{"role": "user", "content": 3}\n', encoding="utf-8")
    done = run("import", path)
    assert done.stdout == "jsonl: 1 message in 1 conversation for me: 1 added; 1 could not be read\n"
    assert done.stderr.startswith(f"not imported: {path}: line 2: $: content must be")


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        ("Dear diary", [], "Tried chatgpt: no 'mapping'"),
        ('[{"mapping": {"a": 1}, "title": ', [], "the JSON ends too early"),
        ('[{"mapping": {"a": 1}, "title": ', ["--format", "chatgpt"], "the JSON ends too early"),
    ],
)
def test_an_import_that_fails_stores_nothing(run, tmp_path, content, options, says):
    """Why is told."""
    path = tmp_path / "conversations.json"
    path.write_text(content, encoding="utf-8")
    assert says in run("import", path, *options, code=2).stderr
    assert json.loads(run("admin", "stats", "--json").stdout)["messages"] == 0


def test_ctrl_c_says_how_much_is_kept(run, talk, monkeypatch):
    """And how to go on; the exit code is that of an interrupted program."""

    def stop(*_args, **_options):
        raise ImportInterrupted(Imported("jsonl", ("me",), 1, 2, 2, 0, complete=False))

    monkeypatch.setattr(Admin, "import_", stop)
    done = run("import", talk, code=130)
    assert done.stdout == "jsonl: 2 messages in 1 conversation for me: 2 added\n"
    assert "the same command goes on from there" in done.stderr


def test_import_of_a_newer_export(filled, tmp_path):
    """What changed since the last import stays, what is new comes in, and the summary says both."""
    path = tmp_path / "newer"
    lines = [{**TALK[0], "content": "My dentist is Dr. Stone."}, {"id": "4", "content": "New."}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    done = filled("import", path)
    assert done.stdout.endswith(
        "1 added, 1 were there already (1 of them changed since: kept as first stored)\n"
    )
    assert "Dr. Moss" in filled("messages").stdout


@pytest.mark.parametrize("command", ["recall x", "messages", "sessions", "admin users", "export -"])
def test_no_reading_command_makes_a_memory(run, tmp_path, command):
    """An empty folder stays one, whatever is asked of it; a database that has lost its bytes is none."""
    (tmp_path / "memory").mkdir()
    assert "no memory at" in run(*command.split(), code=2).stderr
    assert list((tmp_path / "memory").iterdir()) == []
    (lost := tmp_path / "memory" / "zibaldone.sqlite3").touch()
    assert "no memory at" in run(*command.split(), code=2).stderr
    assert lost.stat().st_size == 0


def test_all_that_a_person_said_is_forgotten(filled):
    """Under that name in any session; whoever misspells it is asked."""
    assert "did you mean 'Ann'?" in filled("forget", "--person", "Anne", code=2).stderr
    assert "would forget 1 message" in filled("forget", "--person", "ann", "--dry-run").stdout
    assert "forgot 1 message" in filled("forget", "--person", "ann", "--yes").stdout
    assert "My dentist" not in filled("messages").stdout


@pytest.mark.parametrize("typed", ["--user ann admin users", "admin --user ann users", "admin users"])
def test_a_command_of_all_users_takes_no_user(filled, typed):
    """Rather than leaving the option out of account; the variable is not meant for it."""
    code = 2 if "--user" in typed else 0
    done = filled(*typed.split(), code=code, ZIBALDONE_USER="ann")
    assert ("users is of all users: leave --user out" in done.stderr) == bool(code)


def test_a_folder_below_the_home_is_found(filled, tmp_path, monkeypatch):
    """A tilde that no shell has expanded, as in an environment file, means the home."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert filled("admin", "users", "--memory", "~/memory").stdout == "me\n"


def test_export_round_trip(filled, tmp_path, monkeypatch):
    """Imported elsewhere it is as it was; a dash writes the same bytes, and no other file on the way."""
    filled("add", "a\r\nb \x1b[31m\N{SNOWMAN}\x85")
    path = tmp_path / "out.jsonl"
    assert filled("export", path).stdout == f"4 messages written to {path}\n"
    before = json.loads(filled("messages", "--json").stdout)
    filled("import", path, "--user", "copy")
    assert json.loads(filled("messages", "--user", "copy", "--json").stdout) == before
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "no folder"))
    assert filled("export", "-").stdout_bytes == path.read_bytes()


def test_nobody_is_not_exported(filled, tmp_path):
    """A misspelt user is an error, and a file that is there stays as it was."""
    (kept := tmp_path / "kept").write_text("mine", encoding="utf-8")
    assert "no user 'nobody'" in filled("export", kept, "--user", "nobody", code=2).stderr
    assert kept.read_text(encoding="utf-8") == "mine"


STEERING = "red \x1b[31m alert\x9b\r\nand\rmore"


@pytest.mark.parametrize("arguments", [["messages"], ["messages", "--json"], ["export", "-"]])
def test_terminal_cannot_be_steered(run, monkeypatch, arguments):
    """No control character of a message is passed to a terminal; its line breaks are no such thing."""
    run("add", STEERING)
    monkeypatch.setattr("zibaldone.cli.output._is_terminal", lambda: True)
    shown = run(*arguments).stdout_bytes.decode()
    assert not set(shown) & set("\x1b\x9b\r")
    if arguments == ["messages"]:
        assert shown.endswith("alert\N{REPLACEMENT CHARACTER}\nand\N{REPLACEMENT CHARACTER}more\n")


def test_a_pipe_gets_every_character(run):
    """What does not go to a terminal is word for word: escape sequences and line breaks of any kind."""
    run("add", STEERING)
    assert STEERING.encode() in run("messages").stdout_bytes
    recalled = run("recall", "red alert", "--min-confidence", "0").stdout_bytes.decode()
    assert STEERING in verbatim(recalled)
    assert json.loads(run("messages", "--json").stdout_bytes)[0]["content"] == STEERING


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--yes", "--seq, --session, --person, --before or --all"),
        ("--all", "give --yes to forget"),
        ("--text x --all", "give --verify RECEIPT"),
        ("--seal --all", "give --verify RECEIPT"),
        ("--verify x --all", "forgets nothing"),
        ("--verify x", "no receipt can be read"),
    ],
)
def test_nothing_is_forgotten_by_omission(filled, words, said):
    """Not without a choice, or an answer; what says how to verify goes with --verify alone."""
    assert said in filled("forget", *words.split(), code=2, stdin="").stderr
    assert "messages: 3\n" in filled("admin", "stats").stdout


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 2), ("n\n", 1, 3), ("\n", 1, 3)])
def test_forget_asks(filled, monkeypatch, answer, code, left):
    """On a terminal the counts are shown and the answer decides; the default is no."""
    monkeypatch.setattr("zibaldone.cli.input._is_terminal", lambda: True)
    done = filled("forget", "--seq", "1", stdin=answer, code=code)
    assert "would forget 1 message of 'me' (seq 1)" in done.stderr
    assert f"messages: {left}\n" in filled("admin", "stats").stdout


def test_forget(filled):
    """A dry run says what would go and leaves it; then it is gone, and a receipt says so."""
    receipt = json.loads(filled("forget", "--session", "2", "--dry-run", "--json").stdout)
    assert (receipt["seqs"], receipt["dry_run"]) == ([3], True)
    assert filled("forget", "--before", "2024-02-01", "--yes").stdout.startswith("forgot 2 messages of 'me'")
    assert "messages: 1\n" in filled("admin", "stats").stdout
    assert "nothing found" in filled("forget", "--seq", "1", "--yes", code=1).stderr


def test_forget_verify(filled, tmp_path):
    """With a receipt it is verified that nothing is left; then the texts are taken out of it."""
    receipt = tmp_path / "receipt.json"
    done = filled("forget", "--session", "2", "--yes", "--receipt", receipt)
    assert "verify with it" in done.stderr
    assert "I bake rye bread on Sundays." in receipt.read_text()
    done = filled("forget", "--verify", receipt)
    assert "tables, " in done.stdout
    assert "zibaldone.sqlite3" in done.stdout
    assert done.stdout.endswith("nothing is left\n")
    (tmp_path / "memory" / "left").write_text("I BAKE rye-bread on Sundays")
    done = filled("forget", "--verify", receipt, "--seal", code=1)
    assert "- text in left, bytes 0 to 27: i bake rye bread on sund" in done.stdout
    assert "rye" in receipt.read_text()
    (tmp_path / "memory" / "left").unlink()
    verified = json.loads(filled("forget", "--verify", receipt, "--seal", "--json").stdout)
    assert (verified["ok"], verified["leftovers"]) == (True, [])
    assert "rye" not in receipt.read_text()
    assert json.loads(receipt.read_text())["verified"]["ok"] is True
    done = filled("forget", "--verify", receipt)
    assert "no text was looked for" in done.stderr
    evidence = receipt.read_text()
    assert "no text to take out" in filled("forget", "--verify", receipt, "--seal", code=2).stderr
    assert receipt.read_text() == evidence


def test_a_crash_while_forgetting(filled, tmp_path, monkeypatch):
    """The receipt that was written before says as much as the one afterwards: it verifies."""
    receipt, kept = tmp_path / "receipt.json", []
    save = Admin.save_receipt
    monkeypatch.setattr(
        Admin, "save_receipt", lambda *given: (save(*given), kept.append(receipt.read_text()))[0]
    )
    filled("forget", "--session", "2", "--yes", "--receipt", receipt)
    receipt.write_text(kept[0])
    assert filled("forget", "--verify", receipt).stdout.endswith("nothing is left\n")


CODES = {
    2: (errors.InvalidInput, errors.IdConflict, errors.UnknownName),
    3: (errors.StorageFull, errors.NewerSchema),
    4: (errors.ModelFailed, errors.MissingExtra),
}


@pytest.mark.parametrize(("code", "error"), [(code, kind) for code, kinds in CODES.items() for kind in kinds])
def test_exit_codes(run, monkeypatch, code, error):
    """Each kind of error has its exit code."""
    monkeypatch.setattr("zibaldone.api.memory.Memory.from_env", Mock(side_effect=error("told")))
    assert run("add", "x", code=code).stderr == "error: told\n"


@pytest.mark.parametrize("words", ["nope", "recall", "recall x --nope"])
def test_usage_errors_are_two(run, words):
    """An unknown command or option, or one that is missing, is exit code 2."""
    run(*words.split(), code=2)


def test_comparing_formats_and_demo_wait():
    """Comparing, the importers' formats and the demo wait until they are asked for."""
    program = "import sys, zibaldone.cli.app; print([m for m in sys.modules if m.startswith('zibaldone.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    for module in ("cli.compare.compare", "cli.demo", "importers.chatgpt"):
        assert f"'zibaldone.{module}'" not in done.stdout
    assert "'zibaldone.cli.comparing'" in done.stdout


FULL = "error: standard output cannot be written (No space left on device)"
CLOSED = "error: standard input is closed: give the text as an argument"


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("messages > /dev/full", 2, FULL),
        ("add - <&-", 2, CLOSED),
        *(
            pytest.param(*row, marks=pytest.mark.wide)
            for row in (
                ("sessions > /dev/full", 2, FULL),
                ("admin stats --json > /dev/full", 2, FULL),
                ("messages >&-", 0, ""),
                ("sessions >&-", 0, ""),
                ("forget --all <&-", 2, "there is no terminal to ask on"),
            )
        ),
    ],
)
def test_streams_that_are_full_or_closed(filled, tmp_path, command, code, said):
    """Standard output and input that cannot be used end a command with a line, and no traceback."""
    program = f"{shlex.quote(sys.executable)} -c 'from zibaldone.cli.app import app; app()' {command}"
    environment = {**os.environ, "ZIBALDONE_MEMORY": str(tmp_path / "memory")}
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert not re.search("Traceback|Exception ignored", done.stderr)


@pytest.mark.parametrize("command", ["messages", "add x", "build topics export ''"])
def test_an_empty_path(filled, tmp_path, monkeypatch, command):
    """It is refused, and does not mean the working directory."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    arguments = shlex.split(command)
    done = filled(*arguments, *([] if "" in arguments else ["--memory", ""]), code=2)
    assert "a path cannot be" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_port_that_is_none(run):
    """A line that says which there are."""
    assert "from 0 to 65535, not 99999" in run("serve", "--port", "99999", code=2).stderr


def test_who_is_me_in_a_chat_of_several(run, tmp_path):
    """The receipt asks; `--me`, once for each name, answers."""
    path = tmp_path / "chat.txt"
    path.write_text("3/12/24, 10:00 - Ann: I am allergic to nuts.\n4/1/25, 10:01 - Ben: I prefer trains.\n")
    told = run("import", path, "--user", "ann").stderr
    assert all(says in told for says in ("Ann, Ben", "--me NAME", "dates such as 3/12/24"))
    told = run("import", path, "--user", "bob", "--me", "Ann", "--me", "Ben", "--dates", "mdy").stderr
    assert not any(says in told for says in ("--me", "dates such as"))
