"""What the package tells people to install is what its own distribution offers."""

import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

import zibaldone
from zibaldone import Config, Memory, MissingExtra, OpenAIChat

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


@pytest.mark.parametrize(
    ("module", "extra", "needing"),
    [
        ("openai", "openai", lambda _: OpenAIChat("gpt", api_key="k")),
        ("fastembed", "neural", lambda folder: Memory(folder, embedder="fastembed:m")),
        ("fastembed", "neural", lambda folder: Memory(folder, reranker="fastembed:m")),
        ("obstore.store", "s3", lambda folder: Memory(folder, config=Config(blocks="s3://bucket/x"))),
        ("sqlcipher3", "encryption", lambda folder: Memory(folder, key=bytes(32))),
        (
            "cryptography.hazmat.primitives.ciphers.aead",
            "encryption",
            lambda folder: Memory(folder, key=bytes(32)),
        ),
    ],
)
def test_what_is_not_installed_names_its_extra(tmp_path, monkeypatch, module, extra, needing):
    """The error is typed; where it is a key's, no folder is made that would be plain."""
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'zibaldone\[{extra}\]'"):
        needing(tmp_path / "memory")
    assert extra != "encryption" or not (tmp_path / "memory").exists()
