"""For all tests: no network, a memory of one's own whose clock stands still, and what runs when.

A test runs in one of three:

- `make test`: what has no mark. Every behaviour once, in a folder; properties with a fifth of their
  examples, 8 at least.
- `make test-wide`: what is marked `wide`. The same behaviours in other places, with other views, settings
  and libraries; processes that are killed.
- `make test-all`: what is marked `exhaustive`, whatever else it is marked, and properties in full.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import ssl

from memories import open_memory

# A worker of pytest-xdist for each core, and no library's threads beside them; set before numpy comes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ["TOKENIZERS_PARALLELISM"] = "false"  # tests fork: without it the tokenizer warns of its threads

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from hypothesis import settings
from pytest_socket import disable_socket, enable_socket, socket_allow_hosts
from sqlalchemy import create_engine
from typer.testing import CliRunner

from anywhere import PLACES
from bucket_server import FakeBucketServer
from folders import Template
from postgres_server import NoServer, Server
from talk import NOW, Talk
from zibaldone import Config, Memory
from zibaldone.cli.app import app
from zibaldone.storage import sqlite
from zibaldone.storage.database import Database
from zibaldone.storage.opening import open_database
from zibaldone.testing import FrozenClock

# Folders in memory, where there is room for a run's: a commit that is flushed to a disk takes milliseconds.
_SHM = Path("/dev/shm")
if _SHM.is_dir() and shutil.disk_usage(_SHM).free > 2**31:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_SHM))

_SHARE, _LEAST = 5, 8  # of a property's examples in `make test`
_WHOLLY_MARKED = re.compile(r"^pytestmark = .*\bmark\.(wide|exhaustive)\b", re.MULTILINE)
_SETTINGS = "_hypothesis_internal_use_settings"  # there is no public way to them

settings.register_profile("zibaldone", deadline=None)
settings.load_profile("zibaldone")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `make test-wide` and `make test-all`."""
    parser.addoption("--wide", action="store_true", help="run what is marked so, and only that")
    parser.addoption("--exhaustive", action="store_true", help="run what takes long, and only that")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In `make test`, do not import modules of which nothing runs: what they import takes longest."""
    if collection_path.suffix != ".py" or config.getoption("--wide") or config.getoption("--exhaustive"):
        return None
    return _WHOLLY_MARKED.search(collection_path.read_text(encoding="utf-8")) is not None or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is wanted now: each test runs in one of the three, and each property in full in the last."""
    exhaustive, wide = config.getoption("--exhaustive"), config.getoption("--wide")
    properties = {id(function): function for item in items if (function := _property(item)) is not None}
    shortened = {key for key, function in properties.items() if _few(function) is not None}
    kept, left = [], []
    for item in items:
        if exhaustive:
            wanted = item.get_closest_marker("exhaustive") is not None or id(_property(item)) in shortened
        else:
            marked = item.get_closest_marker("wide") is not None
            wanted = item.get_closest_marker("exhaustive") is None and marked == wide
        (kept if wanted else left).append(item)
    if not exhaustive:
        for key in shortened:
            owner = properties[key]
            setattr(owner, _SETTINGS if hasattr(owner, _SETTINGS) else "settings", _few(owner))
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """Imports make no garbage, and looking for it takes a third of the time that they take."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What is imported stays: garbage is looked for among what tests make, and seldom."""
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def _property(item: pytest.Item) -> Any:
    """What holds the settings of a test of Hypothesis: its function or its state machine."""
    function = getattr(getattr(item, "obj", None), "__func__", getattr(item, "obj", None))
    if hasattr(function, _SETTINGS):
        return function
    machine = getattr(item, "cls", None)
    return machine if isinstance(getattr(machine, "settings", None), settings) else None


