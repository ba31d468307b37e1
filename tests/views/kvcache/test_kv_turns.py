"""From messages to blocks of tokens and back, and the ways in which messages are written."""

import copy
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kv_models import some_ids, tokenizer, words

from zibaldone import InvalidInput, Message
from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.turns import (
    TurnPiece,
    chat,
    check_tokenizer,
    pieces,
    pieces_of,
    plain,
    question_of,
    tiles,
    tokens_of,
)

NOW = datetime(2024, 3, 2, 9, tzinfo=UTC)
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "chatml": CHATML,
    "with a first token": "{{ bos_token }}" + CHATML,
    "no newline": (
        "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}[end]{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    ),
}


def with_template(template):
    """The tokenizer, with a chat template."""
    made = copy.deepcopy(tokenizer())
    made.chat_template = template
    return made


@st.composite
def streams(draw):
    """Pieces of messages with ever greater seqs."""
    lengths = draw(st.lists(st.integers(1, 20), max_size=6))
    return [TurnPiece(3 * i + 1, tuple(range(100 * i, 100 * i + n))) for i, n in enumerate(lengths)]


BLOCK, ALIGN, START = st.integers(1, 9), st.sampled_from(["turn", "grid"]), st.integers(0, 50)


@given(streams(), START, BLOCK, ALIGN)
def test_round_trip(stream, start, block_tokens, align):
    """Tiles give back the pieces that they were cut from."""
    assert list(pieces_of(tiles(stream, start, block_tokens, align))) == stream


@given(streams(), START, BLOCK, ALIGN)
def test_tiles_cover_the_stream(stream, start, block_tokens, align):
    """Tiles follow each other without a gap, hold every token once, and are never too long."""
    found = tiles(stream, start, block_tokens, align)
    assert [i for tile in found for i in tile.ids] == [i for piece in stream for i in piece.ids]
    at = start
    for tile in found:
        assert tile.position == at
        assert 1 <= len(tile.ids) <= block_tokens
        assert sum(tokens for _, tokens in tile.runs) == len(tile.ids)
        at += len(tile.ids)


@given(streams(), START, BLOCK)
def test_a_turn_begins_a_block(stream, start, block_tokens):
    """With "turn" no block has tokens of two messages, and only a message's last is short."""
    found = tiles(stream, start, block_tokens, "turn")
    assert all(len(tile.seqs) == 1 for tile in found)
    for tile, after in pairwise(found):
        if tile.seqs == after.seqs:
            assert len(tile.ids) == block_tokens


@given(streams(), START, BLOCK)
def test_a_grid_is_full(stream, start, block_tokens):
    """With "grid" all blocks but the last are full."""
    assert all(len(tile.ids) == block_tokens for tile in tiles(stream, start, block_tokens, "grid")[:-1])


@given(streams(), BLOCK, ALIGN, st.sets(st.integers(0, 5)))
def test_forgotten_messages_leave_the_stream(stream, block_tokens, align, places):
    """Exactly the tokens of the forgotten messages are gone, of the others none."""
    without = frozenset(3 * place + 1 for place in places)
    left = list(pieces_of(tiles(stream, 0, block_tokens, align), without))
    assert left == [piece for piece in stream if piece.seq not in without]


@given(st.lists(st.integers(0, 99), min_size=1, max_size=30), st.integers(1, 12))
def test_long_messages(ids, most):
    """A message is cut into pieces that fit, in order."""
    found = list(pieces(7, ids, most))
    assert [i for piece in found for i in piece.ids] == ids
    assert all(len(piece.ids) == most for piece in found[:-1])
    assert {piece.seq for piece in found} == {7}


def test_plain():
    """A line per message, with speaker and date."""
    form = plain("Be brief.")
    assert form.turn(Message("I paint.", name="Ann", time=NOW)) == "Ann (2 March 2024): I paint.\n"
    assert form.turn(Message("I paint.")) == "user: I paint.\n"
    assert form.ask(NOW) + " Yes." + form.answer_end == form.turn(
        Message(" Yes.", role="assistant", time=NOW)
    ).replace(":  ", ": ")
    assert form.pinned == "Be brief.\n"
    assert plain().pinned == ""


