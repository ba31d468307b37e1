"""The table of operations: every entry answers by every door it names, and opens nobody else's memory."""

import json
import shlex
from dataclasses import dataclass, field

import httpx2
import pytest
from loopback import servers
from typer.testing import CliRunner

from zibaldone import Memory
from zibaldone.api.operations import BY_NAME, OPERATIONS
from zibaldone.cli.app import app
from zibaldone.cli.commands import COMMANDS
from zibaldone.cli.frame import AS_JSON, RUN, SHOWN
from zibaldone.server.keys import KeyStore
from zibaldone.server.mcp.tools import TOOLS
from zibaldone.server.rest.operation import HANDLERS
from zibaldone.testing import ScriptedModel

TALK = [
    {
        "id": "chat-7/1",
        "session": "chat-7",
        "content": "I moved to Lisbon in May.",
        "time": "2024-06-01T09:00:00Z",
    },
    {"id": "chat-7/2", "session": "chat-7", "role": "assistant", "content": "How do you like Lisbon?"},
    {"session": "rules", "content": "Always answer in French."},
    {"session": "rules", "content": "Now I live in Lisbon, by the river."},
]


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
    "listUsers": Row("ann", "users"),
    "exportMessages": Row("Lisbon", "export -"),
    "forget": Row("messages", "forget --session chat-7 --dry-run", {"forget": {"session": "chat-7"}}),
    "verifyForgotten": Row(),
    "recall": Row("Lisbon", "recall 'Where does Ann live?' --budget 500", {"recall": {"query": "Where?"}}),
    "ask": Row("Lisbon", "ask 'Where has Ann lived?'"),
    "search": Row("Lisbon", "search Lisbon --limit 5"),
    "timeline": Row("Lisbon", "timeline 'moving to Lisbon'"),
    "listGrants": Row("team:design", "admin grants"),
    "grant": Row("team:design", "admin grant team:design"),
    "revoke": Row("team:", "admin revoke team:ops"),
    "listAudit": Row("read", "audit"),
    "getProfile": Row("Always answer in French.", "profile", {"notes": {}}),
    "addProfileEntry": Row("", "notes add 'No nuts.' --kind constraint"),
    "changeProfileEntry": Row(),
    "pinProfileEntry": Row("", "notes pin 3.0"),
    "editProfileEntry": Row("", "notes edit 3.0 'Always answer in French.'"),
    "retireProfileEntry": Row("", "notes delete 3.0"),
    "listTopics": Row("topic-0001"),
    "listDocuments": Row("topic-0001", "topics list"),
    "getTopic": Row(
        "Lisbon",
        "topics show topic-0001",
        {
            "topics_grep": {"pattern": "Lisbon"},
            "topics_grep_doc": {"doc_id": "topic-0001", "pattern": "Lisbon"},
            "topics_search": {"query": "Lisbon"},
            "topics_read_lines": {"doc_id": "topic-0001", "start_line": 1, "end_line": 50},
            "topics_list_docs": {},
        },
    ),
    "editTopic": Row("", "topics edit CURRENT"),
    "exportTopics": Row("", "topics export {folder}"),
    "listChunks": Row("", "chunks"),
    "listThemes": Row("Lisbon", "themes"),
    "listEpisodes": Row("Lisbon", "episodes"),
    "getStats": Row("messages", "stats"),
    "getUsage": Row("", "usage"),
    "check": Row("", "check"),
    "maintain": Row("", "maintain --view notes"),
    "rebuild": Row("messages", "rebuild messages --show"),
    "retention": Row("everything stays", "retention"),
}
CHANGES = set(
    """addMessages importFile correctMessage forget addProfileEntry changeProfileEntry pinProfileEntry
    editProfileEntry retireProfileEntry editTopic maintain rebuild retention grant revoke""".split()
)
BY_REST = [operation for operation in OPERATIONS if operation.rest]
BY_CLI = [operation for operation in OPERATIONS if operation.cli]
BY_TOOL = [(operation, tool.name) for operation in OPERATIONS for tool in operation.tools]


