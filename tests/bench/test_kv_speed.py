"""The kv view's speed benchmark at its smallest: every figure is there and means what it says."""

import io
import json
from dataclasses import replace

import pytest
import torch
from rich.console import Console

from zibaldone import InvalidInput
from zibaldone.bench.kv import speed, speed_scoring
from zibaldone.bench.kv.speed_model import QUESTION_TOKENS, SHAPES, Settings, new_model, new_tokenizer
from zibaldone.bench.outcome import to_json

TOP_K = 4
RECALLED = TOP_K * 16 + 128  # the chosen blocks and the newest turns
SMALL = Settings(
    shape="tiny", device="cpu", history=(512, 256), top_k=TOP_K, threads=1, repeat=2, blocks=(300, 100)
)


@pytest.fixture(scope="module")
def told():
    """What the run said about its progress."""
    return []


@pytest.fixture(scope="module")
def report(tmp_path_factory, told):
    """One run."""
    folder = tmp_path_factory.mktemp("kv-speed")
    return speed.evaluate(SMALL, folder, lambda *said: told.append(said))


def test_there_is_a_row_per_history_and_per_index(report):
    """Whatever the order in which the sizes are given."""
    assert [one.history_tokens for one in report.first_token] == [256, 512]
    assert [one.blocks for one in report.first_token] == [256 // 16, 512 // 16]
    assert [one.blocks for one in report.scoring] == [100, 300]


def test_memart_prefills_the_question_alone(report):
    """Full context prefills all, text what MemArt reuses; the first token is the pinned one."""
    for one in report.first_token:
        assert one.warm.prefill_tokens == one.cold.prefill_tokens == QUESTION_TOKENS
        assert one.full.prefill_tokens == 1 + one.history_tokens + QUESTION_TOKENS
        assert one.memory_tokens == RECALLED
        assert one.text.prefill_tokens == 1 + one.memory_tokens + QUESTION_TOKENS


def test_warm_blocks_come_from_memory_and_cold_ones_from_disk(report):
    """A new KVMemory has nothing in its tiers; the second time the same question has all of it there."""
    for one in report.first_token:
        assert (one.warm.from_memory, one.warm.from_disk) == (TOP_K, 0)
        assert (one.cold.from_memory, one.cold.from_disk) == (0, TOP_K)


def test_ratios_are_positive(report):
    """Of every comparison."""
    for one in report.first_token:
        assert min(one.ratios.values()) > 0
        assert one.ratios["full_tokens"] > one.ratios["text_tokens"] > 1
    assert report.ingest.overhead_ratio > 0
    assert all(ratio > 0 for one in report.scoring for ratio in one.ratios.values())


def test_the_parts_of_a_first_token_add_up(report):
    """Nothing is counted twice: what the trace names takes no longer than all of it."""
    for one in report.first_token:
        for side in (one.warm, one.cold):
            assert min(side.probe_ms, side.score_ms, side.fetch_ms, side.prefill_ms, side.other_ms) > 0


def test_every_repetition_counts(report):
    """As many as were asked for."""
    assert {one.full.repeats for one in report.first_token} == {SMALL.repeat}
    assert {one.cold.repeats for one in report.first_token} == {SMALL.repeat}


def test_bytes_per_token_are_the_layouts(report):
    """All blocks of the made-up turns are full, so the files hold what the layout says."""
    shape = SHAPES["tiny"]
    key = shape.kv_heads * shape.head_dim * 2  # bytes of one token's keys in one layer
    assert report.disk.tokens == 512
    assert report.disk.blocks_per_token == report.disk.layout_per_token == 2 * shape.layers * key
    assert report.disk.boxes_per_token == report.disk.layout_boxes_per_token == 2 * 2 * key / 16


def test_a_strategy_that_would_take_too_long_is_left_out(monkeypatch):
    """A larger index is not tried once a smaller one was too slow; the smallest always is."""
    monkeypatch.setattr(speed_scoring, "PATIENCE_S", 0.0)
    found = speed_scoring.scorings(
        (100, 200), SHAPES["tiny"], SMALL.config, torch.device("cpu"), lambda *_: None
    )
    assert None not in found[0].ms.values()
    assert set(found[1].ms.values()) == set(found[1].ratios.values()) == {None}


def test_a_slow_side_is_not_repeated(tmp_path, monkeypatch):
    """A long history's full context is prefilled once, however many repetitions the others have."""
    monkeypatch.setattr(speed, "PATIENCE_S", 0.0)
    made = speed.evaluate(replace(SMALL, history=(256,), blocks=(10,)), tmp_path)
    assert made.first_token[0].full.repeats == 1
    assert made.first_token[0].warm.repeats == SMALL.repeat


def test_json_has_every_field_and_the_ratios(report):
    """Round trip."""
    whole = json.loads(to_json(report))
    assert whole["setting"]["shape"] == "tiny"
    assert whole["setting"]["layers"] == [1, 2]
    assert whole["first_token"][0]["ratios"] == report.first_token[0].ratios
    assert whole["first_token"][1]["warm"]["probe_ms"] == report.first_token[1].warm.probe_ms
    assert whole["ingest"]["overhead_ratio"] == report.ingest.overhead_ratio
    assert whole["disk"]["blocks_per_token"] == report.disk.blocks_per_token
    assert whole["scoring"][0]["ratios"] == report.scoring[0].ratios
    assert set(whole["scoring"][0]["ms"]) == {"softmax-max", "softmax-sum", "rr-max", "rr-sum"}


def test_tables_fit_a_terminal(report):
    """80 columns, nothing cut off."""
    console = Console(width=80, record=True, file=io.StringIO())
    for table in speed.tables(report):
        console.print(table)
    shown = console.export_text()
    assert "MemArt cold, ms" in shown
    rate = report.first_token[0].full.tokens_per_second  # beside the ratios, which follow it
    assert f"{rate:,.0f}" in next(line for line in shown.splitlines() if "prefilled tokens/s" in line)
    assert "rr-sum" in shown
    assert "…" not in shown


def test_a_strategy_that_was_left_out_shows_as_a_dash(report):
    """Not as a number."""
    left_out = replace(report.scoring[1], ms={**report.scoring[1].ms, "rr-sum": None})
    made = replace(report, scoring=(report.scoring[0], left_out))
    console = Console(width=80, record=True, file=io.StringIO())
    for table in speed.tables(made):
        console.print(table)
    row = next(line for line in console.export_text().splitlines() if "rr-sum" in line)
    assert row.split()[-1] == "-"


def test_progress_is_told(report, told):
    """What goes on, for a bar."""
    assert report
    assert {what.split()[0] for what, _, _ in told} == {"making", "remembering", "asking", "scoring"}


def test_the_number_of_threads_is_put_back(tmp_path, monkeypatch):
    """A benchmark leaves the process as it was, also when it fails."""
    before = torch.get_num_threads()
    asked_for = []
    monkeypatch.setattr(torch, "set_num_threads", asked_for.append)
    monkeypatch.setattr(speed, "new_model", lambda *_: pytest.fail("stop here"))
    with pytest.raises(pytest.fail.Exception):
        speed.evaluate(replace(SMALL, threads=before + 1), tmp_path)
    assert asked_for == [before + 1, before]


def test_a_word_is_a_token():
    """So that texts have exactly as many tokens as the figures say, and `ids_of` needs no tokenizer."""
    ids = new_tokenizer()("w1 w77 w8191", add_special_tokens=False)["input_ids"]
    assert ids == speed.ids_of("w1 w77 w8191") == [1, 77, 8191]


def test_the_shapes_have_the_parameters_of_their_names():
    """Counted without making them."""
    half = new_model(SHAPES["0.5b"], torch.device("meta"))
    whole = new_model(SHAPES["8b"], torch.device("meta"))
    assert sum(p.numel() for p in half.parameters()) == 494_032_768  # Qwen2.5-0.5B
    assert sum(p.numel() for p in whole.parameters()) == 8_030_261_248  # Llama-3.1-8B


@pytest.mark.parametrize(
    ("options", "fix"),
    [
        ({"shape": "70b"}, "--shape '70b' must be one of tiny, 0.5b, 8b"),
        ({"device": "mps"}, "--device 'mps' must be cpu or cuda"),
        ({"history": (4090,)}, "multiple of 32"),
        ({"history": (1024,)}, "give at least 1152, or a --top-k below 64"),
        ({"history": (32_768,)}, "give at most 32704"),
        ({"history": ()}, "at least one number"),
        ({"blocks": (0,)}, "--blocks must be a whole number of at least 1"),
        ({"top_k": 0}, "--top-k must be a whole number of at least 1"),
        ({"repeat": 0}, "--repeat must be a whole number of at least 1"),
        ({"threads": 0}, "--threads must be a whole number of at least 1"),
    ],
)
def test_a_bad_option_is_named_with_its_fix(options, fix):
    """Before anything is made."""
    with pytest.raises(InvalidInput) as raised:
        Settings(**options)
    assert fix in str(raised.value)


def test_cuda_is_refused_where_there_is_none(monkeypatch):
    """With what to do."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match="use --device cpu"):
        Settings(device="cuda")
    assert Settings().torch_device.type == "cpu"
