"""Every view and every embedder that the contract suites are run through.

A new one is a line in VIEWS or in EMBEDDERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import kv_case
import pytest
from rig import CONVERSATION, NOW, STATIC, Plant, Rig, ViewCase

from zibaldone.models.asker import Asker
from zibaldone.models.base import Embedder
from zibaldone.models.meter import Meter
from zibaldone.models.static import StaticEmbedder
from zibaldone.storage.database import Database
from zibaldone.views.chunks.config import MemAttention
from zibaldone.views.chunks.view import ChunksView
from zibaldone.views.hierarchy.config import XMemory
from zibaldone.views.hierarchy.view import HierarchyView
from zibaldone.views.messages import MessagesView
from zibaldone.views.notes import NotesView
from zibaldone.views.topics.config import Consolidation
from zibaldone.views.topics.view import TopicsView

_CUT = "UPDATE units SET vector = CAST('a' AS BYTEA)"  # SQLite makes a number of it, of one letter, too
_MESSAGES_FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 3", "a unit of message 3, which is not in the log"),
    Plant("DELETE FROM units WHERE seq = 2", "no unit of message 2"),
    Plant("UPDATE units SET seq = 90 WHERE seq = 4", "a unit of message 90, past the cursor"),
    Plant(f"{_CUT} WHERE seq = 1", "a vector of message 1 of a wrong size"),
)

_CHUNKS_FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 3", "a chunk of message 3, which is not in the log"),
    Plant("DELETE FROM chunk_sources WHERE seq = 2", "message 2 was skipped"),
    Plant("UPDATE chunk_sources SET seq = 90 WHERE seq = 3", "a chunk of message 90, past the cursor"),
    Plant("DELETE FROM records WHERE id = 1", "chunk 1 has no record"),
    Plant(
        "UPDATE records SET block = 'x' WHERE id = 1", "record 1 is both staged and in a block, or neither"
    ),
)


def _chunks(embedder: Embedder, database: Database) -> ChunksView:
    """With a gate that the short conversation reaches several times."""
    return _chunks_as(MemAttention(chunk_gate_tokens=48), embedder, database)


def _chunks_as(settings: MemAttention, embedder: Embedder, database: Database) -> ChunksView:
    return ChunksView(embedder, STATIC, STATIC, Asker(None, Meter(None), STATIC), database.blocks, settings)


_PAPER = replace(MemAttention.paper(), chunk_gate_tokens=24)


_EPISODES = "FROM units WHERE \"view\" = 'hierarchy episodes'"
_HIERARCHY_FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 3", "a unit of message 3, which is not in the log"),
    Plant("UPDATE units SET seq = 90 WHERE seq = 2", "a unit of message 90, past the cursor"),
    Plant(f"DELETE {_EPISODES}", "episode 1 has no text"),
    Plant("DELETE FROM hierarchy_statements", "semantic 1 has no statement"),
    Plant("UPDATE hierarchy_semantics SET theme = 70", "semantic 1 is in theme 70, which has no row"),
    Plant("DELETE FROM hierarchy_episodes", "semantic 1 is of episode 1, which has no row"),
)


# What it offers of few messages depends on all that is left; what it has made of them stands in its units.
_HIERARCHY_SOURCES = (
    "SELECT seq FROM units WHERE \"user\" = :user AND view = 'hierarchy'"
    " UNION SELECT source FROM unit_sources WHERE \"user\" = :user AND view = 'hierarchy'"
)


def _hierarchy(embedder: Embedder, database: Database) -> HierarchyView:
    return HierarchyView(embedder, STATIC, STATIC, Asker(None, Meter(None), STATIC))


def _xmemory(embedder: Embedder, database: Database) -> HierarchyView:
    """The paper's preset."""
    return HierarchyView(embedder, STATIC, STATIC, Asker(None, Meter(None), STATIC), XMemory.paper())


_TOPICS_FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 3", "an entry of message 3, which is not in the log"),
    Plant("UPDATE topic_documents SET body = '- <seq=90> Odd.'", "an entry of message 90, past the cursor"),
    Plant(
        "UPDATE topic_documents SET body = '' WHERE document = 'topic-0001'", "document topic-0001 is empty"
    ),
)


def _topics(embedder: Embedder, database: Database) -> TopicsView:
    """With a CURRENT that the short conversation fills several times."""
    settings = Consolidation(current_threshold_tokens=48, split_tokens=200, merge_tokens=60)
    return TopicsView(embedder, STATIC, STATIC, Asker(None, Meter(None), STATIC), settings, clock=lambda: NOW)


_NOTES_FAULTS = (
    Plant("DELETE FROM messages WHERE seq = 1", "a unit of message 1, which is not in the log"),
    Plant("UPDATE units SET seq = 90 WHERE seq = 1", "a unit of message 90, past the cursor"),
    Plant(f"{_CUT} WHERE seq = 1", "a vector of message 1 of a wrong size"),
    Plant("DELETE FROM notes", "a note of message 1 without its row"),
    Plant("UPDATE notes SET ended_by = 80", "a note ended by message 80, which is not in the log"),
)


