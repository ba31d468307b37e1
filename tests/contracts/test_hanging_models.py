"""While a model hangs in one user's recall or maintenance, nobody else waits for it, that user included."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pytest

from faulty_models import FailingEmbedder, HangingModel
from memories import open_memory
from zibaldone import Consolidation, MemAttention, XMemory
from zibaldone.errors import ModelUnavailable
from zibaldone.testing import HashEmbedder, ScriptedModel

IN_TIME_S = 30  # for what takes milliseconds, on a machine that is busy
BUSY_S = 10.0
SETTINGS = {
    "chunks": MemAttention(chunk_gate_tokens=48, top_p=1, recall_relevance="model"),
    "hierarchy": XMemory(),
    "topics": Consolidation(current_threshold_tokens=48, split_tokens=200, merge_tokens=60),
    "maintained": ("messages", "chunks", "hierarchy", "topics", "notes"),
    "busy_timeout_s": BUSY_S,
}
AGENTIC = Consolidation(current_threshold_tokens=48, split_tokens=200, merge_tokens=60, reader="agentic")
THINGS = ("clock", "cello", "kayak", "oven", "garden", "camera")
TALK = [
    {
        "content": f"I bought the {thing} number {i} in Ghent and paid {i + 20} crowns to Otto for it.",
        "session": str(i % 2),
        "time": f"2024-01-{i + 1:02}T09:00:00Z",
        "name": "Ann",
    }
    for i, thing in enumerate(THINGS * 2)
]
TALK.append({**TALK[-1], "content": "From now on, answer in French.", "name": None})  # a note
QUESTION = "What did Ann pay to Otto for the kayak in Ghent?"


@dataclass(frozen=True)
class Case:
    """A view, and the model that hangs while it recalls or is maintained."""

    view: str
    model: str  # "chat" or "embedder"
    agentic: bool = False

    def __str__(self):
        return f"{self.view}-{'agent' if self.agentic else self.model}"


RECALLS = [
    Case("messages", "embedder"),
    Case("chunks", "chat"),
    Case("chunks", "embedder"),
    Case("hierarchy", "chat"),
    Case("hierarchy", "embedder"),
    Case("topics", "chat"),
    Case("topics", "embedder"),
    Case("topics", "chat", agentic=True),
    Case("notes", "embedder"),
]
MAINTENANCES = [*(case for case in RECALLS if not case.agentic), Case("notes", "chat")]
USUAL = {Case("messages", "embedder"), Case("topics", "chat")}  # of the others, `make test` runs none


def through(cases):
    """A test for each scene."""
    marked = [case if case in USUAL else pytest.param(case, marks=pytest.mark.wide) for case in cases]
    return pytest.mark.parametrize("scene", marked, indirect=True, ids=str)


def answer(request):
    """What a poor model says, whatever it was asked: offline answers stand in for it."""
    return json.dumps({"text": request.task})


class Scene:
    """A folder with two users' talk, and a memory over it whose chat model or embedder hangs."""

    def __init__(self, folder, case, clock, folders):
        self.case = case
        self.folders = folders
        self.failing = FailingEmbedder(HashEmbedder(64), failing=False)
        self.chat = HangingModel(ScriptedModel(answer))
        self.embedder = HangingModel(self.failing)
        self.gate = (self.chat if case.model == "chat" else self.embedder).gate
        self.options = {**SETTINGS, "clock": clock, "embedder": self.embedder}
        if case.agentic:
            self.options["topics"] = AGENTIC
        self.folder = folder

    def fill(self, *, read):
        """Store the talk of both users; all views have read it, or only Bea's have."""
        unread = None if read else self.case.view == "messages"
        filled = self.folders / str(unread)
        if not filled.exists():
            self._filled(filled, unread)
        shutil.copytree(filled, self.folder)

    def _filled(self, folder, unread):
        with open_memory(folder, **{**self.options, "chat": None}) as memory:
            memory.add(TALK, user="bea")
            memory.maintain()
            self.failing.failing = bool(unread)
            memory.add(TALK, user="ann")
            self.failing.failing = False
            if unread is None:
                memory.maintain()

    def open(self, **options):
        """The memory, with the model in it."""
        return open_memory(self.folder, **{**self.options, "chat": self.chat, **options})


@contextmanager
def hanging(gate, call):
    """While the block lasts, `call` waits for the model in a thread; afterwards the list has its result."""
    results = []
    gate.shut()
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()
    try:
        assert gate.reached.wait(IN_TIME_S), "no model is asked here: the case shows nothing"
        yield results
        assert not results  # the model was hanging all the while
    finally:
        gate.open()
        thread.join(IN_TIME_S)
    assert results


