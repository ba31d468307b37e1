"""What a view offers: cited, whole, best first, of this user alone."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rig import CONVERSATION, QUESTIONS, STATIC, Rig, mentions, messages_from
from sqlalchemy import text

from zibaldone.text.rendering import line, line_tokens

OTHERS = messages_from(
    ("1", "Zoe", "The orchestra pays me for the bassoon, and Ann moved to Lisbon."),
    ("9", "Ann", "犬が嫌いです。 Quantum chromodynamics happened last month."),
    ("2", "Bea", "bassoon bassoon bassoon orchestra Lisbon"),
)


def test_every_unit_names_its_sources_which_exist(built):
    """Messages of the log, at least one, in order; its view, a kind, a source's time and session, its tokens.

    The best comes first: scores fall from unit to unit, but for a last bit.
    """
    for evidence, *_ in built.offers():
        for unit in evidence:
            assert unit.sources
            assert list(unit.sources) == sorted(set(unit.sources))
            assert set(unit.sources) <= set(range(1, len(CONVERSATION) + 1))
            assert unit.view == built.view.name == built.case.name.split()[0]
            assert unit.kind
            assert [unit.tokens] == line_tokens([line(unit.speaker, unit.text)], STATIC.count)
            sources = [CONVERSATION[seq - 1] for seq in unit.sources]
            assert unit.session in {message.session for message in sources}
            assert unit.time in {message.time for message in sources}
        scores = [round(unit.score, 4) for unit in evidence]
        assert scores == sorted(scores, reverse=True)


def test_the_same_question_gets_the_same_offer(built):
    """Asking changes nothing, neither the answer nor the tables."""
    before = built.everything()
    assert built.offers() == built.offers() == built.offers(view=built.new_view())
    assert built.everything() == before


@pytest.mark.usefixtures("finds_everything")
def test_a_message_can_be_recalled_before_the_view_has_read_it(built):
    """What lies past the cursor is offered, and is not a fault."""
    (late,) = built.append(messages_from(("4", "Ann", "The zeppelin museum opens on Sunday.")))
    assert built.serving().cursor < late.seq
    assert late.seq in built.sources()
    assert late.seq in built.sources(view=built.new_view())
    assert built.faults() == []
    assert built.advance()
    assert late.seq in built.sources()


@pytest.mark.usefixtures("finds_everything")
def test_a_log_that_the_view_never_read_can_be_recalled(rig):
    """Without any generation the whole log is the tail."""
    rig.append(CONVERSATION)
    assert rig.serving() is None
    assert {4, 6} <= rig.sources()


def test_an_empty_memory_offers_nothing(rig):
    """For a user without messages there is no unit, and no message to explain."""
    for evidence, considered, _, _, explained in rig.offers():
        assert evidence == ()
        assert considered == 0
        assert explained == [None]


@pytest.mark.parametrize("session", ["1", "2", "3", "no such session"])
@pytest.mark.usefixtures("finds_everything")
def test_a_session_narrows(built, session):
    """Asked about one session, a view offers units of no other."""
    expected = {i for i, message in enumerate(CONVERSATION, 1) if message.session == session}
    offered = {seq for offer in built.offers(session=session) for unit in offer[0] for seq in unit.sources}
    assert offered <= expected
    assert bool(offered) == bool(expected)


@pytest.mark.usefixtures("finds_everything")
def test_a_small_budget_still_gets_an_offer_and_a_large_one_more(built):
    """The offer grows with the budget."""
    questions = [built.question(QUESTIONS[0], budget_tokens=budget) for budget in (1, 100, 10_000)]
    sizes = [len(built.retrieve(question).evidence) for question in questions]
    assert 1 <= sizes[0] <= sizes[1] <= sizes[2]
    assert sizes[0] < sizes[1] < sizes[2] or not built.case.fills


def test_explanations_outlive_what_happens_afterwards(built):
    """A message that came after the question is unknown to its answer; one that stays has its explanation."""
    offer = built.retrieve(built.question(QUESTIONS[0], budget_tokens=200))
    before = [offer.explain(seq) for seq in range(4, 13)]
    (late,) = built.add(OTHERS[:1])
    built.offers()
    assert offer.explain(late.seq) is None
    built.forget([1, 2, 3])
    built.offers()
    assert [offer.explain(seq) for seq in range(4, 13)] == before


STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 11), st.integers(1, 4)),
    st.tuples(st.just("append"), st.integers(0, 11), st.integers(1, 4)),
    st.tuples(st.just("forget"), st.sets(st.integers(1, 20), max_size=4)),
    st.tuples(st.sampled_from(["advance", "rebuild", "ask"])),
)


# An episode that is closed later than one that began after it.
EARLIER_UNIT_LATER = [
    *(("add", start, number) for start, number in ((11, 4), (7, 3), (4, 1), (4, 2))),
    ("ask",),
    ("add", 0, 1),
    ("add", 0, 1),
]


@pytest.mark.parametrize("examples", [pytest.param(25, marks=pytest.mark.exhaustive), 5])
def test_whatever_happens_a_warm_view_answers_as_a_cold_one(new_rig, examples):
    """After any adds, lags, rebuilds and deletions, who saw it all offers what a new instance does."""

    @settings(max_examples=examples, deadline=None)
    @given(st.lists(STEPS, max_size=8))
    @example(EARLIER_UNIT_LATER)
    def check(steps):
        rig = new_rig()
        for what, *details in [*steps, ("ask",)]:
            if what in ("add", "append"):
                start, number = details
                getattr(rig, what)(CONVERSATION[start : start + number])
            elif what == "ask":
                assert rig.offers() == rig.offers(view=rig.new_view())
            else:
                getattr(rig, what)(*details)
        assert rig.faults() == []

    check()


def test_a_second_tenant_changes_nothing_for_the_first(new_rig):
    """Rows and offers of one user are bit-equal with and without another user's memory beside."""
    alone, shared = new_rig(), new_rig()
    alone.add(CONVERSATION[:6])
    alone.add(CONVERSATION[6:])
    shared.add(OTHERS, user="zoe")
    shared.add(CONVERSATION[:6])
    shared.offers()
    shared.add(OTHERS, user="zoe")
    shared.offers("zoe")
    shared.add(CONVERSATION[6:])
    assert shared.rows() == alone.rows()
    assert shared.offers() == alone.offers()