VIEWS = [
    ViewCase("messages", lambda embedder, _: MessagesView(embedder, STATIC, STATIC), _MESSAGES_FAULTS),
    ViewCase("chunks", _chunks, _CHUNKS_FAULTS, local=False),
    ViewCase(
        "chunks paper",
        partial(_chunks_as, _PAPER),
        _CHUNKS_FAULTS,
        local=False,
        fills=False,
        budget_tokens=1000,
    ),
    ViewCase(
        "hierarchy", _hierarchy, _HIERARCHY_FAULTS, local=False, fills=False, sources_sql=_HIERARCHY_SOURCES
    ),
    ViewCase(
        "hierarchy",
        _xmemory,
        _HIERARCHY_FAULTS,
        local=False,
        fills=False,
        sources_sql=_HIERARCHY_SOURCES,
        preset="paper",
    ),
    ViewCase("topics", _topics, _TOPICS_FAULTS, local=False),
    ViewCase(
        "notes",
        lambda embedder, _: NotesView(embedder, STATIC, Asker(None, Meter(None), STATIC), clock=lambda: NOW),
        _NOTES_FAULTS,
        fills=False,
        all_of_it=False,
    ),
    ViewCase(
        "kv",
        kv_case.kv,
        kv_case.FAULTS,
        local=False,
        fills=False,
        sources_sql='SELECT first_seq FROM kv_blocks WHERE "user" = :user',
        all_of_it=False,
    ),
]

EMBEDDERS: list[Callable[[], Embedder]] = [StaticEmbedder]


@pytest.fixture(params=VIEWS, ids=lambda case: f"{case.name}{case.preset}")
def case(request: pytest.FixtureRequest) -> ViewCase:
    """Each view in turn."""
    return request.param


@pytest.fixture(params=["folder", "encrypted", "postgres"])
def place(request: pytest.FixtureRequest) -> str:
    """Where the rows are."""
    return request.param


KEY = bytes(32)  # of encrypted folders
# What `make test` runs of every view, of the messages view over PostgreSQL, and of the view with blocks in an
# encrypted folder: where these are wrong, something is lost, or is not forgotten.
_ESSENTIAL = (
    "test_the_cursor_ends_at_the_end_of_the_log",
    "test_a_crash_between_the_output_and_the_cursor_leaves_neither",
    "test_the_text_is_in_no_column_of_no_table",
    "test_what_is_left_is_what_a_view_makes_that_never_read_the_message",
    "test_every_unit_names_its_sources_which_exist",
    "test_each_kind_of_fault_is_named",
    "test_forgetting_one_tenant_changes_nothing_for_the_other",
    "test_a_rebuild_equals_a_first_build",
)
_USUAL = {"postgres": "messages", "encrypted": "chunks"}
_LONG = ("test_a_crash_at", "test_a_crash_while", "test_batches", "test_a_recall_that_began")


def pytest_itemcollected(item: pytest.Item) -> None:
    """The rest of the matrix is wide, but for what takes long elsewhere than in a plain folder."""
    given = getattr(getattr(item, "callspec", None), "params", {})
    if "case" not in given:
        return
    view, place = given["case"].name, given["place"]
    elsewhere = place != "folder"
    if view == "kv" and elsewhere:
        item.add_marker(pytest.mark.skip(reason="keys and values lie in a plain folder"))
    if elsewhere and item.name.startswith(_LONG):
        item.add_marker(pytest.mark.exhaustive)
    elif item.name.startswith(_ESSENTIAL):
        if elsewhere and view != _USUAL[place]:
            item.add_marker(pytest.mark.wide)
    elif elsewhere or view != "messages":
        item.add_marker(pytest.mark.wide)


@pytest.fixture
def finds_everything(case: ViewCase) -> None:
    """Skips a view that keeps some of what is said alone; its own tests say the same of what it keeps."""
    if not case.all_of_it:
        pytest.skip("keeps some of what is said")


@pytest.fixture
def new_rig(
    case: ViewCase, place: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Callable[[], Rig]]:
    """Makes rigs, each over a folder or a database of its own."""
    made: list[Rig] = []

    def new() -> Rig:
        if place == "folder":
            made.append(Rig(tmp_path_factory.mktemp("rig"), case))
        elif place == "encrypted":
            pytest.importorskip("sqlcipher3", reason="pip install 'zibaldone[encryption]'")
            made.append(Rig(tmp_path_factory.mktemp("rig"), case, KEY))
        else:
            made.append(Rig(request.getfixturevalue("postgres").new(), case))
        return made[-1]

    yield new
    for rig in made:
        rig.database.close()
        if place == "postgres":
            request.getfixturevalue("postgres").give_back(rig.place)


@pytest.fixture
def rig(new_rig: Callable[[], Rig]) -> Rig:
    """An empty folder and the view."""
    return new_rig()


@pytest.fixture
def built(rig: Rig) -> Rig:
    """The conversation in the log, and the view at its end."""
    return rig.read(CONVERSATION)


@pytest.fixture(params=EMBEDDERS, ids=lambda new: new.__name__)
def new_embedder(request: pytest.FixtureRequest) -> Callable[[], Embedder]:
    """Makes instances of each embedder in turn."""
    return request.param


@pytest.fixture
def embedder(new_embedder: Callable[[], Embedder]) -> Embedder:
    """One instance of each embedder in turn."""
    return new_embedder()
