"""What the README and the pages show: Python runs as it is pasted, shell lines are what the programs take."""

import argparse
import contextlib
import io
import json
import re
import runpy
import shlex
import sys
import tomllib
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path

import pytest
import typer
from openai import OpenAI
from typer.testing import CliRunner

import zibaldone
from zibaldone import Memory, OpenAIChat, errors
from zibaldone.cli.app import app
from zibaldone.testing import FakeOpenAIServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

ROOT = Path(__file__).parent.parent
OTHERWISE_TESTED = {"adapters.md", "coming-from.md", "kv.md"}
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
EXAMPLES = {
    page: examples
    for page, text in PAGES.items()
    if page.rpartition("/")[2] not in OTHERWISE_TESTED and (examples := EXAMPLE.findall(text))
}


@pytest.fixture
def model(monkeypatch):
    """A model server that says the last thing that it was told, where OpenAI's client looks for one."""
    with FakeOpenAIServer(lambda body: f"I heard: {body['messages'][-1]['content']}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def run_examples(page):
    """One after the other, as a reader pastes them, in this folder; each prints what the page says."""
    names = {"__name__": "__main__"}
    for code, output in EXAMPLES[page]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        if output:
            assert printed.getvalue() == output
    for opened in [value for value in names.values() if isinstance(value, (Memory, OpenAI, OpenAIChat))]:
        opened.close()


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_run_and_print_what_the_page_says(page, model, tmp_path, monkeypatch):
    """In an empty folder."""
    monkeypatch.chdir(tmp_path)
    run_examples(page)


def test_the_pages_with_examples_are_known():
    """None of the pages that a reader begins with has lost them."""
    assert {"README.md", "docs/tutorial.md", "docs/concepts.md", "docs/extending.md"} <= set(EXAMPLES)


def test_a_part_of_one_s_own_is_under_sixty_lines():
    """An embedder, a reranker and a view, each with its use."""
    assert [len(code.splitlines()) < 60 for code, _ in EXAMPLES["docs/extending.md"]] == [True] * 3


FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shell(text: str) -> Iterator[list[str]]:
    """The words of each shell line in a page's blocks, and of each command named in its text."""
    outside = FENCE.sub("", text)
    lines = re.findall(r"^    (\S.*)$", outside, re.MULTILINE)
    lines += re.findall(r"`((?:zibaldone|make|python -m) \S[^`\n]*)`", outside)
    for kind, block in FENCE.findall(text):
        lines += block.replace("\\\n", " ").splitlines() if kind == "bash" else []
    for line in lines:
        for part in re.split(r" (?:&&|\|) |; ", line.partition(" #")[0].strip()):
            with contextlib.suppress(ValueError):  # a line of a file, not of a shell
                words = list(dropwhile(re.compile(r"[A-Z_]+=").match, shlex.split(part)))
                if words[:1] in (["zibaldone"], ["make"]) or words[:2] == ["python", "-m"]:
                    yield words


COMMANDS = sorted({(page, tuple(words)) for page, text in PAGES.items() for words in shell(text)})


def of(program: str) -> list[tuple[str, ...]]:
    """The lines that begin so, each once."""
    return sorted({words for _, words in COMMANDS if words[: len(program.split())] == tuple(program.split())})


@pytest.mark.parametrize("words", of("zibaldone"), ids=shlex.join)
def test_each_command_of_ours_is_taken(words):
    """Commands exist, and so do their options and arguments; nothing is run."""
    named, command, arguments, context = words[0], typer.main.get_command(app), list(words[1:]), None
    while arguments and not {"...", "COMMAND"} & set(arguments):  # else it is spoken of, not shown
        try:
            context = command.make_context(named, arguments, parent=context)
        except (SystemExit, typer.Exit):  # done already, such as --help
            return
        arguments = []
        if hasattr(command, "commands"):
            named, command, arguments = command.resolve_command(
                context, [*context._protected_args, *context.args]
            )


@pytest.mark.filterwarnings("ignore:.* found in sys.modules")  # where another test has it loaded
@pytest.mark.parametrize("words", of("python -m"), ids=shlex.join)
def test_each_benchmark_is_taken(words, monkeypatch):
    """The module exists, and takes these arguments; nothing is run."""

    class Taken(Exception):
        pass

    def parse(parser, *arguments, parse=argparse.ArgumentParser.parse_args):
        parse(parser, *arguments)
        raise Taken

    def take(main):
        program = typer.Typer()
        program.command()(main)
        typer.main.get_command(program).make_context(words[2], list(words[3:]))
        raise Taken

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse)
    monkeypatch.setattr(typer, "run", take)
    monkeypatch.setattr(sys, "argv", list(words[2:]))
    monkeypatch.setattr(Path, "write_text", lambda *_, **__: None)  # benchmarks.page takes no arguments
    with contextlib.suppress(Taken):
        runpy.run_module(words[2], run_name="__main__", alter_sys=True)


