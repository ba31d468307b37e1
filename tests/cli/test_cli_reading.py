"""What the command line says of users, sessions and messages; time as it was; the guide."""

import json

import pytest
from typer.testing import CliRunner

import zibaldone
from zibaldone.cli.app import app

RENT, BREAD = {"session": "7f3a-rent", "name": "Ann"}, {"session": "7c11-bread", "name": "Ann"}
TALK = [
    {**RENT, "content": "The rent of the flat is 900 a month.", "time": "2024-01-02T09:00"},
    {"session": "7f3a-rent", "role": "assistant", "content": "900 it is.", "time": "2024-01-02T09:01"},
    {**BREAD, "content": "I baked rye bread.", "time": "2024-02-03T10:00"},
    {**RENT, "session": "21d0-rent", "content": "The rent is 950 now.", "time": "2024-05-06T10:00"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A memory of four messages in three sessions; no test changes it."""
    folder = tmp_path_factory.mktemp("reading") / "memory"
    lines = "\n".join(map(json.dumps, TALK))
    environment = {"ZIBALDONE_MEMORY": str(folder), "ZIBALDONE_USER": "annabel"}
    assert CliRunner().invoke(app, ["import", "-"], input=lines, env=environment).exit_code == 0
    return folder


@pytest.fixture
def run(run, folder):
    """Runs a command on that memory."""

    def run_there(*words, **options):
        return run(*words, **{"ZIBALDONE_MEMORY": str(folder), "ZIBALDONE_USER": "annabel", **options})

    return run_there


@pytest.mark.parametrize(
    "words",
    [
        "--user annabel recall rent",
        "-u annabel recall rent",
        "--user zoe recall rent --user annabel",
        "recall rent -u annabel",
    ],
)
def test_whose_memory_stands_before_a_command_or_behind_it(run, words):
    """The option before a command says the same as the one behind it, and both beat the variable."""
    wanted = run("recall", "rent", ZIBALDONE_USER="annabel").stdout
    assert run(*words.split(), ZIBALDONE_USER="zoe").stdout == wanted


def test_the_help_is_one_screen(run):
    """Daily commands under headings; all others below admin and build alone."""
    lines = run("--help", COLUMNS="80").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert {"Talk:", "History:", "Notes:", "Serve:", "More:"} <= set(lines)
    assert not any(line.split()[:1] == ["wall"] for line in lines)
    assert "Exit codes: 0 done; 1 nothing found" in " ".join(" ".join(lines).split())
    assert "No such command 'stats'" in run("stats", code=2).stderr


@pytest.mark.parametrize("command", ["recall rent", "search rent", "messages"])
def test_a_session_goes_by_how_it_begins(run, command):
    """A beginning that one session alone has is its name; so it is for a session that is left out."""
    whole = run(*command.split(), "--session", "7f3a-rent").stdout
    assert whole
    assert run(*command.split(), "--session", "7f").stdout == whole
    if command != "messages":
        left = run(*command.split(), "--exclude-session", "7f", "--json").stdout
        assert left == run(*command.split(), "--exclude-session", "7f3a-rent", "--json").stdout
        assert "950" in left


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        ("7", "session '7' is one of 2: 7f3a-rent, 7c11-bread"),
        ("7f3a-rant", "no session '7f3a-rant' of user 'annabel': did you mean '7f3a-rent'?"),
        ("zz", "no session 'zz' of user 'annabel': 'zibaldone sessions' lists them"),
    ],
)
def test_a_session_that_is_not_there_is_an_error(run, session, reason):
    """Exit code 2, and what may be meant."""
    for command in (("recall", "x"), ("search", "x"), ("messages",), ("forget", "--dry-run")):
        assert reason in run(*command, "--session", session, code=2).stderr


def test_a_message_is_shown_whole(run):
    """With session, time, role, name and id; around it what stands beside it in its session."""
    shown = run("show", "2").stdout
    assert "message: 2\nsession: 7f3a-rent\ntime: 2024-01-02 09:01\nrole: assistant\nid: " in shown
    assert shown.endswith("\n\n900 it is.\n")
    assert "Ann: The rent of the flat" in run("show", "2", "--around", "1").stdout
    assert json.loads(run("show", "2", "--json").stdout)[0]["seq"] == 2
    assert "has no message 9: 'zibaldone messages' lists them" in run("show", "9", code=2).stderr


def test_messages_are_narrowed_by_role_and_time(run):
    """As a recall is; the newest alone with --last."""

    def seqs(*words):
        return [message["seq"] for message in json.loads(run("messages", *words, "--json").stdout)]

    assert seqs("--role", "assistant") == [2]
    assert seqs("--since", "2024-02-01") == [3, 4]
    assert seqs("--until", "2024-02-01") == [1, 2]
    assert seqs("--last", "1") == [4]
    assert seqs("--after", "1", "--limit", "2") == [2, 3]
    assert seqs("--session", "7c11-bread") == [3]


@pytest.mark.parametrize("command", ["recall", "search"])
def test_a_question_can_be_asked_as_of_then(run, command):
    """--now is what "last month" is relative to."""
    asked = run(command, "What did I bake last month?", "--now", "2024-03-15", "--json")
    assert "rye" in asked.stdout


def test_the_timeline_has_dated_lines(run):
    """Of everything, or on a subject, narrowed by time."""
    shown = run("build", "timeline").stdout
    assert shown.index("2024-01-02  ") < shown.index("2024-05-06  ")
    assert "950" not in run("build", "timeline", "rent", "--until", "2024-04-01").stdout
    assert json.loads(run("build", "timeline", "bread", "--json").stdout)
    assert "nothing found about 'xylophones'" in run("build", "timeline", "xylophones", code=1).stderr


def test_without_arguments_a_guide_with_the_state(run, tmp_path, folder):
    """Where the memory is, what is in it, and what to do next."""
    guide = run().stdout
    assert f"memory: {folder}\n  4 messages of annabel\n" in guide
    assert "zibaldone maintain" in guide
    empty = run(ZIBALDONE_MEMORY=str(tmp_path / "none")).stdout
    assert "nothing is stored yet" in empty
    assert "zibaldone import FILE" in empty
    assert not (tmp_path / "none").exists()


def test_the_version_is_an_option(run):
    """As most programs have it."""
    assert run("--version").stdout.strip() == zibaldone.__version__


def test_a_terminal_is_told_the_folder(run, folder, monkeypatch):
    """On standard error, once, and nowhere else but in the figures."""
    assert run("admin", "stats").stdout.startswith(f"memory: {folder}\n")
    assert str(folder) not in run("messages").output
    monkeypatch.setattr("zibaldone.cli.output._errors_are_seen", lambda: True)
    done = run("messages")
    assert done.stderr == f"memory: {folder}\n"
    assert str(folder) not in done.stdout


def test_a_shell_completes_commands(run):
    """As bash asks for them."""
    done = run(_ZIBALDONE_COMPLETE="complete_bash", COMP_WORDS="zibaldone sea", COMP_CWORD="1")
    assert done.stdout.split() == ["search"]
