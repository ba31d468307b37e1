"""A second build of a view beside the one that serves: grown, compared, chosen, taken back, forgotten."""

import contextlib
import json

import pytest
from sqlalchemy import event, text

from faulty_models import FailingEmbedder
from zibaldone import InvalidInput, ModelFailed
from zibaldone.engine.rebuilding import builds as of_view
from zibaldone.testing import HashEmbedder, ScriptedModel

TALK = [
    "I live in Lisbon.",
    "I work at the harbour office.",
    "My sister Ida lives in Porto.",
    "I live in Faro now.",
    "My sister Ida visited the harbour office.",
]
WRONG = "no longer holds"
VIEWS = ("messages", "notes", "topics", "hierarchy", "chunks")


def everything_ended(request):
    """A bad model: whatever was noted before does not hold any more."""
    given = json.loads(request.turns[1].content)
    last = given["messages"][-1]["seq"]
    return {"notes": [], "ended": [{"id": note["id"], "by": last} for note in given["notes"]]}


@pytest.fixture
def memory(opened):
    """Ann's, with nothing unread."""
    memory = opened(embedder=HashEmbedder())
    memory.add(TALK, user="ann", session="1")
    memory.maintain()
    return memory


@pytest.fixture
def bad():
    return ScriptedModel(everything_ended, "bad")


def recalled(memory, **options):
    """What a recall says, and what its views note."""
    recall = memory.recall("Where does Ida live?", user="ann", min_confidence=0, **options)
    return recall.text, [view.note for view in recall.trace.views]


def rows(memory, sql):
    with memory._database.read() as connection:
        return connection.execute(text(sql)).all()


def states(memory, view="messages"):
    """(generation, serving, standing) of Ann's."""
    sql = f"SELECT generation, serving, standing FROM view_states WHERE view = '{view}' ORDER BY generation"
    return [tuple(row) for row in rows(memory, sql)]


def test_a_rollback_after_a_bad_rebuild(memory, bad):
    """The bad build shows in the difference; switched to all the same, a rollback makes recall as it was."""
    before = recalled(memory)
    memory.builds.rebuild("notes", user="ann", chat=bad)
    assert recalled(memory) == before
    diff = memory.builds.diff("notes", user="ann")
    assert (diff.added, diff.gone) == ((), ())
    assert {pair.after.text for pair in diff.changed} == {
        "I live in Lisbon. [ended by message 5]",
        "I work at the harbour office. [ended by message 5]",
        "I live in Faro now. [ended by message 5]",
    }
    memory.builds.switch("notes", user="ann")
    assert recalled(memory)[0].count(WRONG) == 3
    builds = memory.builds.rollback("notes", user="ann")
    assert recalled(memory) == before
    assert (builds.serving.number, builds.other.chat, builds.standing) == (1, "bad", "kept")
    assert memory.builds.rollback("notes", user="ann").serving.chat == "bad"
    assert recalled(memory)[0].count(WRONG) == 3


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_made_anew_beside_itself(opened, view):
    """With the same models the two say the same; the second one serves as the first one did."""
    memory = opened(embedder=HashEmbedder())
    memory.add([f"{words} Clock {i} stands in cellar {i}." for i in range(12) for words in TALK], user="ann")
    memory.maintain(views=[view])
    ask = {} if view == "notes" else {"views": [view]}
    before = recalled(memory, **ask)
    builds = memory.builds.rebuild(view, user="ann", beside=True)
    assert (builds.serving.number, builds.other.number, builds.standing) == (1, 2, "beside")
    assert builds.other.unread == 0
    diff = memory.builds.diff(view, user="ann")
    assert diff.same
    assert (diff.added, diff.gone, diff.changed, diff.other_vectors) == ((), (), (), False)
    memory.builds.switch(view, user="ann")
    memory.maintain(views=[view])
    assert recalled(memory, **ask) == before
    memory.forget(user="ann", seqs=[1, 2])
    assert memory.admin.check().faults == ()
    named = {seq for content in memory.builds.diff(view, user="ann").added for seq in content.sources}
    assert not named & {1, 2}
    memory.builds.discard(view, user="ann")
    assert [state[1:] for state in states(memory, view)] == [(1, "")]


