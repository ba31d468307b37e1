"""Embedders that fail, and others than the folder's: nothing is lost, and recall goes on."""

import threading
from functools import partial

from faulty_models import FailingEmbedder, HangingModel
from zibaldone.testing import HashEmbedder


def view(memory):
    """The figures of the messages view."""
    found = next(one for one in memory.admin.stats().views if one.view == "messages")
    return {counted.kind: counted.rows for counted in found.counts} | {"lag": found.lag}


def test_a_failing_embedder_loses_nothing(opened):
    """Messages are stored and recalled by their words at once; the next add catches up by itself."""
    embedder = FailingEmbedder(HashEmbedder())
    memory = opened(embedder=embedder)
    memory.add(["My dentist is Dr. Moss.", "I bake rye bread."], user="ann")
    assert view(memory) == {"units": 0, "vectors": 0, "lag": 2}
    assert memory.recall("Who is the dentist?", user="ann").evidence[0].sources == (1,)
    assert memory.admin.check().ok
    embedder.failing = False
    memory.add("It rained.", user="ann")
    assert view(memory) == {"units": 3, "vectors": 3, "lag": 0}


def test_an_encoder_reads_the_question_as_it_is(opened):
    """Its words in their order; only a table of words is asked for the content words alone."""
    read = []

    class Reading(HashEmbedder):
        def embed(self, texts):
            read.extend(texts)
            return super().embed(texts)

    memory = opened(embedder=Reading())
    memory.add("My dentist is Dr. Moss.", user="ann")
    memory.recall("Who is the dentist?", user="ann")
    assert read[-1] == "Who is the dentist?"


def test_a_memory_says_whether_its_recalls_wait_for_others(opened):
    """The embedded embedder waits for nobody; another one may be a server."""
    assert opened().admin.is_embedded
    assert not opened(embedder=HashEmbedder()).admin.is_embedded


def test_an_add_waits_for_no_embedder_where_a_worker_can(opened):
    """The vectors of another embedder are made by the worker's threads; until then words find the message."""
    embedder = HangingModel(HashEmbedder())
    memory = opened(embedder=embedder, background=True)
    embedder.gate.shut()  # the next call waits: an add that embeds would stay here
    adding = partial(memory.add, ["My dentist is Dr. Moss.", "I bake rye bread."], user="ann")
    thread = threading.Thread(target=adding, daemon=True)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert view(memory) == {"units": 0, "vectors": 0, "lag": 2}
    assert embedder.gate.reached.wait(30)
    assert memory.recall("Who is the dentist?", user="ann").evidence[0].sources == (1,)
    embedder.gate.open()
    assert memory._wiring.worker.idle(30)
    assert view(memory) == {"units": 2, "vectors": 2, "lag": 0}


class Unplugged(HashEmbedder):
    """An embedder of somebody else's, whose network is down."""

    def embed(self, texts):
        """Raise what a network raises."""
        raise ConnectionError("no route to host")


def test_an_embedder_that_raises_its_own_errors_loses_nothing(opened):
    """The message is stored, and found by its words."""
    memory = opened(embedder=Unplugged())
    assert memory.add("Our cat is called Mortimer.", user="ann")[0].seq == 1
    found = memory.recall("What is our cat called?", user="ann")
    assert found.evidence[0].sources == (1,)
    assert "no route to host" in found.trace.views[0].note or "lexical only" in found.trace.views[0].note
