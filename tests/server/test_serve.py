"""`zibaldone serve` as a process: what it says, how it ends, and what it has stored when it is killed."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx2
import pytest
from typer.testing import CliRunner
from upstream import shared_upstream, upstream

from processes import family, is_running
from zibaldone import Memory
from zibaldone.cli.app import app

__all__ = ["shared_upstream", "upstream"]
COMMAND = [sys.executable, "-c", "from zibaldone.cli.app import app; app()", "serve", "--port", "0"]
START_S = 60


@contextmanager
def serving_process(memory_path, *args, **environment):
    """A server of its own; gives the process and its base URL."""
    memory_path.mkdir(exist_ok=True)
    log = memory_path.with_name("log")  # a pipe that nobody reads would stop the server
    with log.open("w") as errors:
        process = subprocess.Popen(
            [*COMMAND, *args],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "ZIBALDONE_MEMORY": str(memory_path), **environment},
        )
    try:
        line = process.stdout.readline()
        if not line:
            raise AssertionError(log.read_text())
        base = re.search(r"http://\S+", line)[0]
        until = time.monotonic() + START_S
        while True:
            with suppress(httpx2.TransportError):
                httpx2.get(f"{base}/healthz").raise_for_status()
                break
            assert time.monotonic() < until
            time.sleep(0.02)
        yield process, base
    finally:
        process.kill()
        process.communicate()


def refused(memory_path, *args):
    """The exit code and the words of a server that does not start."""
    done = CliRunner().invoke(app, ["serve", "--port", "0", *args, "--memory", str(memory_path)])
    return done.exit_code, done.stderr


@pytest.mark.wide
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_its_processes_end_with_it(memory_path, end):
    """However it ends: those that recall for its gateway have nobody to answer any more."""
    upstream = ("--upstream", "http://127.0.0.1:9/v1", "--processes", "2")
    with serving_process(memory_path, *upstream) as (process, _):
        own, *others = family(process.pid)
        assert (own, len(others)) == (process.pid, 2)
        process.send_signal(end)
        assert process.wait(30) == (0 if end == signal.SIGTERM else -end)
        until = time.monotonic() + 30
        while any(is_running(pid) for pid in others):
            assert time.monotonic() < until
            time.sleep(0.02)


def test_it_says_where_and_for_whom_and_ends_in_order(memory_path):
    """Address, folder, keys, upstream; on SIGTERM it answers what is under way and closes the memory."""
    with serving_process(memory_path) as (process, base):
        answer = httpx2.post(
            f"{base}/v1/memory/messages",
            params={"user": "ann"},
            json={"messages": [{"content": "the eagle lands at midnight"}]},
        )
        assert answer.status_code == 201
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        words = memory_path.with_name("log").read_text()
    assert str(memory_path) in words
    assert "no keys" in words
    assert "stopped" in words
    assert "eagle" not in words
    assert "Traceback" not in words
    assert not list(memory_path.glob("*-wal"))  # the last connection was closed in order
    with Memory(memory_path) as memory:
        assert len(memory.messages(user="ann")) == 1


UPSTREAM = ("--upstream", "http://127.0.0.1:1/v1")
REFUSED = [
    (("--port", "99999"), "error: port must be a number from 0 to 65535, not 99999"),
    (("--host", "0.0.0.0"), "zibaldone keys create"),
    ((*UPSTREAM, "--upstream-key-env", "NO_SUCH_KEY"), "NO_SUCH_KEY"),
    (("--notes-model", "reader"), "give --upstream"),
    (("--port", "taken"), "choose another"),
]


@pytest.mark.parametrize(("given", "words"), REFUSED)
def test_what_cannot_be_served_is_refused(memory_path, shared_client, given, words):
    """A sentence that says what to do, without a traceback."""
    given = [str(shared_client.base_url.port) if word == "taken" else word for word in given]
    code, told = refused(memory_path, *given)
    assert code == 2
    assert words in told
    assert "Traceback" not in told


@pytest.mark.wide
def test_killed_under_load_it_has_all_that_it_acknowledged(memory_path):
    """Kill -9 while eight clients add: every message whose 201 arrived is there, word for word."""
    acknowledged: dict[str, str] = {}
    enough = threading.Event()
    with serving_process(memory_path) as (process, base):

        def add(client_number):
            with httpx2.Client(base_url=base) as client, suppress(httpx2.TransportError):
                for number in range(10_000):
                    message = {
                        "id": f"{client_number}-{number}",
                        "content": f"Fact {number} of {client_number}.",
                    }
                    answer = client.post(
                        "/v1/memory/messages",
                        params={"user": f"user{client_number % 3}"},
                        json={"messages": [message]},
                    )
                    assert answer.status_code == 201
                    acknowledged[message["id"]] = message["content"]
                    if len(acknowledged) >= 200:
                        enough.set()

        with ThreadPoolExecutor(8) as clients:
            done = [clients.submit(add, number) for number in range(8)]
            assert enough.wait(60)
            process.kill()
            for future in done:
                future.result()
    with Memory(memory_path) as memory:
        assert memory.admin.check().ok
        stored = {
            message.id: message.content for user in memory.users() for message in memory.messages(user=user)
        }
    assert acknowledged.items() <= stored.items()


def test_open_says_where_the_page_is_and_opens_the_browser(memory_path, monkeypatch):
    """At a port that is free, at the user who is named; and it ends as a server does."""
    import webbrowser

    from zibaldone.server import app as server_app

    opened = threading.Event()
    addresses = []
    monkeypatch.setattr(webbrowser, "open", lambda address: (addresses.append(address), opened.set()))
    monkeypatch.setattr(server_app, "serve_until_stopped", lambda *_: opened.wait(START_S))
    done = CliRunner().invoke(app, ["open", "--port", "0", "--user", "ann b", "--memory", str(memory_path)])
    assert done.exit_code == 0, done.output
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?user=ann\+b", addresses[0])
    assert addresses[0] in done.stdout
    assert str(memory_path) in done.stderr


def test_open_takes_another_port_where_a_server_runs(memory_path, shared_client, monkeypatch):
    """Unless it was told which one; with --no-browser nothing is opened."""
    import webbrowser

    from zibaldone.cli import serve
    from zibaldone.server import app as server_app

    taken = shared_client.base_url.port
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail(address))
    monkeypatch.setattr(server_app, "serve_until_stopped", lambda *_: None)
    monkeypatch.setattr(serve, "_USUAL_PORT", taken)
    done = CliRunner().invoke(app, ["open", "--no-browser", "--memory", str(memory_path)])
    assert done.exit_code == 0, done.output
    assert f":{taken}/" not in done.stdout
    refused_ = CliRunner().invoke(app, ["open", "--port", str(taken), "--memory", str(memory_path)])
    assert refused_.exit_code == 2


@pytest.mark.wide
def test_a_model_of_the_upstream_reads_for_notes(memory_path, upstream):
    """Where the owner names one, and no other."""
    upstream.says('{"notes": [], "ended": []}')
    given = ("--upstream", upstream.url, "--notes-model", "reader", "--processes", "0")
    with serving_process(memory_path, *given) as (_, base):
        told = {"messages": [{"content": "The party moved to the 10th."}]}
        httpx2.post(f"{base}/v1/memory/messages", params={"user": "ann"}, json=told).raise_for_status()
        httpx2.post(f"{base}/v1/memory/maintain", params={"user": "ann"}, json={}).raise_for_status()
    assert upstream.last.json["model"] == "reader"
    assert "The party moved to the 10th." in str(upstream.last.json["messages"])
