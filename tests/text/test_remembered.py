"""Caches of texts: what is forgotten is in none of them, whoever is still at work with it."""

import threading

from zibaldone import Memory
from zibaldone.testing import HashEmbedder
from zibaldone.text.words import term_of


class _Hanging(HashEmbedder):
    """Waits while it embeds, once it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.hangs, self.waits, self.goes_on = False, threading.Event(), threading.Event()

    def embed(self, texts):
        if self.hangs:
            self.waits.set()
            assert self.goes_on.wait(30)
        return super().embed(texts)


def test_a_recall_beside_a_forgetting_leaves_no_word(opened):
    """It began before and has the old words; when it ends, no cache of the process has them."""
    embedder = _Hanging()
    memory: Memory = opened(embedder=embedder)
    memory.add("The zebrawood table is mine.", user="ann")
    embedder.hangs = True
    recall = threading.Thread(target=memory.recall, args=("zebrawood table",), kwargs={"user": "ann"})
    recall.start()
    assert embedder.waits.wait(30)
    memory.forget(user="ann", everything=True)
    term_of("zebrawood")  # what the recall does with the texts that it still has
    embedder.goes_on.set()
    recall.join()
    before = term_of.cache_info().hits
    term_of("zebrawood")
    assert term_of.cache_info().hits == before
