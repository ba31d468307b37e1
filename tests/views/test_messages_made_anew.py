"""The messages view against one without a cache: increments and saved segments change no answer."""

from datetime import timedelta
from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from zibaldone import Message, log
from zibaldone.core import Scope
from zibaldone.engine import forgetting, generations, maintenance
from zibaldone.engine.forgetting import Selector
from zibaldone.log.filters import Narrowing
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.recall import read_question
from zibaldone.search.question import Question
from zibaldone.storage.opening import open_database
from zibaldone.testing import FrozenClock
from zibaldone.views import index_files, unit_cache
from zibaldone.views.messages import MessagesView

STATIC = shared_static_embedder()
WORDS = ("bassoon", "Lisbon", "yesterday", "Ann", "rent?", "in May", "bread. The oven is hot", "犬が好き")
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), SENTENCES, st.sampled_from("12")),
        st.tuples(st.just("read"), st.none(), st.none()),
        st.tuples(st.just("save"), st.none(), st.none()),
        st.tuples(st.just("forget"), st.integers(1, 8), st.none()),
        st.tuples(st.just("ask"), SENTENCES, st.sampled_from([None, "1"])),
    ),
    min_size=4,
    max_size=14,
)


def answered(database, view, question):
    """The question as it is read, and what the view finds for it: words, sources, rounded scores."""
    read = read_question(database, view, question, Narrowing())
    reply = view.retrieve(generations.snapshots(database, "ann", view), read)
    return read, (
        [(e.text, e.sources, round(e.score, 3)) for e in reply.evidence],
        round(reply.confidence, 3),
    )


_ADD, _SAVE = ("add", "bassoon", "1"), ("save", None, None)


@given(STEPS)
@example([_ADD, _SAVE, _ADD, ("ask", "bassoon", None), _ADD, _SAVE])  # a part of what was unread is read
def test_the_cached_index_answers_as_one_made_anew(tmp_path_factory, steps):
    """After any order of adds, reads, forgettings and new processes it finds the same, scores and all."""
    now = FrozenClock()()
    database = open_database(tmp_path_factory.mktemp("views"), busy_timeout_s=5)
    view = MessagesView(STATIC, STATIC, STATIC)
    try:
        for number, (verb, what, session) in enumerate([*steps, ("ask", "Ann bassoon in May", None)]):
            if verb == "add":
                message = Message(what, name="Ann", session=session, time=now - timedelta(days=30 - number))
                with database.write() as connection:
                    log.append(connection, "ann", [message], now)
            elif verb == "read":
                assert maintenance.advance(database, "ann", view)
            elif verb == "save":
                with mock.patch.object(unit_cache, "_LEAST_SAVED", 1):
                    maintenance.maintain(database, [view], ["ann"])
                view = MessagesView(STATIC, STATIC, STATIC)
            elif verb == "forget":
                forgetting.forget(database, [view], "ann", Selector(seqs=(what,)), dry_run=False)
            else:
                unread = Question(what, Scope("ann", session), 100, now)
                cached = answered(database, view, unread)
                with mock.patch.object(index_files, "segments", return_value={}):
                    fresh = MessagesView(STATIC, STATIC, STATIC)
                    assert answered(database, fresh, unread) == cached
    finally:
        database.close()
