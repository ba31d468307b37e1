"""Anthropic's memory tool over a memory: in the words of Anthropic's own, and driven by its SDK."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from uuid import uuid4

import anthropic
import httpx2
import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from zibaldone import InvalidInput, MissingExtra
from zibaldone.adapters.anthropic_memory import MemoryFiles, memory_tool

pytestmark = pytest.mark.wide

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)  # each example writes many files
WITHOUT = "excluding hidden items and node_modules:"
HEAD = f"Here're the files and directories up to 2 levels deep in /memories, {WITHOUT}"
PATHS = st.sampled_from(["/memories/a.txt", "/memories/b.md", "/memories/d/x.txt", "/memories/d/e/f/y.txt"])
ANYWHERE = PATHS | st.sampled_from(
    ["/memories", "/memories/d", "/memories/d/e", "/etc/passwd", "/memories/../x"]
)
TEXTS = st.sampled_from(
    ["tea", "tea\n", "tea\nwater\n", "", "one\ntwo\nthree\nfour\nfive\nsix\nseven", "tea tea", "ä\r\nb"]
)


def command(name, optional=None, **parts):
    """Commands of a name, with any of these parts."""
    return st.fixed_dictionaries({"command": st.just(name), **parts}, optional=optional)


COMMANDS = st.one_of(
    *2 * [command("create", path=PATHS, file_text=TEXTS)],
    command(
        "view", {"view_range": st.tuples(st.integers(-1, 4), st.integers(-1, 9)).map(list)}, path=ANYWHERE
    ),
    command(
        "str_replace",
        path=ANYWHERE,
        old_str=st.sampled_from(["tea", "five", "t", "never"]),
        new_str=st.sampled_from(["coffee", "", "two\nlines"]),
    ),
    command(
        "insert",
        path=ANYWHERE,
        insert_line=st.integers(-1, 4),
        insert_text=st.sampled_from(["new", "new\n", "new\nand more\n\n"]),
    ),
    command("delete", path=ANYWHERE),
    command("rename", old_path=ANYWHERE, new_path=PATHS),
)


@pytest.fixture
def files(memory):
    """Ann's."""
    return MemoryFiles(memory, user="ann")


def outcome(do, command):
    """What the model is told, in which way; sizes of folders are the file system's own there."""
    try:
        text, failed = do(command), False
    except (InvalidInput, ToolError) as error:
        text, failed = str(error), True
    except OSError:  # of the file system: theirs has no words for it
        return None, True
    head, *lines = text.split("\n")
    if "directories up to" in head:
        head = head.replace(" and node_modules", "")
        pairs = [line.split("\t") for line in lines]
        folders = ("/", command["path"])
        lines = sorted(path if path.endswith(folders) else f"{size} {path}" for size, path in pairs)
    return [head, *lines], failed


@settings(max_examples=50, phases=NO_SHRINKING)
@given(commands=st.lists(COMMANDS, max_size=10))
def test_every_answer_is_that_of_anthropics_own_tool(shared_memory, tmp_path_factory, commands):
    """Results and errors, word for word, whatever came before; empty folders are gone in both."""
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path_factory.mktemp("theirs")))
    ours = MemoryFiles(shared_memory, user=str(uuid4()))
    for command in commands:
        words, failed = outcome(ours.run, command)
        their_words, they_failed = outcome(theirs.call, command)
        assert failed == they_failed, command
        assert their_words is None or words == their_words, command
        for folder in ("d/e/f", "d/e", "d"):
            place = theirs.memory_root / folder
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()


def test_a_listing(files):
    """Two levels deep, folders with a slash, hidden files not at all, and sizes as people read them."""
    for path, text in {
        "/memories/b.txt": "x" * 2048,
        "/memories/a/deep/er/c.txt": "y" * 10,
        "/memories/a/d.txt": "z" * 1536,
        "/memories/.hidden": "h",
        "/memories/node_modules/m.js": "m",
    }.items():
        files.create(path, text)
    assert files.view("/memories").split("\n") == [
        HEAD,
        "3.5K\t/memories",
        "1.5K\t/memories/a/",
        "1.5K\t/memories/a/d.txt",
        "10B\t/memories/a/deep/",
        "2K\t/memories/b.txt",
    ]


@pytest.mark.parametrize("path", ["/memories/a/../../b", "/memoriesx/a", "/memories/a\n0B\t/memories/b", 7])
def test_a_path_that_leads_out_is_refused(files, path):
    """By every command; nothing is stored."""
    for command in (
        {"command": "view", "path": path},
        {"command": "create", "path": path, "file_text": "x"},
        {"command": "delete", "path": path},
        {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
        {"command": "str_replace", "path": path, "old_str": "x", "new_str": "y"},
        {"command": "rename", "old_path": path, "new_path": "/memories/ok"},
    ):
        with pytest.raises(InvalidInput, match=r"Path|Invalid parameters"):
            files.run(command)
    assert files.view("/memories").count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "view",
        {"command": "clear"},
        {"command": "view", "path": "/memories", "more": 1},
        {"command": "create", "path": "/memories/a", "file_text": "\ud800"},
    ],
)
def test_a_command_that_is_none_is_refused(files, command):
    """With words for the model."""
    with pytest.raises(InvalidInput):
        files.run(command)