def user_of(operation):
    """Whose memory an operation is tried on: ann's stays as it is, cid's is changed."""
    return "cid" if operation.name in CHANGES else "ann"


def named(given):
    """An operation's name."""
    return getattr(given, "name", given)


class House:
    """A served memory of ann's, and who asks for it: by a key, or at the command line."""

    def __init__(self, folder, exported):
        self.folder, self.exported = folder, exported
        keys = KeyStore(folder)
        self.tokens = {name: keys.create(user=name).token for name in ("ann", "bob", "cid")}
        self.tokens["reader"] = keys.create(user="ann", read_only=True).token
        self.tokens["admin"] = keys.create(user=None).token
        keys.close()

    def request(self, operation, who, user="ann", header=None):
        """The answer to an operation's example."""
        example = operation.rest.example
        path = operation.rest.path.replace(":path", "").format(**example.get("path", {}))
        params = {"user": user, **example.get("query", {})}
        headers = {
            "Authorization": f"Bearer {self.tokens[who]}",
            **({"X-Memory-User": header} if header else {}),
        }
        return self.client.request(
            operation.rest.method,
            f"/v1/memory/{path}",
            params={name: value for name, value in params.items() if value is not None},
            json=example.get("body"),
            headers=headers,
        )

    def call(self, tool, arguments, who, **headers):
        """The text of an MCP tool's answer, and whether it is an error."""
        accepted = {"Accept": "application/json, text/event-stream"}
        answer = self.client.post(
            "/mcp",
            headers={"Authorization": f"Bearer {self.tokens[who]}", **accepted, **headers},
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": tool, "arguments": arguments},
            },
        ).json()
        result = answer.get("result", {"isError": True})
        return answer.get("error", {}).get("message") or result["content"][0]["text"], bool(
            result.get("isError")
        )

    def run(self, command, user, tmp_path):
        """What a command does."""
        (tmp_path / "talk.jsonl").write_text('{"content": "Hello."}', encoding="utf-8")
        places = {"talk": tmp_path / "talk.jsonl", "folder": tmp_path / "out", "exported": self.exported}
        environment = {
            "ZIBALDONE_MEMORY": str(self.folder),
            "ZIBALDONE_USER": user,
            "EDITOR": "true",
            "VISUAL": "",
        }
        return CliRunner().invoke(app, shlex.split(command.format(**places)), env=environment)


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A memory with something of every kind, served with a model that knows what it was shown."""
    folder, exported = (tmp_path_factory.mktemp(name) for name in ("house", "exported"))
    with Memory(folder) as memory:
        for user in ("ann", "cid"):
            memory.add(TALK, user=user)
        memory.add("I play chess.", user="bob")
        for user, scope in (("ann", "team:design"), ("cid", "team:design"), ("cid", "team:ops")):
            memory.admin.grant(scope, user=user)
        memory.maintain(views=["topics", "hierarchy", "notes"])
        memory.user("cid").topics.export(exported)
    house = House(folder, exported)
    with servers(folder) as serving:
        model = ScriptedModel(lambda request: {"answer": request.turns[1].content, "known": True})
        with httpx2.Client(base_url=serving(chat=model, audit=True)) as house.client:
            house.request(BY_NAME["search"], "ann")  # which is in the audit
            yield house


def test_every_operation_has_a_row():
    """What is in the table is tried below, with every command and tool that it names."""
    assert ROWS.keys() == {operation.name for operation in OPERATIONS}
    for operation in OPERATIONS:
        assert bool(ROWS[operation.name].command) == bool(operation.cli), operation.name
        assert ROWS[operation.name].tools.keys() == {tool.name for tool in operation.tools}
    assert {tool for _, tool in BY_TOOL} == TOOLS.keys()


def test_functions_of_the_doors_are_of_operations():
    """None is registered under a misspelt name, and each command without one has a way to be shown."""
    assert HANDLERS.keys() <= {operation.name for operation in BY_REST}
    names = {operation.name for operation in (*BY_CLI, *COMMANDS)}
    assert RUN.keys() | SHOWN.keys() | AS_JSON.keys() <= names
    assert names - RUN.keys() <= SHOWN.keys()


@pytest.mark.parametrize("operation", BY_REST, ids=named)
def test_rest_answers(house, operation):
    """The example of the document gets what the document says, with what ann has stored."""
    who = "admin" if operation.right == "admin" else user_of(operation)
    answer = house.request(operation, who, user_of(operation))
    if operation.name == "changeProfileEntry":  # which entries there are is not for an example to know
        assert answer.status_code in (200, 404)
        return
    assert answer.status_code in operation.rest.statuses, answer.text
    assert ROWS[operation.name].words in answer.text


@pytest.mark.parametrize("operation", BY_CLI, ids=named)
def test_the_command_line_answers(house, operation, tmp_path):
    """The command does it for its user, with the words that the other doors have."""
    done = house.run(ROWS[operation.name].command, user_of(operation), tmp_path)
    if operation.name == "ask":  # there is no model in the environment
        assert "needs a chat model" in done.output
        return
    assert done.exit_code == 0, done.output
    assert ROWS[operation.name].words in done.output


READING = [operation for operation in BY_CLI if operation.right == "read" and operation.whose != "none"]


@pytest.mark.parametrize("operation", READING, ids=named)
def test_a_command_of_somebody_else_is_refused(house, operation, tmp_path):
    """Who has stored nothing gets nothing, and is told who may be meant."""
    done = house.run(ROWS[operation.name].command, "anne", tmp_path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"no user 'anne' in {house.folder}: did you mean 'ann'?" in done.stderr


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
    by_rest = house.request(operation, "ann").json()
    things = next(value for value in by_rest.values() if isinstance(value, list))
    by_command = json.loads(house.run(f"{ROWS[name].command} --json", "ann", tmp_path).stdout)
    assert same(by_rest if name == "recall" else things) == same(by_command)


@pytest.mark.parametrize(("operation", "tool"), BY_TOOL, ids=named)
def test_tools_answer(house, operation, tool):
    """The tool does it for the key's user, and one that changes something is not for a reader."""
    arguments = ROWS[operation.name].tools[tool]
    text, failed = house.call(tool, arguments, user_of(operation))
    assert not failed, text
    assert house.call(tool, arguments, "reader")[1] == (operation.name in CHANGES)