def test_forgetting_one_tenant_changes_nothing_for_the_other(new_rig):
    """The same seqs of another user stay, in rows, offers and counts."""
    rig = new_rig()
    rig.add(CONVERSATION)
    rig.add(OTHERS, user="zoe")
    before = rig.rows(), rig.offers(), rig.stats()
    rig.forget([1, 2, 3], user="zoe")
    assert (rig.rows(), rig.offers(), rig.stats()) == before
    assert not mentions(rig.everything(), "chromodynamics")


def test_rebuilding_one_tenant_changes_nothing_for_the_other(new_rig):
    """Another user's rebuild, with another model at that, is not seen."""
    rig = new_rig()
    rig.add(CONVERSATION)
    rig.add(OTHERS, user="zoe")
    before = rig.rows(), rig.offers(), rig.states()
    rig.rebuild(rig.another_model(), user="zoe")
    assert (rig.rows(), rig.offers(), rig.states()) == before


def test_each_kind_of_fault_is_named(case, new_rig):
    """Every fault that can be planted is found, and the message it is about is named."""
    assert case.plants
    for plant in case.plants:
        rig: Rig = new_rig().read(CONVERSATION)
        with rig.database.write() as connection:
            connection.execute(text(plant.sql))
        assert plant.says in rig.faults()


def test_faults_of_one_tenant_are_not_another_s(case, built):
    """A fault planted with one user is not found with another."""
    built.add(OTHERS, user="zoe")
    with built.database.write() as connection:
        connection.execute(text(case.plants[0].sql + " AND \"user\" = 'ann'"))
    assert built.faults()
    assert built.faults("zoe") == []