def test_another_embedder_without_a_gap(memory):
    """Recall reads the old vectors until the switch and the new ones after it: never both."""
    note = recalled(memory)[1]
    assert not any(note)
    seen = []

    class Watched(HashEmbedder):
        def embed(self, texts):
            if len(texts) == len(TALK):
                seen.append(recalled(memory)[1])
            return super().embed(texts)

    other = Watched(32, name="other")
    builds = memory.builds.rebuild("messages", user="ann", embedder=other)
    assert seen
    assert not any(note for notes in seen for note in notes)
    assert builds.other.fingerprint.endswith("/other-32/32")
    assert memory.builds.diff(user="ann").other_vectors
    assert memory.builds.switch(user="ann").serving == builds.other
    lengths = "SELECT generation, length(vector), count(*) FROM units WHERE view = 'messages' GROUP BY 1, 2"
    assert [tuple(row) for row in rows(memory, lengths)] == [(1, 128, 5), (2, 64, 5)]
    memory.add("Ida moved to Braga.", user="ann")
    assert [tuple(row) for row in rows(memory, lengths)] == [(1, 128, 5), (2, 64, 6)]
    assert not any(recalled(memory)[1])
    assert "Ida moved to Braga." in [passage.text for passage in memory.search("Braga", user="ann")]
    memory.builds.rollback(user="ann")
    assert "Braga" in recalled(memory)[0]
    assert not any(recalled(memory)[1])
    memory.maintain()
    assert [tuple(row) for row in rows(memory, lengths)] == [(1, 128, 6), (2, 64, 6)]
    assert memory.admin.check().faults == ()


def test_what_is_added_reaches_both(memory, bad):
    """The second build is kept in step by maintenance, and a switch reads what is left."""
    memory.builds.rebuild("notes", user="ann", chat=bad)
    memory.add("I live in Evora now.", user="ann")
    assert memory.builds.status("notes", user="ann").other.unread == 1
    memory.maintain()
    builds = memory.builds.status("notes", user="ann")
    assert (builds.serving.unread, builds.other.unread) == (0, 0)
    memory.add("I live in Beja now.", user="ann")
    assert memory.builds.switch("notes", user="ann").serving.unread == 0


def test_growing_goes_on_where_it_was_killed(opened):
    """Steps that were committed are not made again, and nothing is there twice."""

    class Killed(BaseException):
        pass

    memory = opened(embedder=HashEmbedder(), batch_messages=2)
    memory.add(TALK, user="ann", session="1")
    memory.maintain()
    read = []

    class Dying(HashEmbedder):
        def embed(self, texts):
            read.append(tuple(texts))
            if len(read) == 2:
                raise Killed
            return super().embed(texts)

    other = Dying(32, name="other")
    with pytest.raises(Killed):
        memory.builds.rebuild(user="ann", embedder=other)
    assert memory.builds.status(user="ann").other.read_to == 2
    assert not any(recalled(memory)[1])
    builds = memory.builds.rebuild(user="ann", embedder=other)
    assert (builds.other.number, builds.other.unread) == (2, 0)
    assert read == [tuple(TALK[:2]), tuple(TALK[2:4]), tuple(TALK[2:4]), tuple(TALK[4:])]
    assert memory.builds.diff(user="ann").same == len(TALK)


@pytest.mark.parametrize("step", range(1, 9))
def test_a_switch_that_is_killed_anywhere_is_made_or_not(memory, bad, step):
    """At each of its statements: the one build or the other serves, and doing it again ends it."""
    memory.builds.rebuild("notes", user="ann", chat=bad)
    left = step

    class Killed(BaseException):
        pass

    def count_down(*_):
        nonlocal left
        left -= 1
        if left == 0:
            raise Killed

    engine = memory._database._engine
    event.listen(engine, "before_cursor_execute", count_down)
    try:
        with contextlib.suppress(Killed):
            of_view.switch(memory._database, "ann", memory._wiring.notes)
    finally:
        event.remove(engine, "before_cursor_execute", count_down)
    assert states(memory, "notes") in ([(1, 1, ""), (2, 0, "beside")], [(1, 0, "kept"), (2, 1, "")])
    if memory.builds.status("notes", user="ann").standing == "beside":
        memory.builds.switch("notes", user="ann")
    assert states(memory, "notes") == [(1, 0, "kept"), (2, 1, "")]
    assert memory.admin.check().faults == ()


def test_a_failing_embedder_leaves_everything_as_it_was(memory):
    """The failure is told, the first build serves, and maintenance names the one that lags."""
    failing = FailingEmbedder(HashEmbedder(32, name="other"))
    before = recalled(memory)
    with pytest.raises(ModelFailed, match="told to fail"):
        memory.builds.rebuild(user="ann", embedder=failing)
    assert recalled(memory) == before
    assert [behind.view for behind in memory.maintain().behind] == ["messages"]
    failing.failing = False
    assert memory.maintain().behind == ()
    assert memory.builds.switch(user="ann").serving.unread == 0


