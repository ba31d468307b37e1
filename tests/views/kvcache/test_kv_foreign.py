"""Blocks of another model, dtype, tokenizer, format or setting are refused, and made anew."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from kv_rig import FORM, PAPER, USER, Rig, encodings, filled, line, tokenizer, with_config

from zibaldone.engine.generations import serving
from zibaldone.errors import ForeignKV
from zibaldone.views.kvcache.model.encoding import of_format

CHANGES = {
    "other weights": {"seed": 3},
    "other dtype": {"dtype": torch.bfloat16},
    "other tokenizer": {"words": tokenizer(more=True)},
    "other format": {"form": replace(FORM, ask=lambda _: "SAY SAY")},
    "other system prompt": {"form": replace(FORM, pinned="PIN PIN")},
    "other block size": {"config": with_config(block_tokens=4)},
    "other codec": {"config": with_config(codec="int8")},
    "other blocks": {"config": PAPER},
}
REST = [change for change in CHANGES if change != "other weights"]


@pytest.mark.parametrize(
    "change", ["other weights", *(pytest.param(change, marks=pytest.mark.wide) for change in REST)]
)
def test_what_another_model_made_is_never_read(tmp_path, change):
    """Blocks of another fingerprint are refused, and remember() makes them anew."""
    with filled(tmp_path / "m", 4) as rig:
        old = rig.view.fingerprint
    with Rig(tmp_path / "m", **CHANGES[change]) as rig:
        assert rig.view.fingerprint != old
        with rig.database.read() as connection:
            generation = serving(connection, USER, rig.view)
            with pytest.raises(ForeignKV, match="made by another model"):
                rig.view.pool(connection, generation)
        rig.kv.remember(user=USER)
        with rig.database.read() as connection:
            pool = rig.view.pool(connection, serving(connection, USER, rig.view))
        assert pool.generation.fingerprint == rig.view.fingerprint
    with Rig(tmp_path / "fresh", **CHANGES[change]) as fresh:
        for i in range(4):
            fresh.say(line(i), session=str(i % 2 + 1), remember=False)
        fresh.kv.remember(user=USER)
        made = fresh.made()
    with Rig(tmp_path / "m", **CHANGES[change]) as rig:
        assert rig.made() == made


def test_another_version_of_the_library_is_another_model(tmp_path, monkeypatch):
    """Keys of one version of Transformers are not mixed with those of the next."""
    with filled(tmp_path / "m", 2) as rig:
        old = rig.view.fingerprint
    other = SimpleNamespace(__version__="9.9.0")
    monkeypatch.setattr("zibaldone.views.kvcache.model.encoding.transformers", other)
    with Rig(tmp_path / "m") as rig:
        assert rig.view.fingerprint != old
        assert rig.ask().blocks
        assert rig.pool().generation.fingerprint == rig.view.fingerprint


@pytest.mark.parametrize("changes", [{}, {"top_k": 3, "aggregation": "sum", "recent_tokens": 0}])
def test_the_same_model_goes_on_without_encoding_again(tmp_path, monkeypatch, changes):
    """Opened again, the pool is as it was, also with settings that no stored block depends on."""
    with filled(tmp_path / "m") as rig:
        made = rig.made()
    with Rig(tmp_path / "m", config=with_config(**changes)) as rig, encodings(monkeypatch) as seen:
        assert rig.kv.remember(user=USER).messages == 0
        assert rig.ask().text
        assert rig.made() == made
    assert seen == []


@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
@pytest.mark.parametrize("name", [None, "Ann"])
@pytest.mark.parametrize("dated", [True, False])
def test_how_each_kind_of_turn_is_written_is_in_the_fingerprint(role, name, dated):
    """Another header of one role's turns, with a name or without, is another format."""

    def other(message):
        same = (message.role, message.name is None, message.time is None) == (role, name is None, not dated)
        return f"{'<other>' if same else ''}{FORM.turn(message)}"

    assert of_format(replace(FORM, turn=other)) != of_format(FORM)