def all_go_on(memory, view):
    """Add, recall and forget, for the user whose model hangs and for another; none waits for the model."""
    ask = partial(memory.recall, QUESTION, views=[view], min_confidence=0)
    pool = ThreadPoolExecutor()
    calls = [
        (
            pool.submit(memory.add, "I sold the harp.", user=user),
            pool.submit(ask, user=user),
            pool.submit(memory.forget, user=user, seqs=[3]),
        )
        for user in ("ann", "bea")
    ]
    pool.shutdown(wait=False)  # one that hangs goes on when the gate opens
    for _, recalled, forgotten in ([call.result(IN_TIME_S) for call in of_user] for of_user in calls):
        assert recalled.evidence
        assert (forgotten.purged, forgotten.messages) == (True, 1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Where filled folders are, by what is unread in them: each is made once, and copied."""
    return tmp_path_factory.mktemp("filled")


@pytest.fixture
def scene(request, tmp_path, clock, folders):
    """The case's scene; whatever happened, nothing hangs afterwards."""
    scene = Scene(tmp_path / "memory", request.param, clock, folders)
    yield scene
    scene.gate.open()


@through(RECALLS)
def test_nobody_waits_for_a_model_that_hangs_in_a_recall(scene):
    """Others and the same user add, recall and forget with purge; what went is not in the late answer."""
    scene.fill(read=True)
    view = scene.case.view
    with scene.open() as memory:
        recall = partial(
            memory.recall, QUESTION, user="ann", views=[view], min_confidence=0, budget_tokens=2000
        )
        with hanging(scene.gate, recall) as late:
            all_go_on(memory, view)
        assert late[0].evidence
        assert 3 not in {seq for evidence in late[0].evidence for seq in evidence.sources}


@through(case for case in RECALLS if case.model == "chat")
def test_a_recall_waits_shortly_for_a_server_that_hangs(scene):
    """The first question too: it is asked once, with a short timeout, and the offline answer serves."""
    scene.fill(read=True)
    requests = []

    def hang(request):
        requests.append(request)
        return ModelUnavailable("nothing came in time")

    scene.chat = ScriptedModel(hang)
    with scene.open() as memory:
        recalled = memory.recall(QUESTION, user="ann", views=[scene.case.view], min_confidence=0)
    assert recalled.evidence
    (request,) = requests
    assert request.max_attempts == 1
    assert request.timeout_s <= (30 if scene.case.agentic else 10)


@through(MAINTENANCES)
def test_nobody_waits_for_a_model_that_hangs_in_a_maintenance(scene):
    """Others and the same user go on; the maintenance then brings back nothing that was forgotten."""
    scene.fill(read=False)
    view = scene.case.view
    with scene.open() as memory:
        with hanging(scene.gate, partial(memory.maintain, user="ann", views=[view])) as late:
            all_go_on(memory, view)
        assert late[0].behind == ()
        assert memory.admin.check().faults == ()
        found = memory.recall(QUESTION, user="ann", views=[view], min_confidence=0, budget_tokens=2000)
        assert 3 not in {seq for evidence in found.evidence for seq in evidence.sources}


@through(MAINTENANCES)
def test_nobody_waits_for_a_model_that_hangs_in_the_background(scene):
    """The worker's maintenance holds nothing that an add, a recall or a forgetting needs."""
    scene.fill(read=False)
    scene.gate.shut()
    with scene.open(background=True, maintained=(scene.case.view,)) as memory:
        try:
            assert scene.gate.reached.wait(IN_TIME_S), "no model is asked here: the case shows nothing"
            all_go_on(memory, scene.case.view)
        finally:
            scene.gate.open()
        assert memory._wiring.worker.idle(IN_TIME_S)
        assert memory.admin.check().faults == ()


@pytest.mark.parametrize("scene", [Case("topics", "embedder")], indirect=True, ids=str)
def test_nobody_waits_for_a_model_that_hangs_while_an_edit_is_taken(scene):
    """Edited topic documents are consolidated at once: the model that does it holds nobody else up."""
    scene.fill(read=True)
    with scene.open(chat=None) as memory:
        topics = memory.user("ann").topics
        document = topics.documents()[0]
        edit = partial(topics.edit, document.id, topics.text(document.id) + "\n- I gave up the cello.\n")
        with hanging(scene.gate, edit) as late:
            all_go_on(memory, "topics")
        assert late[0].behind == ()
