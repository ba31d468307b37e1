"""The table of operations: every entry answers by every door that it names."""

import json
import shlex
from dataclasses import dataclass, field

import pytest
from typer.testing import CliRunner

from zibaldone.api.operations import BY_NAME, OPERATIONS
from zibaldone.cli.app import app


@dataclass(frozen=True)
class Row:
    """How an operation is tried: words that each door's answer has for ann; a command; arguments of tools."""

    words: str = ""
    command: str = ""
    tools: dict = field(default_factory=dict)


ROWS = {
    "addMessages": Row("", "add 'I like tea.'", {"remember": {"content": "I like tea."}}),
    "importFile": Row("", "import {talk}"),
    "listMessages": Row("Lisbon", "messages --session chat-7", {"read_session": {"session": "chat-7"}}),
    "getMessage": Row("Lisbon"),
    "showMessage": Row("Lisbon", "show 1"),
    "correctMessage": Row("Lisbon"),
    "listSessions": Row("chat-7", "sessions", {"sessions": {}}),
    "listUsers": Row("ann", "admin users"),
    "exportMessages": Row("Lisbon", "export -"),
    "forget": Row("messages", "forget --session chat-7 --dry-run", {"forget": {"session": "chat-7"}}),
    "recall": Row("Lisbon", "recall 'Where does Ann live?' --budget 500", {"recall": {"query": "Where?"}}),
    "ask": Row("Lisbon", "ask 'Where has Ann lived?'"),
    "search": Row("Lisbon", "search Lisbon --limit 5"),
    "timeline": Row("Lisbon", "build timeline 'moving to Lisbon'"),
    "listGrants": Row("team:design", "admin grants"),
    "grant": Row("team:design", "admin grant team:design"),
    "revoke": Row("team:", "admin revoke team:ops"),
    "listAudit": Row("read", "admin audit"),
    "getProfile": Row("Always answer in French.", "notes", {"notes": {}}),
    "addProfileEntry": Row("", "notes add 'No nuts.' --kind constraint"),
    "changeProfileEntry": Row(),
    "pinProfileEntry": Row("", "notes pin 3.0"),
    "editProfileEntry": Row("", "notes edit 3.0 'Always answer in French.'"),
    "retireProfileEntry": Row("", "notes delete 3.0"),
    "listTopics": Row("topic-0001"),
    "listDocuments": Row("topic-0001", "build topics"),
    "getTopic": Row(
        "Lisbon",
        "build topics show topic-0001",
        {
            "topics_grep": {"pattern": "Lisbon"},
            "topics_grep_doc": {"doc_id": "topic-0001", "pattern": "Lisbon"},
            "topics_search": {"query": "Lisbon"},
            "topics_read_lines": {"doc_id": "topic-0001", "start_line": 1, "end_line": 50},
            "topics_list_docs": {},
        },
    ),
    "exportTopics": Row("", "build topics export {folder}"),
    "listChunks": Row("", "build chunks"),
    "listThemes": Row("Lisbon", "build themes"),
    "listEpisodes": Row("Lisbon", "build episodes"),
    "getStats": Row("messages", "admin stats"),
    "getUsage": Row("", "admin usage"),
    "check": Row("", "admin check"),
    "maintain": Row("", "maintain --view notes"),
    "rebuild": Row("messages", "build rebuild messages --show"),
    "retention": Row("everything stays", "admin retention"),
}
BY_REST = [operation for operation in OPERATIONS if operation.rest]
BY_CLI = [operation for operation in OPERATIONS if operation.cli]
BY_TOOL = [(operation, tool.name) for operation in OPERATIONS for tool in operation.tools]


def user_of(operation):
    """Whose memory an operation is tried on: ann's stays as it is, cid's is changed."""
    return "ann" if operation.right == "read" else "cid"


def named(given):
    """An operation's name."""
    return getattr(given, "name", given)


def run(house, command, user, tmp_path):
    """What a command does."""
    (tmp_path / "talk.jsonl").write_text('{"content": "Hello."}', encoding="utf-8")
    places = {"talk": tmp_path / "talk.jsonl", "folder": tmp_path / "out"}
    environment = {"ZIBALDONE_MEMORY": str(house.home), "ZIBALDONE_USER": user}
    return CliRunner().invoke(app, shlex.split(command.format(**places)), env=environment)


def test_every_operation_has_a_row(house):
    """What is in the table is tried below, with every command and tool that it names."""
    assert ROWS.keys() == {operation.name for operation in OPERATIONS}
    for operation in OPERATIONS:
        assert bool(ROWS[operation.name].command) == bool(operation.cli), operation.name
        assert ROWS[operation.name].tools.keys() == {tool.name for tool in operation.tools}
    offered = house.mcp("cid", "tools/list")["result"]["tools"]
    assert {tool for _, tool in BY_TOOL} == {tool["name"] for tool in offered}


@pytest.mark.parametrize("operation", BY_REST, ids=named)
def test_rest_answers(house, operation):
    """The example of the document gets what the document says, with what ann has stored."""
    who = "admin" if operation.right == "admin" else user_of(operation)
    answer = house.example(operation, who, user_of(operation))
    if operation.name == "changeProfileEntry":  # which entries there are is not for an example to know
        assert answer.status_code in (200, 404)
        return
    assert answer.status_code == operation.rest.status, answer.text
    assert ROWS[operation.name].words in answer.text


@pytest.mark.parametrize("operation", BY_CLI, ids=named)
def test_the_command_line_answers(house, operation, tmp_path):
    """The command does it for its user, with the words that the other doors have."""
    done = run(house, ROWS[operation.name].command, user_of(operation), tmp_path)
    if operation.name == "ask":  # there is no model in the environment
        assert "needs a chat model" in done.output
        return
    assert done.exit_code == 0, done.output
    assert ROWS[operation.name].words in done.output


READING = [operation for operation in BY_CLI if operation.right == "read" and operation.whose != "none"]


@pytest.mark.parametrize("operation", READING, ids=named)
def test_a_command_of_somebody_else_is_refused(house, operation, tmp_path):
    """Who has stored nothing gets nothing, and is told who may be meant."""
    done = run(house, ROWS[operation.name].command, "anne", tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"no user 'anne' in {house.home}: did you mean 'ann'?" in done.stderr


SAME = {  # by operation: the part of an answer's JSON that tells whether it is the same
    "listMessages": lambda shown: [message["content"] for message in shown],
    "listSessions": lambda shown: [session["session"] for session in shown],
    "recall": lambda shown: shown["text"],
    "search": lambda shown: [(unit["text"], unit["sources"]) for unit in shown],
    "timeline": lambda shown: [line["text"] for line in shown],
    "getProfile": lambda shown: [note["text"] for note in shown],
    "listThemes": lambda shown: sorted(theme["name"] for theme in shown),
}


@pytest.mark.parametrize("name", SAME)
def test_the_doors_give_one_result(house, name, tmp_path):
    """The same things in the same order, by REST and by the command line."""
    operation, same = BY_NAME[name], SAME[name]
    by_rest = house.example(operation, "ann").json()
    things = next(value for value in by_rest.values() if isinstance(value, list))
    by_command = json.loads(run(house, f"{ROWS[name].command} --json", "ann", tmp_path).stdout)
    assert same(by_rest if name == "recall" else things) == same(by_command)


@pytest.mark.parametrize(("operation", "tool"), BY_TOOL, ids=named)
def test_tools_answer(house, operation, tool):
    """The tool does it for the key's user."""
    text = house.tool(user_of(operation), tool, **ROWS[operation.name].tools[tool])
    assert not text.startswith("error")
