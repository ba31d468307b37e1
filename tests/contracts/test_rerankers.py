"""What every reranker promises, and what a recall does with one that keeps no promise."""

import math
import sys
import threading
from types import ModuleType

import pytest

from zibaldone import InvalidInput, Memory, ModelFailed
from zibaldone.core.deadline import Deadline
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.models.named import FastReranker
from zibaldone.models.reranking import MOST, ChatReranker, reranked
from zibaldone.models.static import shared_static_embedder
from zibaldone.testing import ScriptedModel

QUESTION = "Who keeps bees in Ghent?"
TEXTS = ["Ann bakes bread.", "Bea keeps bees in Ghent.", "", "Nobody keeps bees.", "犬が好きです"]
TALK = [f"Bees again: hive {number} in Ghent gave honey." for number in range(1, 41)]


class TextCrossEncoder:
    """The library's class, as far as it is used: it reads words in common."""

    def __init__(self, model_name):
        self.model_name = model_name

    def rerank(self, query, documents, *, batch_size):
        for text in documents:
            yield float(len(set(query.split()) & set(text.split())) - 2)


@pytest.fixture
def library(monkeypatch):
    """The stand-in in the library's place."""
    module = ModuleType("fastembed.rerank.cross_encoder")
    module.TextCrossEncoder = TextCrossEncoder
    for name in ("fastembed", "fastembed.rerank", module.__name__):
        monkeypatch.setitem(sys.modules, name, module)


def by_chat(answer):
    """The listwise reranker over a model that gives this answer."""
    return ChatReranker(Asker(ScriptedModel(lambda _: answer), Meter(None), shared_static_embedder()))


RERANKERS = {
    "fastembed": lambda: FastReranker("org/model"),
    "chat": lambda: by_chat({"order": [2, 4]}),
}


@pytest.fixture(params=RERANKERS)
def reranker(request, library):
    """Each that ships."""
    return RERANKERS[request.param]()


def test_a_finite_number_for_each_text(reranker):
    """The same again for the same texts, which stay as they were; the one that answers has the highest."""
    texts = list(TEXTS)
    scores = reranker.scores(QUESTION, texts)
    assert reranker.name
    assert 0 < reranker.batch <= MOST
    assert len(scores) == len(texts)
    assert all(math.isfinite(score) for score in scores)
    assert list(scores) == list(reranker.scores(QUESTION, texts))
    assert texts == TEXTS
    assert max(range(len(scores)), key=lambda row: scores[row]) == 1


class Own:
    """A reranker of a user's own that gives what it is told to."""

    name = "own"

    def __init__(self, scores=lambda texts: list(range(len(texts))), batch=MOST):
        self.asked, self.batch, self._scores = [], batch, scores

    def scores(self, query, texts):
        self.asked.append((query, list(texts)))
        return self._scores(texts)


def ranking(found):
    """The messages of the candidates, best first."""
    return [decision.evidence.sources for decision in found.trace.decisions]


def told(found):
    """The line of the trace that the reranker has."""
    return next(line for line in found.trace.views if line.view.startswith("reranker"))


@pytest.fixture
def folder(opened):
    """A memory with more candidates than are reranked."""
    opened().add(TALK, user="ann")
    return opened


def test_the_best_thirty_come_in_its_order(folder):
    """What gets the higher number comes first; the others stay behind, as they were."""
    own = Own()
    plain = ranking(folder().recall(QUESTION, user="ann", budget_tokens=2000))
    found = folder(reranker=own).recall(QUESTION, user="ann", budget_tokens=2000)
    assert len(plain) > MOST
    assert ranking(found) == [*reversed(plain[:MOST]), *plain[MOST:]]
    assert told(found).note == ""
    ((question, texts),) = own.asked
    assert question == QUESTION
    assert texts[0].startswith("Fri 1 Mar 2024, user: Bees again")


def test_thirty_are_read_in_its_batches_however_small_the_budget(folder):
    """What would not have been offered for so little may be the best; equal numbers change nothing."""
    own = Own(lambda texts: [0.0] * len(texts), batch=7)
    plain = folder().recall(QUESTION, user="ann", budget_tokens=60)
    assert folder(reranker=own).recall(QUESTION, user="ann", budget_tokens=60).text == plain.text
    assert [len(texts) for _, texts in own.asked] == [7, 7, 7, 7, 2]


