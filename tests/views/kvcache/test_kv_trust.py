"""When attention may choose: heads that tell turns apart, and needles made from the log itself."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace

import torch
from kv_rig import FORM, USER, Rig, filled, line, tokenizer, with_config

from zibaldone.views.kvcache.model.calibration import Calibration, Needles, _good_heads, _Turns
from zibaldone.views.kvcache.model.tap import RawKV
from zibaldone.views.kvcache.model.turns import plain, question_of
from zibaldone.views.kvcache.retrieve.scoring import LayerQueries
from zibaldone.views.kvcache.retrieve.trust import NO_HEADS, Trust, needles_of, sampled, trust_of
from zibaldone.views.kvcache.view import KVView


def turns_of(*keys):
    """Turns of one token each, with these keys of one head."""
    raw = [(seq, (RawKV(torch.tensor([[key]]), torch.zeros(1, 1, 1)),)) for seq, key in enumerate(keys, 1)]
    return _Turns(SimpleNamespace(raw=raw), 0, torch.device("cpu"))


def test_a_tie_is_no_find():
    """A head to which all turns look the same ranks the needle last, and one that knows it first."""
    asked = LayerQueries(0, torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]), None, (0, 0))
    turns = turns_of([5.0, 0.0], [5.0, 9.0], [5.0, 0.0], [5.0, 1.0])
    assert turns.reciprocal_ranks(asked, 1) == [1 / 4, 1.0]
    assert turns.reciprocal_ranks(asked, 3) == [1 / 4, 1 / 2]


def test_good_heads_alone_are_kept():
    """Several, of few layers, none far behind the best; none at all where none is good."""
    assert _good_heads({0: (0.29, 0.1), 1: (0.2, 0.28)}) == {}
    scores = {0: (0.9, 0.44), 1: (0.46, 0.5), 2: (0.6, 0.1), 3: (0.7, 0.1), 4: (0.55, 0.1)}
    assert _good_heads(scores) == {0: (0,), 2: (0,), 3: (0,), 4: (0,)}
    assert sum(map(len, _good_heads(dict.fromkeys(range(9), (0.9,) * 9)).values())) == 8


def test_a_model_without_good_heads_recalls_by_text(tmp_path):
    """Random weights find nothing: no head is kept, and answers say that attention did not choose."""
    config = with_config(select="attention", layers="calibrated", budget_tokens=40)
    with Rig(tmp_path / "m", config=config) as rig:
        assert rig.kv.calibration is not None
        assert rig.kv.calibration.heads == {}
        rig.say(*(line(i) for i in range(4)))
        answer = rig.kv.generate(line(2), user=USER, max_new_tokens=1)
        assert 3 in {cited.seq for cited in answer.citations}
        assert "does not choose" in answer.trace.note
        assert rig.kv.scores(line(2), user=USER) == []
        found = rig.memory.recall(line(2), user=USER, views=["kv"], floor=0)
        assert any("does not choose" in view.note for view in found.trace.views)
        assert rig.memory.check_integrity().faults == ()


def test_needles_are_turns_by_their_rarest_words():
    """In the turn's own order; none of turns with few words, and none where there are few turns."""
    texts = {
        seq: f"We talked about {word} and gardens again, with {other} of course"
        for seq, (word, other) in enumerate(
            zip(
                ["tulips", "violins", "sailing", "chess", "bread", "maps", "clocks"],
                ["Ada", "Ben", "Carla", "Dora", "Emil", "Fay", "Gus"],
                strict=True,
            ),
            1,
        )
    }
    needles = needles_of({**texts, 8: "Yes!"})
    assert [needle.seq for needle in needles] == list(texts)
    assert needles[1].question == "talked, violins, ben?"
    assert needles_of(dict(list(texts.items())[:5])) == []
    assert sampled(range(1000), 10) == list(range(0, 1000, 100))


def test_trust():
    """Mean reciprocal rank of the needles; below the least attention does not choose, and says so."""
    good = trust_of([1, 1, 2, None], [-0.1, -0.5, -0.2, -3.0], 40)
    assert (good.score, good.needles, good.surest) == (0.625, 4, (-0.5, -0.1))
    assert good.holds
    assert not good.refusal
    bad = trust_of([9, None, 20], [-1.0, -1.0, -1.0], 40)
    assert not bad.holds
    assert "3 needles" in bad.refusal
    assert NO_HEADS.refusal
    assert trust_of([], [], 3).holds  # so few turns fit any budget
    assert good.stale(80)
    assert not good.stale(79)


def test_relevance_grows_with_what_attention_is_sure_of():
    """As sure as needles that were found: as likely right as they were. Nothing where it is not trusted."""
    trust = Trust(0.8, 4, 40, (-2.0, -1.0))
    assert [trust.relevance(best) for best in (-3.0, -1.5, 0.0)] == [0.0, 0.4, 0.8]
    assert Trust(0.1, 4, 40, (-2.0,)).relevance(0.0) == 0.0


def test_what_is_kept_of_a_trust_can_be_read_again(tmp_path):
    """What cannot be read is measured anew."""
    trust = Trust(0.5, 4, 40, (-2.0, -1.0))
    trust.keep(tmp_path / "trust")
    assert Trust.kept(tmp_path / "trust") == trust
    (tmp_path / "trust").write_text(json.dumps({"score": 1}))
    assert Trust.kept(tmp_path / "trust") is None


def test_what_attention_finds_is_recalled_though_no_word_agrees(tmp_path, monkeypatch):
    """Where it is trusted, its own sureness counts against the floor, and not the words alone."""
    with filled(tmp_path / "m") as rig:
        for trust, recalled in ((Trust(0.1, 16, 99), False), (Trust(0.9, 16, 99, (-50.0,)), True)):
            monkeypatch.setattr(KVView, "trust", lambda *_, trust=trust: trust)
            found = rig.memory.recall("unheard of things", user=USER, views=["kv"])
            assert bool(found) is recalled


def test_what_a_format_writes_around_a_question_does_not_ask():
    """Of a question's tokens those of its own text ask; a format that changes nothing leaves all of them."""
    asked = question_of(tokenizer(), FORM, "w3 w4 w5", None)
    assert asked.words == slice(0, 3)
    assert len(asked.ids) == 5


def test_a_calibration_with_own_needles(tmp_path):
    """Is kept under their name and read again."""
    needles = Needles(tuple(line(i) for i in range(6)), ((line(2), 2), (line(4), 4)))
    assert needles.digest != Needles(needles.turns, needles.questions[:1]).digest
    Calibration({}, {0: (0.1, 0.2)}).keep(tmp_path / "c.json")
    assert Calibration.kept(tmp_path / "c.json") == Calibration({}, {0: (0.1, 0.2)})


def test_the_frame_of_plain_turns():
    """A name and a date in front, a line's end behind."""

    def characters(text, **_):
        return {"input_ids": [ord(character) for character in text]}

    asked = question_of(characters, plain(), "why?", datetime(2024, 3, 1, tzinfo=UTC))
    assert "".join(map(chr, asked.turn[asked.words])) == "why?"
