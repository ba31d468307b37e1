"""Tables on terminals of any width, and in pipes: no date is broken, nothing is lost."""

import json
import re
from functools import cache

import pytest
from rich.cells import cell_len
from typer.testing import CliRunner

from zibaldone.cli.app import app

WIDTHS = (40, 60, 80, 100, 200)
TALK = [
    {
        "session": "0f9b2c1e-7a35-4a51-9f4c-1c2d3e4f5a6b",
        "name": "Ann",
        "content": "The rent of the flat by the harbour, with green shutters, is 900 euros a month.",
        "time": "2024-01-02T09:00",
    },
    {"session": "2", "role": "assistant", "content": "A rent of 900 it is.", "time": "2024-01-02T09:01"},
    {
        "session": "3",
        "name": "Ann",
        "content": "I prefer rye bread.\nThe rent is 950 now.",
        "time": "2024-05-06",
    },
    {"session": "3", "name": "李小龍", "content": "租金" * 40, "time": "2024-05-07"},
]
COMMANDS = ("search rent", "sessions", "notes", "recall rent --why", "build timeline")
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a command writes, for a terminal of a width or for a pipe; no test changes the memory."""
    memory = {"ZIBALDONE_MEMORY": str(tmp_path_factory.mktemp("widths") / "memory")}
    lines = "\n".join(map(json.dumps, TALK))
    assert CliRunner().invoke(app, ["import", "-"], input=lines, env=memory).exit_code == 0

    @cache
    def shown(command, width=None):
        terminal = {"COLUMNS": str(width), "TTY_COMPATIBLE": "1"} if width else {}
        done = CliRunner().invoke(app, command.split(), env={**memory, **terminal})
        assert done.exit_code in (0, 1), done.output
        return STYLE.sub("", done.stdout)

    return shown


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", [name for name in COMMANDS if "timeline" not in name])
def test_every_table_fits(shown, command, width):
    """No line is longer than the terminal, but those of a recalled text, which is word for word."""
    table = shown(command, width).partition("aim ")[2] if "--why" in command else shown(command, width)
    assert [line for line in table.splitlines() if cell_len(line.rstrip()) > width] == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_date_is_broken(shown, command, width):
    """A date stands in one line, as often as it does where there is room for everything."""

    def dates(text):
        return sorted(re.findall(r"\d{4}-\d\d-\d\d", text))

    assert dates(shown(command, width)) == dates(shown(command, 400))


@pytest.mark.parametrize("width", WIDTHS)
def test_no_word_is_lost(shown, width):
    """Whatever the width, each row has all that it has elsewhere; no word of it and no name is broken."""
    words = shown("search rent", width).split()
    for word in ("shutters,", "0f9b2c1e-7a35-4a51-9f4c-1c2d3e4f5a6b", "950", "李小龍", "2024-05-07"):
        assert word in words


def test_a_pipe_gets_a_line_for_each_row(shown):
    """With tabs, whatever COLUMNS says: nothing is wrapped or cut to fit, and no line break gets in."""
    header, *rows = shown("search rent").splitlines()
    assert header.split("\t") == ["rank", "date", "session", "messages", "speaker", "text"]
    assert len(rows) >= 3
    assert {len(row.split("\t")) for row in rows} == {6}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row.split("\t")[1]) for row in rows)