def test_each_configuration_is_read_by_its_programs():
    """Blocks of TOML and JSON are such, whatever stands in them."""
    readers = {"toml": tomllib.loads, "json": json.loads}
    blocks = [block for text in PAGES.values() for block in FENCE.findall(text) if block[0] in readers]
    assert {kind for kind, _ in blocks} == set(readers)
    assert all(isinstance(readers[kind](block), dict) for kind, block in blocks)


def test_each_make_line_has_its_target():
    """In the Makefile."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {words[1] for words in of("make")} <= set(targets)


SAID = [
    "My piano tuner is called Ludo.",
    "I live in Ulm.",
    "I prefer tea to coffee.",
    "I work at the harbour office.",
    "My appointment at the dentist is on Tuesday.",
    "My knee hurts since the marathon in Trondheim.",
]


def history(folder: Path) -> None:
    """An export to import."""
    said = [
        {"role": "user", "content": text, "session": "6842-a", "time": f"2023-02-0{n}"}
        for n, text in enumerate(SAID, 1)
    ]
    said.append({"role": "user", "content": "It rains.", "session": "1", "time": "2019-01-01"})
    of_ben = {"role": "user", "name": "Ben Weiss", "content": "My cough is back.", "session": "1"}
    said.append(of_ben | {"time": "2023-03-01"})
    lines = "".join(json.dumps(message) + "\n" for message in said)
    (folder / "export.zip").write_text(lines, encoding="utf-8")  # told by its content


def erasure(folder: Path) -> None:
    """A memory with something to forget, and a backup without it."""
    with Memory(folder / "memory") as memory:
        memory.add([{"content": text, "session": "health"} for text in SAID], user="ann")
    (folder / "backup").mkdir()


# Pages whose lines are a story: run one after the other, behind what the page or this sets up.
STORIES = {
    "docs/tutorial.md": None,
    "docs/history.md": history,
    "docs/erasure.md": erasure,
    "docs/assistants.md": None,
    "docs/rebuilding.md": None,
}
NEEDS_MORE = {"open", "serve", "mcp", "ask"}  # a browser, a port, a model


@pytest.mark.parametrize(
    "page",
    [
        page if number == 0 else pytest.param(page, marks=pytest.mark.wide)
        for number, page in enumerate(STORIES)
    ],
)
def test_the_lines_of_a_story_work(page, model, tmp_path, monkeypatch):
    """Each ends well, in the order of the page."""
    monkeypatch.chdir(tmp_path)
    if (prepare := STORIES[page]) is None:
        run_examples(page)
    else:
        prepare(tmp_path)
    user = {"ZIBALDONE_USER": "ann"} if page == "docs/tutorial.md" else {}
    blocks = re.findall(r"^    (zibaldone\b.*)$", PAGES[page], re.MULTILINE)
    lines = [line for line in blocks if not NEEDS_MORE & set(line.split()[1:2]) and "--shred" not in line]
    assert len(lines) >= 3
    for line in lines:
        words = shlex.split(line, comments=True)
        asks = {"forget", "retention"} & set(words) and not {"--verify", "--dry-run"} & set(words)
        if asks:  # nobody is there to be asked
            words.append("--yes")
        done = CliRunner().invoke(app, words[1:], env={"ZIBALDONE_MEMORY": "memory", **user})
        assert done.exit_code == 0, f"{line}: {done.output}"


def test_every_public_name_is_in_the_reference():
    """But for the twins that are awaited, which have the same methods; errors are one page."""
    named = set(re.findall(r"^::: zibaldone\.(\w+)$", "\n".join(PAGES.values()), re.MULTILINE))
    public = {name for name in zibaldone.__all__ if not hasattr(errors, name)}
    assert {name for name in public if not name.startswith("Async")} <= named


def test_no_page_needs_the_network():
    """No drawing that a browser must fetch a library for, no picture from elsewhere."""
    for page, text in PAGES.items():
        assert "```mermaid" not in text, page
        assert not re.search(r"!\[[^\]]*\]\(https?:|<(?:img|script|iframe|link)\b", text), page
    for drawing in (ROOT / "docs").rglob("*.svg"):
        assert not re.search(r"href|url\(|@import", drawing.read_text(encoding="utf-8")), drawing


def test_a_site_that_would_fetch_is_not_built():
    """By the hook of mkdocs.yml: a script, a font, a drawing library; a link is only clicked."""
    pytest.importorskip("mkdocs")
    outside = runpy.run_path(str(ROOT / "tools" / "site_offline.py"))["outside"]
    assert outside('<script defer src="https://cdn.example/x.js">')
    assert outside("<link href=//fonts.example/a.css rel=stylesheet>")
    assert outside('<pre class="mermaid">')
    assert outside("@import 'https://fonts.example/a.css'")
    assert not outside(
        '<a href="https://example.org">x</a><link rel="canonical" href="https://example.org/">'
    )
