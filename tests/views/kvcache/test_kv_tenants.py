"""Two users of one folder and one model never see each other, in scores, answers, files or memory."""

import pytest
from kv_rig import Rig, line

OURS = {line(i) for i in range(4)}
THEIRS = {line(i) for i in range(10, 14)}
QUESTIONS = ("w0 w1 w2", "w60 w61 w62", "w5 w66", "unheard of")


@pytest.fixture
def rig(tmp_path):
    """Ann and Zoe, who said other things in sessions of the same name."""
    with Rig(tmp_path / "m") as made:
        for i in range(4):
            made.say(line(i), user="ann", session=str(i % 2))
            made.say(line(10 + i), user="zoe", session=str(i % 2))
        yield made


@pytest.fixture
def alone(tmp_path):
    """Ann without Zoe."""
    with Rig(tmp_path / "alone") as made:
        for i in range(4):
            made.say(line(i), user="ann", session=str(i % 2))
        yield made


def _files(rig, user):
    root = rig.path(user=user).parent.parent
    return {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_no_block_of_another_is_scored(rig, alone):
    """Every block's score is what it is without the other user, and there is none besides."""
    for question in QUESTIONS:
        found = rig.kv.scores(question, user="ann")
        assert found == alone.kv.scores(question, user="ann")
        assert {one.text.removesuffix(" END") for one in found} == OURS
        assert {one.text.removesuffix(" END") for one in rig.kv.scores(question, user="zoe")} == THEIRS


@pytest.mark.parametrize("question", QUESTIONS[:2])
def test_no_block_of_another_is_in_an_answer(rig, alone, question):
    """Answer, blocks, citations and counts are what they are without the other user."""
    answer, expected = (one.ask(question, user="ann", top_k=2) for one in (rig, alone))
    assert (answer.text, answer.blocks, answer.citations, answer.kv_tokens) == (
        expected.text,
        expected.blocks,
        expected.citations,
        expected.kv_tokens,
    )
    assert answer.trace.considered == 4
    assert {cited.text for cited in answer.citations} <= OURS


def test_no_message_of_another_is_recalled(rig):
    """recall(views=["kv"]) offers the user's own messages alone, also where another's would fit better."""
    for question in QUESTIONS:
        found = rig.memory.recall(question, user="ann", views=["kv"], min_confidence=0, budget_tokens=1000)
        assert {unit.text for unit in found.evidence} == OURS


def test_questions_of_two_users_by_turns_stay_apart(rig):
    """A warm index and warm tiers of the one are not the other's."""
    first = {user: rig.kv.scores("w1 w61", user=user) for user in ("ann", "zoe")}
    for user in ("ann", "zoe", "zoe", "ann"):
        rig.ask(user=user)
        assert rig.kv.scores("w1 w61", user=user) == first[user]


def test_the_index_holds_one_user_s_boxes(rig):
    """As many boxes as the user has blocks, all of them the user's own messages."""
    for user, said in (("ann", OURS), ("zoe", THEIRS)):
        with rig.database.read() as connection:
            index = rig.view.indexes.get(connection, rig.pool(user))
        texts = {rig.kv._encoder.tokenizer.decode(list(block.tile.ids[:-1])) for block in index.blocks}
        assert texts == said
        assert {len(boxes) for boxes in index.boxes.values()} == {4}
        assert index.pool.generation.user == user


def test_blocks_of_equal_numbers_are_not_mistaken_in_memory(rig):
    """Both users have a block 1: each gets the own one, whoever asked first."""
    for user in ("ann", "zoe"):
        rig.ask(user=user, top_k=8)
    raws = [rig.fetched(user, most=1).raw[0] for user in ("ann", "zoe")]
    assert not raws[0][0].keys.equal(raws[1][0].keys)


def test_forgetting_one_changes_no_byte_of_the_other(rig):
    """Files, rows and answers of the other stay as they were."""
    before = _files(rig, "zoe"), rig.blocks("zoe"), rig.kv.scores("w1", user="zoe")
    rig.memory.forget(user="ann", seqs=[1])
    assert (_files(rig, "zoe"), rig.blocks("zoe"), rig.kv.scores("w1", user="zoe")) == before
    rig.memory.forget(user="ann", everything=True)
    assert (_files(rig, "zoe"), rig.blocks("zoe"), rig.kv.scores("w1", user="zoe")) == before


def test_a_generated_turn_names_its_own_user_s_messages(rig):
    """What was recalled is of one user: another's message of the same number may be forgotten."""
    rig.ask(user="ann", remember=True)
    rig.kv.flush()
    made = rig.made("ann")
    rig.memory.forget(user="zoe", seqs=[1, 2, 3, 4])
    assert rig.made("ann") == made
    assert rig.attended()


def test_users_of_like_names_are_strangers(rig):
    """A name that is nearly another's has no block."""
    for user in ("ANN", "ann ", "an", "ann%", "../ann"):
        assert rig.kv.scores("w1", user=user) == []
        assert rig.ask(user=user).blocks == ()
