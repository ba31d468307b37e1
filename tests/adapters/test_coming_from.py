"""docs/coming-from.md: every line of ours runs."""

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parent.parent.parent / "docs" / "coming-from.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(.+)` \| `(.+)` \|$", re.MULTILINE)
SETUP = re.compile(r"```python\n(.*?)```", re.DOTALL)
INTRODUCTION, *SECTIONS = PAGE.split("\n## ")


def title(section):
    """A section's first line."""
    return section.partition("\n")[0]


def run(section, side, names):
    """What each line of one side of a section's table gives, after what the section defines."""
    for setup in SETUP.findall(section):
        exec(setup, names)
    outcomes = []
    for line in (row[side] for row in ROW.findall(section)):
        try:
            outcomes.append((line, eval(line, names)))
        except SyntaxError:
            exec(line, names)
    return outcomes


@pytest.fixture
def names(tmp_path, monkeypatch):
    """What the page's first lines define, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for setup in SETUP.findall(INTRODUCTION):
        exec(setup, names)
    yield names
    names["memory"].close()


def test_every_row_has_two_sides():
    """No row of a table is left untried."""
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|---")]
    assert len(ROW.findall(PAGE)) == len(rows) - len(SECTIONS)
    assert len(SECTIONS) == 3


@pytest.mark.parametrize("section", SECTIONS, ids=title)
def test_our_side_runs(section, names):
    """From top to bottom; what is asked for is found."""
    for line, outcome in run(section, 1, names):
        if re.match(
            r"(memory|memory\.user\(.+\)|store|items)\.(search|recall|messages|get|versions|sessions|namespaces)",
            line,
        ):
            assert outcome, line


def test_langgraphs_side_runs_on_the_store(names):
    """The lines that are a store's; LangMem's own need LangMem and a model."""
    (section,) = (section for section in SECTIONS if title(section).startswith("LangMem"))
    section = re.sub(r"^\| `(?!store\.).*\n", "", section, flags=re.MULTILINE)
    assert len(ROW.findall(section)) == 7
    for line, outcome in run(section, 0, names):
        assert outcome or not re.match(r"store\.(search|get|list)", line), line
