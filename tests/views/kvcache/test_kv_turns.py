"""The ways in which messages are written for a model."""

import copy
from datetime import UTC, datetime

import pytest
from kv_models import tokenizer

from zibaldone import InvalidInput, Message
from zibaldone.errors import UnsupportedModel
from zibaldone.views.kvcache.model.turns import chat, check_tokenizer, plain

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


def test_plain():
    """A line per message, with speaker and date."""
    form = plain("Be brief.")
    assert form.turn(Message("I paint.", name="Ann", time=NOW)) == "Ann (2 March 2024): I paint.\n"
    assert form.turn(Message("I paint.")) == "user: I paint.\n"
    assert form.turn(Message("Yes.", role="assistant", time=NOW)) == form.ask(NOW) + " Yes.\n"
    assert form.pinned == "Be brief.\n"
    assert plain().pinned == ""


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


def test_chat_says_who_and_when():
    """Names and dates, which templates do not know, stand in the content."""
    form = chat(with_template(CHATML))
    said = form.turn(Message("w5", name="Ann", time=NOW))
    assert said == "<|im_start|>user\n[2 March 2024] Ann: w5<|im_end|>\n"


def test_a_template_that_looks_back():
    """A template that writes earlier messages otherwise when there are later ones is refused."""
    template = "{% for m in messages %}{{ loop.index }}/{{ messages | length }} {{ m.content }}\n{% endfor %}"
    with pytest.raises(UnsupportedModel, match="changes earlier messages"):
        chat(with_template(template))


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
