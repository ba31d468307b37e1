"""The Python of docs/kv.md, with a tiny model in the place of a reader's."""

import re
from pathlib import Path
from types import SimpleNamespace

import kv_rig
import pytest
import transformers
from test_kv_turns import CHATML, with_template

from zibaldone.api.kv import KVMemory

PAGE = (Path(__file__).parents[3] / "docs" / "kv.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.wide


def test_the_page_s_examples_run(tmp_path, monkeypatch):
    """Both: an answer from memory as keys, and a prompt for vLLM, whose answer is remembered."""
    monkeypatch.chdir(tmp_path)
    model, tokenizer = kv_rig.model(), with_template(CHATML)
    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", lambda *_, **__: model)
    monkeypatch.setattr(transformers.AutoTokenizer, "from_pretrained", lambda *_: tokenizer)
    by_transformers, by_vllm = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(by_transformers, names)
    assert names["answer"].kv_tokens > 0
    sent = []
    httpx = SimpleNamespace(
        post=lambda url, json: (
            sent.append(json) or SimpleNamespace(json=lambda: {"choices": [{"text": "w7"}]})
        )
    )
    with KVMemory(model, tokenizer, names["memory"], format=names["form"]) as kv:
        exec(by_vllm, {"kv": kv, "httpx": httpx, "MODEL": "tiny"})
    assert sent[0]["cache_salt"]
    assert "w7" in [message.content for message in names["memory"].messages(user="caroline")]
    names["memory"].close()