def _few(owner: Any) -> settings | None:
    """A property's settings with fewer examples; None where it has few already."""
    full: settings = getattr(owner, _SETTINGS, None) or owner.settings
    few = max(_LEAST, full.max_examples // _SHARE)
    return settings(full, max_examples=few) if few < full.max_examples else None


def pytest_configure() -> None:
    """Make once what each of hundreds of clients and commands would make again.

    A context of TLS, for which the file of all authorities is read, and the tree of commands.
    """
    ssl.create_default_context = cache(ssl.create_default_context)
    typer.testing._get_command = cache(typer.testing._get_command)


def pytest_runtest_setup() -> None:
    """Block the network, also where pytest is run without this project's options."""
    disable_socket(allow_unix_socket=True)


@pytest.fixture(scope="session", autouse=True)
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """What new folders are copies of, but where `made_from_nothing` is used."""
    return Template(tmp_path_factory.mktemp("template"))


@pytest.fixture
def made_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are made as users make them: for tests of how that goes."""
    monkeypatch.setattr(sqlite, "create_engine", create_engine)


@pytest.fixture(scope="session")
def postgres(template: Template) -> Iterator[Server]:
    """A server, for all tests of one process."""
    pytest.importorskip("psycopg", reason="no psycopg: pip install 'zibaldone[postgres]'")
    try:
        server = Server()
    except NoServer as why:
        pytest.skip(f"no PostgreSQL can be started: {why}")
    yield server
    server.stop()


@pytest.fixture
def url(postgres: Server) -> str:
    """An empty memory in PostgreSQL."""
    return postgres.new()


@pytest.fixture
def database(tmp_path) -> Iterator[Database]:
    """Of an empty folder."""
    database = open_database(tmp_path, busy_timeout_s=30)
    yield database
    database.close()


@pytest.fixture
def opened_database(url: str) -> Iterator[Callable[..., Database]]:
    """Opens the one database, as another process would."""
    made: list[Database] = []

    def opened_database(busy_timeout_s: float = 5.0) -> Database:
        made.append(open_database(url, busy_timeout_s=busy_timeout_s))
        return made[-1]

    yield opened_database
    for database in made:
        database.close()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeBucketServer]:
    """An empty bucket on the loopback, and the key for it in the environment."""
    pytest.importorskip("obstore", reason="no obstore: pip install 'zibaldone[s3]'")
    enable_socket()
    socket_allow_hosts(["127.0.0.1"], allow_unix_socket=True)
    with closing(FakeBucketServer()) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
def clock() -> FrozenClock:
    """Noon of 1 March 2024, UTC."""
    return FrozenClock()


@pytest.fixture
def opened(tmp_path, clock) -> Iterator[Callable[..., Memory]]:
    """Opens a folder below the test's own ("memory" unless named) as often as is wished."""
    yield from _opening(lambda name: tmp_path / name, clock)


def _opening(at: Callable[[str], Path | str], clock: FrozenClock) -> Iterator[Callable[..., Memory]]:
    memories: list[Memory] = []

    def opened(name: str = "memory", **options) -> Memory:
        memories.append(open_memory(at(name), **{"clock": clock, **options}))
        return memories[-1]

    yield opened
    for memory in memories:
        memory.close()


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    """Where memories are, for tests of what holds everywhere."""
    return request.param


@pytest.fixture
def anywhere(place, tmp_path, request) -> Callable[[str], Path | str]:
    """A folder of the test's own by its name, or a database."""
    if place == "folder":
        return lambda name="memory": tmp_path / name
    urls: dict[str, str] = defaultdict(request.getfixturevalue("postgres").new)
    return lambda name="memory": urls[name]


@pytest.fixture
def opened_anywhere(anywhere, clock) -> Iterator[Callable[..., Memory]]:
    """As `opened`, but where `place` says."""
    yield from _opening(anywhere, clock)


@pytest.fixture
def memory(opened) -> Memory:
    """An empty memory."""
    return opened()


@pytest.fixture(scope="module")
def shared_memory(tmp_path_factory) -> Iterator[Memory]:
    """One for all examples of a property, and for tests that each have users of their own."""
    with Memory(tmp_path_factory.mktemp("shared") / "memory") as memory:
        yield memory


@pytest.fixture
def run(tmp_path) -> Callable[..., tuple[int, str, str]]:
    """Runs a command on a folder of the test's own; (exit code, standard output, standard error)."""
    runner = CliRunner(env={"ZIBALDONE_MEMORY": str(tmp_path / "memory"), "VISUAL": "", "EDITOR": "false"})

    def run(*words: str, text: str | None = None, env: dict[str, str] | None = None) -> tuple[int, str, str]:
        done = runner.invoke(app, list(words), input=text, env=env)
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture
def talk(tmp_path) -> Iterator[Talk]:
    """An empty memory to talk to."""
    with Memory(tmp_path / "memory", config=Config(clock=lambda: NOW)) as memory:
        yield Talk(memory)
