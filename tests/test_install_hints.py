"""What the package tells people to install is what its own distribution offers."""

import re
from importlib.metadata import metadata
from pathlib import Path

import pytest

import zibaldone

ROOT = Path(__file__).parent.parent
# Also where a hint is broken between two lines of a string.
HINT = re.compile(r"""pip install\s+(?:-U\s+)?(?:"\s*f?")?['"]?([A-Za-z][\w.-]*)(?:\[([\w,-]+)\])?""")
FILES = [*Path(zibaldone.__file__).parent.rglob("*.py"), ROOT / "README.md", *(ROOT / "docs").glob("*.md")]


def hints() -> list[tuple[Path, str, list[str]]]:
    """Every (file, distribution, extras) that a `pip install` in a message or a page names."""
    found = []
    for path in FILES:
        for name, extras in HINT.findall(path.read_text(encoding="utf-8")):
            found.append((path, name, extras.split(",") if extras else []))
    return found


def test_there_are_hints():
    """The pattern finds what it is meant to hold."""
    assert len({path for path, _, _ in hints()}) > 5
    assert {extra for _, _, extras in hints() for extra in extras} >= {"kv", "openai", "server"}


@pytest.mark.parametrize(("path", "name", "extras"), hints(), ids=lambda value: getattr(value, "name", ""))
def test_a_hint_installs_this_project(path, name, extras):
    """Each names this distribution, and extras that it has: nobody installs a stranger's code."""
    ours = metadata("zibaldone")
    assert name == ours["Name"]
    assert set(extras) <= set(ours.get_all("Provides-Extra"))
