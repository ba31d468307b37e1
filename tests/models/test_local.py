"""A local Transformers model as a chat model: log-probabilities, and what is not computed twice."""

import pytest

from zibaldone.errors import ModelFailed
from zibaldone.models import ChatRequest, Turn

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

from zibaldone.models.local import LocalChat  # noqa: E402 - only where torch is installed
from zibaldone.models.logprobs import uncertainty  # noqa: E402

VOCABULARY = "<pad> <bos> USER BOT SEP ASK ARROW".split() + [
    f"{kind}{n}"
    for kind, count in (("name", 64), ("attribute", 16), ("value", 96), ("filler", 65))
    for n in range(count)
]
IDS = {word: number for number, word in enumerate(VOCABULARY)}
SHARED = "USER name1 attribute1 value1 value2 SEP"


@pytest.fixture(scope="module")
def model():
    """Two small layers with weights of a fixed seed."""
    torch.manual_seed(3)
    config = transformers.LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=128,
        eos_token_id=None,
        bos_token_id=None,
        pad_token_id=0,
    )
    return transformers.LlamaForCausalLM(config).eval()


@pytest.fixture
def new_chat(model):
    """Makes a LocalChat of the model."""
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel(IDS, unk_token="<pad>"))
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()

    def new():
        return LocalChat(model, transformers.PreTrainedTokenizerFast(tokenizer_object=words))

    return new


def ask(text, **options):
    """A request for a short draft."""
    return ChatRequest("tests.ask", (Turn("user", text),), **{"max_tokens": 4, "logprobs": 3} | options)


def test_a_greedy_answer_with_its_log_probabilities(new_chat, model):
    """They are those of the whole text in one pass, and the likeliest token was taken each time."""
    chat = new_chat()
    reply = chat.chat(ask(SHARED))
    assert (reply.finish, reply.completion_tokens, reply.prompt_tokens) == ("length", 4, 6)
    ids = [IDS[word] for word in f"{SHARED} {reply.text}".split()]
    with torch.inference_mode():
        logprobs = model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    wanted = [float(logprobs[at - 1, ids[at]]) for at in range(6, 10)]
    assert [one.logprob for one in reply.logprobs] == pytest.approx(wanted, abs=1e-4)
    assert [one.alternatives[0] for one in reply.logprobs] == [(t.token, t.logprob) for t in reply.logprobs]
    nll, entropy = uncertainty(reply.logprobs)
    assert nll == pytest.approx(-sum(wanted) / 4, abs=1e-4)
    assert entropy > 0


def test_a_shared_beginning_is_computed_once(new_chat):
    """The second prompt's answer is the same as without a cache, and only its end is computed."""
    chat = new_chat()
    first, second = f"{SHARED} ASK name1 attribute1 ARROW", f"{SHARED} ASK name2 attribute1 ARROW"
    chat.chat(ask(first))
    before = chat.computed_tokens
    cached, fresh = chat.chat(ask(second)), new_chat().chat(ask(second))
    assert chat.computed_tokens - before == 3
    assert cached.text == fresh.text
    assert [t.logprob for t in cached.logprobs] == pytest.approx(
        [t.logprob for t in fresh.logprobs], abs=1e-4
    )


def test_the_same_prompt_again(new_chat):
    """One token is computed, and the answer is the same."""
    chat = new_chat()
    first = chat.chat(ask(SHARED))
    before = chat.computed_tokens
    again = chat.chat(ask(SHARED))
    assert chat.computed_tokens - before == 1
    assert again.text == first.text


def test_no_log_probabilities_unasked(new_chat):
    """None are given where none are wanted."""
    assert new_chat().chat(ask(SHARED, logprobs=None)).logprobs is None


def test_a_model_that_fails(new_chat, monkeypatch, model):
    """Whatever the library raises is a failed model, and nothing half done is reused."""
    chat = new_chat()
    wanted = chat.chat(ask(SHARED)).text
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "forward", lambda *a, **k: 1 / 0)
        with pytest.raises(ModelFailed, match="division by zero"):
            chat.chat(ask(f"{SHARED} ASK"))
    assert chat.chat(ask(SHARED)).text == wanted


def test_an_empty_prompt(new_chat):
    """Nothing can be answered to nothing."""
    with pytest.raises(ModelFailed, match="no token"):
        new_chat().chat(ask(""))
