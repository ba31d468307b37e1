"""The command line on a folder of the test's own."""

import json

import pytest
from typer.testing import CliRunner

from zibaldone.cli.app import app


@pytest.fixture
def run(tmp_path):
    """Runs a command that ends with this exit code, and without a traceback."""
    runner = CliRunner(env={"ZIBALDONE_MEMORY": str(tmp_path / "memory")})

    def run(*words, code=0, stdin=None, **env):
        done = runner.invoke(app, [str(word) for word in words], input=stdin, env=env)
        assert done.exit_code == code, done.output
        assert "Traceback" not in done.output
        return done

    return run


@pytest.fixture
def add_all(run):
    """Stores messages, each a text or an object."""

    def add_all(messages, **env):
        objects = (one if isinstance(one, dict) else {"content": one} for one in messages)
        run("import", "-", stdin="\n".join(map(json.dumps, objects)), **env)
        return run

    return add_all
