"""The Python of the README and of the pages runs as it is pasted, and prints what stands below it."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from zibaldone.testing import FakeOpenAIServer

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]

ROOT = Path(__file__).parent.parent
OTHERWISE_TESTED = {"adapters.md", "coming-from.md", "kv.md"}
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = {
    path.relative_to(ROOT).as_posix(): examples
    for path in PAGES
    if path.name not in OTHERWISE_TESTED and (examples := EXAMPLE.findall(path.read_text(encoding="utf-8")))
}


@pytest.fixture
def model(monkeypatch):
    """A model server that says the last thing that it was told, where OpenAI's client looks for one."""
    with FakeOpenAIServer(lambda body: f"I heard: {body['messages'][-1]['content']}") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_run_and_print_what_the_page_says(page, model, tmp_path, monkeypatch):
    """One after the other, as a reader pastes them, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for code, output in EXAMPLES[page]:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page, "exec"), names)
        if output:
            assert printed.getvalue() == output
    for opened in ("memory", "home", "themed", "model"):
        if hasattr(names.get(opened), "close"):
            names[opened].close()


def test_the_pages_with_examples_are_known():
    """The README, the tutorial and the concepts have some."""
    assert {"README.md", "docs/tutorial.md", "docs/concepts.md"} <= set(EXAMPLES)
