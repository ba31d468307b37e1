"""A tight budget costs time and no answers: the small trained model is right as often as with everything."""

import random
from dataclasses import replace

import pytest

from zibaldone import Memory
from zibaldone.bench.kv import toy
from zibaldone.bench.kv.quality import BLOCKS, CHECKPOINT, load, toy_format, toy_needles
from zibaldone.kv import Budget, KVMemory

TURNS = 1200  # tokens of them
ASKED = 15


@pytest.mark.exhaustive
def test_answers_are_as_right_with_a_tenth_of_the_blocks_in_place(tmp_path):
    """Blocks that were evicted are found by their keys, and encoded again."""
    model, tokenizer = load(CHECKPOINT)
    said, facts = toy.history(random.Random(1), TURNS)
    with Memory(tmp_path / "m") as memory:
        memory.add([{"role": "user", "content": turn} for turn in said], user="ann")
        with KVMemory(
            model, tokenizer, memory, config=BLOCKS, format=toy_format(), needles=toy_needles()
        ) as kv:
            blocks = kv.remember(user="ann").blocks
            stride = kv.view.encoder.layout.stride_bytes
            kv.view.budget = replace(Budget(), user_bytes=blocks // 10 * stride)
            kv.remember(user="ann")
            kv.view.tiers.drop("ann")
            wrong = [
                fact
                for fact in facts[:: len(facts) // ASKED][:ASKED]
                if kv.generate(fact.question, user="ann", top_k=8, max_new_tokens=2).text != fact.answer
            ]
    assert len(wrong) <= 1
