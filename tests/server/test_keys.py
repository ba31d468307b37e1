"""Keys: made, listed and revoked on the command line; what is stored of them; what a running server does."""

import hmac
import json
import sqlite3

import httpx2
import pytest
from typer.testing import CliRunner

from zibaldone import InvalidInput, Memory
from zibaldone.cli.app import app
from zibaldone.server.keys import PREFIX, KeyStore
from zibaldone.testing import FrozenClock


@pytest.fixture
def keys(memory_path):
    """The keys of an empty folder."""
    store = KeyStore(memory_path, clock=FrozenClock())
    yield store
    store.close()


def run(*args, memory_path):
    """The command line's answer."""
    return CliRunner().invoke(app, ["keys", *args, "--memory", str(memory_path)])


def test_no_other_token_opens(keys):
    """Neither another's secret, nor the beginning of one, nor none, nor what is no token at all."""
    one, other = keys.create(user="ann").token, keys.create(user="bob").token
    key_id, secret = one.removeprefix(PREFIX).split("_", 1)
    crossed = f"{PREFIX}{key_id}_{other.removeprefix(PREFIX).split('_', 1)[1]}"
    for token in (
        crossed,
        one[:-1],
        one + "x",
        f"{PREFIX}{key_id}_",
        f"{PREFIX}{key_id}",
        secret,
        "",
        "é\udcff",
    ):
        assert keys.authenticate(token) is None, token


def test_the_secret_is_nowhere(keys, memory_path):
    """No file of the folder has it: a copy of the folder opens nothing."""
    token = keys.create(user="ann").token
    keys.authenticate(token)
    keys.close()
    secret = token.removeprefix(PREFIX).split("_", 1)[1].encode()
    assert all(secret not in file.read_bytes() for file in memory_path.rglob("*") if file.is_file())


def test_digests_are_compared_in_constant_time(keys, monkeypatch):
    """For an unknown id too, so that time tells nothing."""
    compared = []
    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", lambda *given: compared.append(given) or real(*given))
    keys.authenticate(keys.create(user="ann").token)
    keys.authenticate(f"{PREFIX}000000000000_secret")
    assert [len(digest) for pair in compared for digest in pair] == [64] * 4


@pytest.mark.parametrize(
    "given",
    [
        {"user": ""},
        {"user": None, "agent": "notes"},
        {"user": "ann", "agent": ""},
        {"user": "ann", "memory_mode": "tools"},
    ],
)
def test_keys_that_cannot_be(keys, given):
    """A key of nobody, or of an agent of everybody."""
    with pytest.raises(InvalidInput):
        keys.create(**given)


def test_making_keys_on_the_command_line(memory_path):
    """The token alone is on standard output; the list never has it."""
    options = ("--user", "ann", "--read-only", "--memory-mode", "tool")
    created = run("create", *options, memory_path=memory_path)
    token = created.stdout.strip()
    assert token.startswith(PREFIX)
    listed = run("list", memory_path=memory_path)
    assert token.rsplit("_", 1)[1] not in listed.stdout
    (key,) = json.loads(run("list", "--json", memory_path=memory_path).stdout)
    assert (key["user"], key["read_only"], key["revoked"], key["memory_mode"]) == ("ann", True, None, "tool")
    assert run("revoke", key["id"], memory_path=memory_path).exit_code == 0
    assert run("revoke", "nonsense", memory_path=memory_path).exit_code == 2
    assert json.loads(run("list", "--json", memory_path=memory_path).stdout)[0]["revoked"]


@pytest.mark.parametrize("args", [[], ["--user", "ann", "--admin"]])
def test_a_key_is_for_one_user_or_for_all(memory_path, args):
    """One of the two is said; nothing is the default of what opens everything."""
    assert run("create", *args, memory_path=memory_path).exit_code == 2


def test_a_revoked_key_is_refused_at_once(serving, make_key, memory_path):
    """In the very next request of a server that has just taken it, though another process revoked it."""
    token = make_key("ann")
    with httpx2.Client(base_url=serving(), headers={"X-Memory-Key": token}) as client:
        assert client.get("/v1/memory/messages").status_code == 200
        run("revoke", token.split("_")[1], memory_path=memory_path)
        answer = client.get("/v1/memory/messages")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_without_its_last_key_a_server_stays_shut(serving, make_key, memory_path):
    """Revoking all keys lets nobody in; it does not let everybody in."""
    token = make_key("ann")
    run("revoke", token.split("_")[1], memory_path=memory_path)
    assert httpx2.get(f"{serving()}/v1/memory/users").status_code == 401


def test_keys_outlive_a_forgetting(keys, memory_path):
    """Forgetting everything of a user leaves the key: it opens what comes then."""
    token = keys.create(user="ann").token
    with Memory(memory_path) as memory:
        memory.add("A secret.", user="ann")
        memory.forget(user="ann", everything=True)
    assert keys.authenticate(token)


def test_keys_of_before_have_no_mode_of_their_own(memory_path, make_key):
    """A folder whose table lacks the column gets it, and its keys open as they did."""
    token = make_key("ann")
    (file,) = memory_path.glob("*.sqlite3")
    with sqlite3.connect(file) as connection:
        connection.execute("ALTER TABLE server_keys DROP COLUMN memory_mode")
        connection.execute("DELETE FROM migrations WHERE number > 100")
    connection.close()
    store = KeyStore(memory_path)
    assert store.authenticate(token).memory_mode is None
    store.close()
