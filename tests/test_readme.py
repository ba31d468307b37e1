"""The README's example runs as it stands."""

import doctest
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_example_of_the_readme_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader who pastes the example gets the output that stands there."""
    monkeypatch.chdir(tmp_path)
    failures, tried = doctest.testfile(str(README), module_relative=False)
    assert tried >= 5
    assert failures == 0
