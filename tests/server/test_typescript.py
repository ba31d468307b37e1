"""The TypeScript client: generated from this server's OpenAPI document, and driven against it by node."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.openapi import digest, text
from zibaldone.testing import ScriptedModel

ROOT = Path(__file__).parent.parent.parent
CLIENT = ROOT / "clients" / "typescript"


def test_what_is_generated_is_of_today_s_document():
    """Else: `npm run generate` in clients/typescript."""
    for made in ("openapi.d.ts", "routes.js"):
        first = (CLIENT / "src" / made).read_text(encoding="utf-8").partition("\n")[0]
        assert first.endswith(digest()), f"{made}: run 'npm run generate' in clients/typescript"


def test_every_operation_has_a_method():
    """The client calls each by its name, and none that is not there."""
    called = set(re.findall(r'#(?:call|stream)\("(\w+)"', (CLIENT / "src" / "index.js").read_text("utf-8")))
    paths = json.loads(text())["paths"].values()
    assert called == {operation["operationId"] for path in paths for operation in path.values()}


@pytest.mark.wide
def test_the_client_works_against_a_server(serving):
    """Its own tests, by node, without anything installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH")
    answer = '{"answer": "In Lisbon.", "sources": [1]}'
    address = serving(chat=ScriptedModel(lambda request: answer))
    environment = {**os.environ, "ZIBALDONE_URL": address}
    command = [node, "--test", "--test-reporter=tap"]
    done = subprocess.run(command, cwd=CLIENT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# skipped 0" in done.stdout


@pytest.mark.wide
def test_the_example_of_the_page_works(serving, tmp_path):
    """That of docs/serving.md, as it stands but for where the client and the server are."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node on the PATH")
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```ts\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    example = example.replace('"zibaldone"', f'"{CLIENT / "src" / "index.js"}"')
    example = example.replace("http://127.0.0.1:8787", serving())
    (tmp_path / "example.mjs").write_text(example, encoding="utf-8")
    done = subprocess.run([node, tmp_path / "example.mjs"], capture_output=True, text=True, timeout=60)
    assert "I moved to Lisbon in May." in done.stdout, done.stderr