def _raise(error):
    raise error


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        (lambda texts: [1.0] * (len(texts) - 1), "finite numbers were expected"),
        (lambda texts: [1.0] * (len(texts) + 1), "finite numbers were expected"),
        (lambda texts: [math.nan] * len(texts), "finite numbers were expected"),
        (lambda texts: [[1.0]] * len(texts), "finite numbers were expected"),
        (lambda texts: None, "finite numbers were expected"),
        (lambda texts: ["high"] * len(texts), "'own' failed: ValueError"),
        (lambda texts: _raise(RuntimeError("no memory")), "'own' failed: RuntimeError"),
        (lambda texts: _raise(ModelFailed("the server is down")), "the server is down"),
    ],
)
def test_one_that_fails_leaves_the_order_of_search(scores, why, folder):
    """The recall is the one without a reranker, and its trace says why."""
    plain = folder().recall(QUESTION, user="ann")
    found = folder(reranker=Own(scores)).recall(QUESTION, user="ann")
    assert (found.text, ranking(found)) == (plain.text, ranking(plain))
    assert told(found).note.startswith("in the order of search alone")
    assert why in told(found).note


@pytest.mark.parametrize(("timeout_s", "calls"), [(None, 3), (4.0, 1)])
def test_a_slow_one_is_left_alone(timeout_s, calls, folder):
    """After five seconds, or half of what somebody waits, no further call is begun."""
    candidates = [decision.evidence for decision in folder().recall(QUESTION, user="ann").trace.decisions]
    now = [0.0]

    def slow(texts):
        now[0] += 2
        return [0.0] * len(texts)

    own = Own(slow, batch=5)
    deadline = Deadline.after(timeout_s, lambda: now[0])
    ordered, note = reranked(candidates, QUESTION, "ann", own, deadline)
    assert ordered == candidates
    assert "too slow" in note
    assert len(own.asked) == calls
    deadline.check()


def test_nothing_is_held_while_it_works(folder):
    """Others write and forget meanwhile; what went is not in the recall, and what came does no harm."""
    beside = folder(busy_timeout_s=0)

    def work(texts):
        def others():
            beside.forget(user="ann", seqs=[1])
            beside.add("Bees again: hive 50 in Ghent.", user="ann")

        thread = threading.Thread(target=others)
        thread.start()
        thread.join()
        return [-float("hive 1 in" not in text) for text in texts]

    found = folder(reranker=Own(work)).recall("Which honey did hive 1 give?", user="ann")
    assert told(found).note == ""
    assert found.evidence
    assert (1,) not in ranking(found)


def test_nobody_is_asked_where_nothing_is_recalled(folder):
    """Below the floor there is nothing to order."""
    own = Own()
    found = folder(reranker=own).recall(QUESTION, user="ann", min_confidence=1)
    assert (found.evidence, own.asked) == ((), [])


def test_the_chat_model_orders_for_its_user(folder):
    """One request that waits shortly, counted as the user's; what it names comes first."""
    model = ScriptedModel(lambda _: {"order": [3, 1]})
    memory = folder(reranker="chat", chat=model)
    plain = ranking(folder().recall(QUESTION, user="ann"))
    found = memory.recall(QUESTION, user="ann", timeout_s=8)
    assert ranking(found)[:4] == [plain[2], plain[0], plain[1], plain[3]]
    (request,) = model.requests
    assert (request.task, request.max_attempts) == ("rerank.order", 1)
    assert request.timeout_s <= 4
    assert [(use.user, use.view) for use in memory.admin.usage()] == [("ann", "rerank")]


@pytest.mark.parametrize("answer", ["nonsense", {"order": [1, 1]}, {"order": [99]}, ModelFailed("down")])
def test_a_chat_model_that_talks_nonsense_orders_nothing(answer, folder):
    """An id twice, or one that was not given, is a bad answer like any other."""
    plain = folder().recall(QUESTION, user="ann")
    found = folder(reranker="chat", chat=ScriptedModel(lambda _: answer)).recall(QUESTION, user="ann")
    assert ranking(found) == ranking(plain)
    assert told(found).note.startswith("in the order of search alone")


def test_a_reranker_by_name(library, tmp_path, monkeypatch):
    """By argument and by variable; a memory with one waits for more than itself."""
    with Memory(tmp_path, reranker="fastembed:org/model") as memory:
        memory.add(TALK[0], user="ann")
        assert told(memory.recall(QUESTION, user="ann")).view == "reranker fastembed:org/model"
        assert not memory.admin.is_embedded
    monkeypatch.setenv("ZIBALDONE_RERANKER", "fastembed:org/other")
    with Memory.from_env(tmp_path) as memory:
        assert told(memory.recall(QUESTION, user="ann")).view == "reranker fastembed:org/other"
    with Memory(tmp_path) as memory:
        assert memory.admin.is_embedded


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("", "'fastembed:MODEL' or 'chat'"),
        ("fastembed:", "'fastembed:MODEL' or 'chat'"),
        ("openai:m", "'fastembed:MODEL' or 'chat'"),
        ("chat", "needs a chat model"),
        (object(), "must be a Reranker"),
        (Own(batch=0), "batch must be a whole number of at least 1"),
    ],
)
def test_what_is_no_reranker(given, why, tmp_path):
    """Says what is."""
    with pytest.raises(InvalidInput, match=why):
        Memory(tmp_path, reranker=given)
