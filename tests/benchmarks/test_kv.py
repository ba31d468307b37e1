"""The kv benchmark at its smallest: arms are asked, and paired with the same turns as text."""

import json
import sys

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tokenizers import Tokenizer  # noqa: E402 - only where torch is installed
from tokenizers.models import WordLevel  # noqa: E402
from tokenizers.pre_tokenizers import WhitespaceSplit  # noqa: E402

from benchmarks import kv  # noqa: E402
from zibaldone.errors import InvalidInput  # noqa: E402

WORDS = ["<pad>", "<bos>", "</s>", *"I adopted a greyhound called Comet. Comet Ann Ben My telescope".split()]


@pytest.fixture
def model(tmp_path):
    """A folder with a random Llama, and a tokenizer of words that mostly knows none."""
    words = {word: number for number, word in enumerate(dict.fromkeys(WORDS))}
    tokenizer = Tokenizer(WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    marks = {"pad_token": "<pad>", "bos_token": "<bos>", "eos_token": "</s>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **marks).save_pretrained(
        tmp_path / "model"
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.wide
def test_arms_are_asked_and_paired(model, paths, tmp_path, monkeypatch):
    """Keys of the turns that were recalled cost no prefill of theirs; as text they do."""
    output = tmp_path / "out.json"
    words = ["--conversations", "1", "--arms", "recall-text,none,oracle-kv,paper", "--answer", "2"]
    given = [str(paths["locomo"]), str(model), *words, "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["kv", *given])
    kv.main()
    rows = {row["arm"]: row for row in json.loads(output.read_text())["rows"]}
    assert list(rows) == ["recall-kv", "recall-text", "none", "oracle-kv", "paper"]
    assert rows["recall-text"]["against"]["value"] == 0
    assert (rows["none"]["memory_tokens"], rows["none"]["evidence"]["value"]) == (0, 0)
    assert rows["oracle-kv"]["evidence"]["value"] == 1
    assert rows["recall-kv"]["evidence"] == rows["recall-text"]["evidence"]
    keys, text = rows["recall-kv"], rows["recall-text"]
    assert text["prefill_tokens"] == keys["prefill_tokens"] + keys["memory_tokens"]


def test_kv_arms_are_paired_with_the_text_of_the_same_turns():
    """The difference is by question."""
    answers = [
        kv.ArmAnswer(arm, question, hops, value, 1.0, 5, 5, ())
        for arm, values in (("recall-text", (-2.0, -4.0)), ("none", (-6.0, -6.0)), ("paper", (-1.0, -4.0)))
        for question, hops, value in zip("ab", ("single-hop", "multi-hop"), values, strict=True)
    ]
    text, _, paper = kv.rows_of(answers)
    assert (text.against.value, paper.against.value, paper.gain.value) == (0.0, 0.5, 3.5)
    assert (paper.single_hop.value, paper.multi_hop.value) == (1.0, 0.0)


@pytest.mark.wide
def test_figures_ask_each_strategy_block_size_and_k(model, paths, tmp_path, monkeypatch):
    """As in Figures 5 and 6: what is in sight has the tokens that k blocks have."""
    output = tmp_path / "out.json"
    words = ["--figures", "--blocks", "4,8", "--tokens", "8", "--strategies", "rr-max,softmax-sum"]
    given = [str(paths["locomo"]), str(model), "--conversations", "1", *words, "--output", str(output)]
    monkeypatch.setattr(sys, "argv", ["kv", *given])
    kv.main()
    rows = {row["arm"]: row for row in json.loads(output.read_text())["rows"]}
    figures = ["rr-max, 2 x 4", "softmax-sum, 2 x 4", "rr-max, 1 x 8", "softmax-sum, 1 x 8"]
    assert list(rows) == ["none", *figures]
    assert {rows[name]["memory_tokens"] for name in figures} == {8}


def test_a_path_without_a_model_is_refused(tmp_path):
    """With what to give."""
    with pytest.raises(InvalidInput, match="holds no model"):
        kv.load_pretrained(tmp_path)