def test_what_was_chosen_is_not_undone_by_older_settings(opened, memory):
    """A process of the old embedder neither makes its build again nor adds to the other's."""
    memory.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other"))
    memory.builds.switch(user="ann")
    memory.close()
    old = opened(embedder=HashEmbedder())
    old.add("Ida moved to Braga.", user="ann")
    (behind,) = old.maintain().behind
    assert behind.view == "messages"
    assert "chosen over" in behind.reason
    assert states(old) == [(1, 0, "kept"), (2, 1, "")]
    assert "Braga" in recalled(old)[0]
    assert next(view.lag for view in old.admin.stats(user="ann").views if view.view == "messages") == 1
    old.close()
    new = opened(embedder=HashEmbedder(32, name="other"))
    assert new.maintain().behind == ()
    assert new.builds.status(user="ann").serving.unread == 0
    assert not any(recalled(new)[1])
    new.close()
    third = opened(embedder=HashEmbedder(16, name="third"))
    third.maintain()
    assert third.builds.status(user="ann").serving.fingerprint.endswith("third-16/16")


def test_forgetting_reaches_both_builds_and_the_memory_of_both(memory, tmp_path):
    """No row and no file has it, whichever serves; the receipt counts what both lost, and is verified."""
    memory.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other"))
    memory.builds.switch(user="ann")
    recalled(memory)
    receipt = memory.forget(user="ann", seqs=[3], keep_texts=True)
    lost = {removed.view: removed.counts for removed in receipt.views}["messages"]
    assert lost[0].rows == 2
    assert memory.admin.verify(receipt).ok
    assert "Porto" not in recalled(memory)[0]
    memory.builds.rollback(user="ann")
    assert "Porto" not in recalled(memory)[0]


def test_the_check_looks_at_the_kept_build(memory):
    """What is damaged in it is named, with what to do; the one that serves is none the worse."""
    memory.builds.rebuild(user="ann", beside=True)
    memory.builds.switch(user="ann")
    with memory._database.write() as connection:
        connection.execute(
            text("UPDATE units SET vector = x'00' WHERE view = 'messages' AND generation = 1 AND seq = 2")
        )
    (fault,) = memory.admin.check().faults
    assert "the build that is kept: a vector of message 2 of a wrong size; discard('messages'" in fault
    memory.builds.discard(user="ann")
    assert memory.admin.check().ok


def test_one_user_s_builds_are_nobody_else_s(memory, bad):
    """Another user's view stays as it is, whatever is rebuilt, chosen, rolled back and discarded."""
    memory.add(TALK, user="bea", session="1")
    memory.maintain()
    before = memory.recall("Where does Ida live?", user="bea").text
    untouched = memory.builds.status("notes", user="bea")
    memory.builds.rebuild("notes", user="ann", chat=bad)
    memory.builds.switch("notes", user="ann")
    memory.maintain()
    assert memory.recall("Where does Ida live?", user="bea").text == before
    assert memory.builds.status("notes", user="bea") == untouched
    with pytest.raises(InvalidInput, match="kept"):
        memory.builds.rollback("notes", user="bea")
    memory.builds.discard("notes", user="ann")
    assert memory.builds.status("notes", user="bea") == untouched


def test_the_kept_build_goes_with_the_next_rebuild(memory, bad):
    """Never more than one stands beside; one that was begun with other models is begun anew."""
    memory.builds.rebuild("notes", user="ann", chat=bad)
    memory.builds.switch("notes", user="ann")
    worse = ScriptedModel(everything_ended, "worse")
    assert memory.builds.rebuild("notes", user="ann", chat=worse).other.chat == "worse"
    assert states(memory, "notes") == [(2, 1, ""), (3, 0, "beside")]
    assert memory.builds.rebuild("notes", user="ann", chat=None).other.chat == ""
    assert states(memory, "notes") == [(2, 1, ""), (3, 0, "beside")]