def test_question():
    """A question is apart from the head of the answer, and both are without marks."""
    form = plain()
    found = question_of(tokenizer(), form, words([7, 8]), NOW)
    assert found.ids == found.turn + found.head
    assert found.turn == tokens_of(tokenizer(), form.turn(Message(words([7, 8]), time=NOW)))
    assert tokenizer().bos_token_id not in found.ids


@given(st.integers(1, 40))
def test_tokens_of(count):
    """Words are their ids."""
    ids = tuple(some_ids(count)[0].tolist())
    assert tokens_of(tokenizer(), words(ids)) == ids


TALK = [("user", "w5 w6"), ("assistant", "w7"), ("user", "w8"), ("assistant", "w9 w10"), ("user", "w11")]


@pytest.mark.parametrize("kind", TEMPLATES)
@pytest.mark.parametrize("system", ["", "w20 w21"])
def test_chat(kind, system):
    """Pieces, put together, are what the template writes of the whole conversation."""
    tok = with_template(TEMPLATES[kind])
    form = chat(tok, system)
    head = [{"role": "system", "content": system}] if system else []
    whole = tok.apply_chat_template(
        head + [{"role": role, "content": said} for role, said in TALK],
        tokenize=False,
        add_generation_prompt=True,
    )
    bos = tok.bos_token if kind == "with a first token" else ""
    parts = [form.turn(Message(said, role=role)) for role, said in TALK]
    assert bos + form.pinned + "".join(parts) + form.ask(NOW) == whole


@pytest.mark.parametrize("kind", TEMPLATES)
def test_an_answer_closed_is_a_turn(kind):
    """Head, answer and end are the answer's own turn."""
    form = chat(with_template(TEMPLATES[kind]))
    assert form.ask(NOW) + "w9" + form.answer_end == form.turn(Message("w9", role="assistant"))


def test_chat_says_who_and_when():
    """Names and dates, which templates do not know, stand in the content."""
    form = chat(with_template(CHATML))
    said = form.turn(Message("w5", name="Ann", time=NOW))
    assert said == "<|im_start|>user\n[2 March 2024] Ann: w5<|im_end|>\n"


def test_an_answer_s_head_with_any_letters():
    """Which letters a template marks an answer with does not matter."""
    template = (
        "{% for m in messages %}<{{ 'reply' if m.role == 'assistant' else 'ask' }}>{{ m.content }}</>"
        "{% endfor %}{% if add_generation_prompt %}<reply>{% endif %}"
    )
    assert chat(with_template(template)).answer_end == "</>"


def test_a_template_that_looks_back():
    """A template that writes earlier messages otherwise when there are later ones is refused."""
    template = "{% for m in messages %}{{ loop.index }}/{{ messages | length }} {{ m.content }}\n{% endfor %}"
    form = None
    with pytest.raises(UnsupportedModel, match="changes earlier messages"):
        form = chat(with_template(template))
    assert form is None


def test_no_template():
    """A tokenizer without one is told of plain()."""
    with pytest.raises(UnsupportedModel, match=r"plain\(\)"):
        chat(tokenizer())


def test_a_template_without_system_prompts():
    """A template that raises at a system prompt is refused in our words."""
    template = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHATML
    tok = with_template(template)
    assert chat(tok).pinned == ""
    with pytest.raises(UnsupportedModel):
        chat(tok, "w20")


def test_a_default_system_prompt():
    """A template's own system prompt, when none is given, stands before the conversation."""
    template = "{% if messages[0].role != 'system' %}<|im_start|>system\nw30<|im_end|>\n{% endif %}" + CHATML
    assert chat(with_template(template)).pinned == "<|im_start|>system\nw30<|im_end|>\n"


def test_another_model_s_tokenizer():
    """Ids that the model does not have, or what is no tokenizer, are refused."""
    check_tokenizer(tokenizer(), 120)
    with pytest.raises(InvalidInput, match="ids up to 119, the model only 100"):
        check_tokenizer(tokenizer(), 100)
    with pytest.raises(InvalidInput, match="Transformers tokenizer"):
        check_tokenizer(lambda text: [], 120)
