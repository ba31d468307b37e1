"""Writing small files and reading them back."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from exports import read_file
from zibaldone import Memory
from zibaldone.errors import InvalidImport
from zibaldone.importers.base import Conversation

Write = Callable[[object], Path]
Read = Callable[[object], list[Conversation]]


@pytest.fixture
def write(tmp_path):
    """Turns bytes, text or a JSON value into a file whose name says nothing."""

    def write(content: object) -> Path:
        path = tmp_path / "file"
        if not isinstance(content, bytes):
            content = (content if isinstance(content, str) else json.dumps(content)).encode()
        path.write_bytes(content)
        return path

    return write


@pytest.fixture
def read(write):
    """The conversations of a file of this content, whose format is recognised."""
    return lambda content: list(read_file(write(content)))


@pytest.fixture
def fault(write):
    """What is said of a file that cannot be imported, without the path in front."""

    def fault(content: object, format: str | None = None) -> str:  # noqa: A002
        path = write(content)
        with pytest.raises(InvalidImport) as caught:
            read_file(path, format)
        said = str(caught.value)
        assert str(path) in said
        return said.removeprefix(f"{path}: ")

    return fault


@pytest.fixture
def memory(tmp_path):
    """An empty one."""
    with Memory(tmp_path / "memory") as opened:
        yield opened


@pytest.fixture
def archive(tmp_path):
    """A ZIP archive of these files, whose values are JSON, text or bytes."""

    def archive(files):
        with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as made:
            for inner, content in files.items():
                made.writestr(inner, content if isinstance(content, str | bytes) else json.dumps(content))
        return tmp_path / "export.zip"

    return archive