def test_a_switch_to_what_other_models_began(opened, memory):
    """Who has neither the models nor a complete build is told which to bring."""
    memory.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other"))
    memory.close()
    old = opened(embedder=HashEmbedder())
    with pytest.raises(InvalidInput, match=r"made with other models \(\d+/128/other-32/32"):
        old.builds.switch(user="ann")
    assert old.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other")).other.number == 2
    assert old.builds.switch(user="ann").serving.number == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda memory: memory.builds.switch("notes", user="ann"), "beside=True"),
        (lambda memory: memory.builds.rollback("notes", user="ann"), "until the next rebuild"),
        (lambda memory: memory.builds.discard("notes", user="ann"), "only what serves"),
        (lambda memory: memory.builds.diff("notes", user="ann"), "beside=True"),
        (lambda memory: memory.builds.status("dreams", user="ann"), "no view 'dreams'"),
        (lambda memory: memory.builds.rebuild(user="ann", beside=1), "beside must be True or False"),
        (lambda memory: memory.builds.rebuild(user="ann", chat="gpt"), "chat must be a ChatModel"),
    ],
)
def test_bad_input_names_the_fix(memory, call, says):
    """Nothing is changed."""
    before = states(memory, "notes")
    with pytest.raises(InvalidInput, match=says):
        call(memory)
    assert states(memory, "notes") == before


def test_the_kv_view_has_no_second_build(memory):
    """A view that says nothing that could be compared is refused, with what there is instead."""

    class Keys:
        name = "kv"

    memory.admin.attach(lambda database, tokenizer: Keys())
    with pytest.raises(InvalidInput, match=r"rebuild\('kv', user=\.\.\.\) makes it anew"):
        memory.builds.rebuild("kv", user="ann", beside=True)
    memory.admin.detach(memory._wiring.views["kv"])


def test_of_nobody_nothing_is_made(memory):
    """A user who never said anything has no builds."""
    builds = memory.builds.rebuild(user="nobody", beside=True)
    assert (builds.serving, builds.other) == (None, None)
    assert memory.users() == ["ann"]


def test_a_choice_that_is_made_again_stands(opened, memory):
    """Two rebuilds with the same new embedder, both chosen: older settings still do not undo the choice."""
    for _ in range(2):
        memory.builds.rebuild(user="ann", embedder=HashEmbedder(32, name="other"))
        memory.builds.switch(user="ann")
    chosen = memory.builds.status(user="ann").serving
    old = opened(embedder=HashEmbedder())
    old.maintain()
    assert old.builds.status(user="ann").serving == chosen


def test_a_step_of_a_discarded_build_is_not_committed_into_the_next(memory):
    """A build of another chat model took the number meanwhile: what this one's model said goes nowhere."""

    def slow(request):
        if memory.builds.status("notes", user="ann").other.chat == "slow":
            memory.builds.discard("notes", user="ann")
            of_view.begin(memory._database, "ann", memory._wiring.notes, "next")
        return {"notes": [], "ended": [{"id": 1, "by": 2}]}

    memory.builds.rebuild("notes", user="ann", chat=ScriptedModel(slow, "slow"))
    builds = memory.builds.status("notes", user="ann")
    assert (builds.other.number, builds.other.chat, builds.other.read_to) == (2, "next", 0)


class Overtaken(HashEmbedder):
    """In the midst of its next call something else is done."""

    overtake = None

    def embed(self, texts):
        overtake, self.overtake = self.overtake, None
        if overtake is not None:
            overtake()
        return super().embed(texts)


@pytest.mark.parametrize("dimension", [16, 32])
def test_a_rebuild_that_another_process_overtook_ends(opened, dimension):
    """Whoever finds the switch made, or another model's build, leaves it at that: nothing is half built."""
    embedder = Overtaken(16)
    memory, other = opened(embedder=embedder, batch_messages=2), opened(embedder=HashEmbedder(dimension))
    memory.add(TALK, user="ann")
    embedder.overtake = lambda: other.builds.rebuild(user="ann")
    memory.builds.rebuild(user="ann")
    assert [state[1:] for state in states(memory)] == [(1, "")]
    assert memory.builds.status(user="ann").serving.unread == 0
    assert memory.admin.check().ok


def test_a_first_build_beside_a_rebuild(opened):
    """Who reads for the first time while another process rebuilds has a build of another number."""
    failing, embedder = FailingEmbedder(HashEmbedder(16)), Overtaken(16)
    memory, other = opened(embedder=failing), opened(embedder=embedder, batch_messages=2)
    memory.add(TALK, user="ann")
    failing.failing = False
    began = []
    embedder.overtake = lambda: began.append((memory.maintain(), states(memory)))
    other.builds.rebuild(user="ann")
    assert began[0][1] == [(1, 0, ""), (2, 1, "")]
    assert states(memory) == [(1, 1, "")]
    assert memory.admin.check().ok
