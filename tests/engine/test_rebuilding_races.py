"""Builds that are begun, chosen and discarded while others are at work on them."""

from zibaldone.engine.rebuilding import builds as of_view
from zibaldone.testing import HashEmbedder, ScriptedModel

TALK = ["I live in Lisbon.", "My sister Ida lives in Porto.", "I live in Faro now."]


def test_a_choice_that_is_made_again_stands(opened):
    """Two rebuilds with the same new embedder, both chosen: older settings still do not undo the choice."""
    memory = opened(embedder=HashEmbedder(16))
    memory.add(TALK, user="ann")
    for _ in range(2):
        memory.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other"))
        memory.builds.switch(user="ann")
    chosen = memory.builds.status(user="ann").serving
    old = opened(embedder=HashEmbedder(16))
    old.maintain()
    assert old.builds.status(user="ann").serving == chosen


def test_a_step_of_a_discarded_build_is_not_committed_into_the_next(opened):
    """A build of another chat model took the number meanwhile: what this one's model said goes nowhere."""
    memory = opened(embedder=HashEmbedder(16), chat=None)
    memory.add(TALK, user="ann")
    memory.maintain()

    def slow(request):
        if memory.builds.status("notes", user="ann").other.chat == "slow":
            memory.builds.discard("notes", user="ann")
            of_view.begin(memory._database, "ann", memory._wiring.notes, "next")
        return {"notes": [], "ended": [{"id": 1, "by": 2}]}

    memory.builds.rebuild("notes", user="ann", chat=ScriptedModel(slow, "slow"))
    builds = memory.builds.status("notes", user="ann")
    assert (builds.other.number, builds.other.chat, builds.other.read_to) == (2, "next", 0)