def test_a_file_cannot_lie_in_a_file(files):
    """Nor a folder be moved into itself."""
    files.create("/memories/a", "x")
    files.create("/memories/d/b", "x")
    with pytest.raises(InvalidInput, match="/memories/a is not a directory"):
        files.create("/memories/a/b", "y")
    with pytest.raises(InvalidInput, match="inside it"):
        files.rename("/memories/d", "/memories/d/e")


def test_edits_at_the_same_moment_are_all_kept(files):
    """Parallel tool calls: each goes on from what the other wrote."""
    files.create("/memories/log", "")
    added = [f"line {number}" for number in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(files.insert, "/memories/log", 0), added))
    lines = files.view("/memories/log").split("\n")[1:]
    assert sorted(line.split("\t")[1] for line in lines) == ["", *added]


def test_a_deleted_file_is_in_no_file(files, memory):
    """With all that it said before, also under another name."""
    files.create("/memories/d/a", "Rumpelstilz")
    files.str_replace("/memories/d/a", "Rumpelstilz", "Abrakadabra")
    files.rename("/memories/d", "/memories/e")
    files.delete("/memories/e")
    content = [path.read_bytes().lower() for path in memory.path.rglob("*") if path.is_file()]
    assert not any(b"rumpelst" in part or b"abrakad" in part for part in content)


def test_users_do_not_see_each_others_files(files, memory):
    """Neither in a listing nor by path, and a deletion is of one's own."""
    files.create("/memories/a", "ann's")
    bea = MemoryFiles(memory, user="bea")
    bea.create("/memories/a", "bea's")
    bea.create("/memories/b", "bea's")
    assert "bea's" not in files.view("/memories/a")
    assert "/memories/b" not in files.view("/memories")
    with pytest.raises(InvalidInput, match="does not exist"):
        files.delete("/memories/b")
    assert "bea's" in bea.view("/memories/a")


ASKED = [
    {"command": "create", "path": "/memories/a", "file_text": "tea"},
    {"command": "create", "path": "/memories/a", "file_text": "tea"},
    {"command": "view", "path": "/memories/a"},
]
TOLD = [
    ("File created successfully at: /memories/a", False),
    ("File /memories/a already exists", True),
    ("Here's the content of /memories/a with line numbers:\n     1\ttea", False),
]
GO = {"model": "claude", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}], "thread": False}


class Model:
    """Speaks Anthropic's protocol: asks for the next of some commands, and ends when there is none."""

    def __init__(self):
        self.seen = []
        self.transport = httpx2.MockTransport(self.answer)

    def answer(self, request):
        asked = json.loads(request.content)
        self.seen.append(asked)
        done = sum(message["role"] == "assistant" for message in asked["messages"])
        content, reason = {"type": "text", "text": "done"}, "end_turn"
        if done < len(ASKED):
            name = asked["tools"][0]["name"]
            content, reason = (
                {"type": "tool_use", "id": f"t{done}", "name": name, "input": ASKED[done]},
                "tool_use",
            )
        reply = {"id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [content]}
        usage = {"input_tokens": 1, "output_tokens": 1}
        return httpx2.Response(
            200, json={**reply, "stop_reason": reason, "stop_sequence": None, "usage": usage}
        )

    def told(self):
        """The tool results that the last request has, and whether they are errors."""
        blocks = [block for message in self.seen[-1]["messages"] for block in message["content"]]
        results = [block for block in blocks if isinstance(block, dict) and block["type"] == "tool_result"]
        return [(result["content"], result.get("is_error", False)) for result in results]


def test_anthropics_tool_runner_drives_it(files):
    """What the model asks for is done, and it is told so, errors as errors."""
    model = Model()
    with anthropic.Anthropic(api_key="none", http_client=httpx2.Client(transport=model.transport)) as client:
        runner = client.beta.messages.tool_runner(**GO, tools=[memory_tool(files)])
        assert runner.until_done().content[0].text == "done"
    assert model.seen[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    assert model.told() == TOLD


def test_without_the_sdk_the_files_work_and_the_tool_says_what_is_missing(files, monkeypatch):
    """The handler needs no package."""
    monkeypatch.setitem(sys.modules, "anthropic.lib", None)
    assert files.run({"command": "create", "path": "/memories/a", "file_text": "x"})
    with pytest.raises(MissingExtra, match="anthropic"):
        memory_tool(files)