@pytest.mark.parametrize("operation", BY_REST, ids=named)
def test_a_reader_changes_nothing(house, operation):
    """A key that may only read is refused what changes something, or is for admins, and nothing else."""
    answer = house.request(operation, "reader")
    is_refused = operation.name in CHANGES | {"listUsers", "verifyForgotten"}
    assert answer.status_code in ((403,) if is_refused else operation.rest.statuses), answer.text


@pytest.mark.parametrize("operation", BY_REST, ids=named)
def test_a_key_opens_no_other_memory_by_rest(house, operation):
    """Another's name is refused, in the URL and in the gateway's header; without it all is one's own."""
    for answer in (house.request(operation, "bob"), house.request(operation, "bob", None, header="ann")):
        assert answer.status_code in (403, 422)  # 422: it takes no user
        assert "in May" not in answer.text
    if operation.right == "read":
        own = house.request(operation, "bob", None)
        assert own.status_code in (200, 404), own.text
        assert "French" not in own.text
        assert "in May" not in own.text


@pytest.mark.parametrize(("operation", "tool"), BY_TOOL, ids=named)
def test_a_key_opens_no_other_memory_by_tools(house, operation, tool):
    """Another's name is refused; what a key's own user is shown has no word of others."""
    arguments = ROWS[operation.name].tools[tool]
    refused, _ = house.call(tool, arguments, "bob", **{"X-Memory-User": "ann"})
    assert "another user" in refused
    if operation.right == "read":
        own, _ = house.call(tool, arguments, "bob")
        assert "French" not in own
        assert "in May" not in own
