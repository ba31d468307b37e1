"""zibaldone ask on the command line: the answer, its sources, and what stands in where a model fails."""

import json

import pytest
from typer.testing import CliRunner

from zibaldone.cli.app import app
from zibaldone.testing import FakeOpenAIServer, Misbehaviour

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]
RENT = "The rent of the flat is 900 a month."


@pytest.fixture
def server():
    """A model that looks once and answers."""
    said = iter(({"queries": [{"query": "rent"}]}, {"answer": "900", "sources": [1]}))
    with FakeOpenAIServer(lambda _: next(said)) as running:
        yield running


@pytest.fixture
def run(tmp_path, server):
    """Runs a command on a memory of one message, with that model."""
    env = {
        "ZIBALDONE_MEMORY": str(tmp_path / "memory"),
        "ZIBALDONE_CHAT_MODEL": "m",
        "ZIBALDONE_CHAT_BASE_URL": server.base_url,
        "ZIBALDONE_CHAT_API_KEY": "k",
    }

    def run(*words, code=0, **more):
        done = CliRunner(env={**env, **more}).invoke(app, list(words))
        assert done.exit_code == code, done.output
        assert "Traceback" not in done.output
        return done

    run("add", RENT, "--time", "2024-01-02T09:00")
    return run


def test_an_answer_stands_above_its_sources(run):
    """The looks, on standard error, only when they are asked for."""
    done = run("ask", "What is the rent?", "--steps")
    assert done.stdout.startswith("900\n")
    assert f"[1] 2024-01-02, session default: {RENT}" in done.stdout
    assert "1. looks for 'rent'" in done.stderr
    assert "2. answers" in done.stderr
    assert "2 requests to the model" in done.stderr


def test_json_has_all_of_it(run):
    """The answer, the citations, the evidence and the steps."""
    printed = json.loads(run("ask", "What is the rent?", "--json").stdout)
    assert (printed["text"], printed["known"], printed["marks"]) == ("900", True, [])
    assert printed["citations"][0]["seq"] == 1
    assert printed["evidence"]["evidence"][0]["text"] == RENT
    assert [len(step["queries"]) for step in printed["steps"]] == [0, 1, 0]


def test_a_failing_model_leaves_what_was_recalled(run, server):
    """With a line why, and the exit code of a model that failed."""
    server.always = Misbehaviour.UNAUTHORISED
    done = run("ask", "What is the rent?", code=4)
    assert RENT in done.stdout
    assert "Incorrect API key" in done.stderr


def test_what_memory_does_not_hold_has_its_own_exit_code(run, server):
    """That of nothing found, with what the model says of it."""
    server.answer = lambda _: {"answer": "No cat is mentioned.", "known": False}
    assert "No cat is mentioned." in run("ask", "What is my cat called?", code=1).stdout


def test_without_a_model_the_setting_is_named(run):
    """There is nothing that could answer."""
    assert "ZIBALDONE_CHAT_MODEL" in run("ask", "What is the rent?", code=2, ZIBALDONE_CHAT_MODEL="").stderr
