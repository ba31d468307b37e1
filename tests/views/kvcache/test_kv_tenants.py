"""Two users of one folder and one model never see each other, in scores, answers, files or memory."""

import pytest
from kv_rig import line, told

OURS = {line(i) for i in range(4)}


@pytest.fixture
def rig(tmp_path):
    """Ann and Zoe, who said other things in sessions of the same name."""
    talks = [
        (user, str(i % 2), range(at + i, at + i + 1))
        for i in range(4)
        for user, at in (("ann", 0), ("zoe", 10))
    ]
    with told(tmp_path / "m", *talks) as made:
        yield made


@pytest.fixture
def alone(tmp_path):
    """Ann without Zoe."""
    with told(tmp_path / "alone", *(("ann", str(i % 2), range(i, i + 1)) for i in range(4))) as made:
        yield made


@pytest.mark.parametrize("question", ["w0 w1 w2", "w60 w61 w62"])
def test_no_block_of_another_is_in_an_answer(rig, alone, question):
    """Answer, blocks, citations and counts are what they are without the other user."""
    answer, expected = (one.ask(question, user="ann", turns=2) for one in (rig, alone))
    assert (answer.text, answer.blocks, answer.citations, answer.kv_tokens) == (
        expected.text,
        expected.blocks,
        expected.citations,
        expected.kv_tokens,
    )
    assert {cited.text for cited in answer.citations} <= OURS
