"""Answers become blocks from the keys that generating left."""

from kv_rig import USER, Rig, encodings, filled

from zibaldone.errors import StorageFull


def test_an_answer_is_remembered_without_a_second_encoding(tmp_path, monkeypatch):
    """Question and answer become blocks from the keys that generating left; what was in sight is noted."""
    with filled(tmp_path / "m") as rig, encodings(monkeypatch) as seen:
        answer = rig.ask(remember=True, turns=2)
        assert rig.kv.remember(user=USER).messages == 0
        assert seen == []
        asked, answered = rig.memory.messages(user=USER)[-2:]
        assert [asked.content, answered.content] == ["w3 w4 w5", answer.text]
        assert [asked.role, answered.role] == ["user", "assistant"]
        blocks = [block for block in rig.blocks() if block.tile.seqs[0] > 8]
        assert [block.tile.seqs for block in blocks] == [(9,), (10,)]
        assert all(block.crc is not None for block in blocks)
        in_sight = {cited.seq for cited in answer.citations}
        assert in_sight < set(range(1, 9))
        assert rig.attended() == {(seq, other) for seq in (9, 10) for other in in_sight}
        assert rig.memory.admin.check().faults == ()


def test_what_is_said_in_between_makes_it_encode(tmp_path, monkeypatch):
    """When a message comes before the answer is written, the pool catches up by encoding, with no edges."""
    with filled(tmp_path / "m", 4) as rig, encodings(monkeypatch) as seen:
        add = rig.memory.add

        def forgotten_then(*given, **options):
            rig.memory.forget(user=USER, seqs=[2])
            return add(*given, **options)

        monkeypatch.setattr(rig.memory, "add", forgotten_then)
        rig.ask(remember=True)
        assert 6 not in rig.seqs()
        rig.kv.remember(user=USER)
        assert len(seen) >= 2
        assert rig.attended() == set()
        assert rig.seqs() == {1, 3, 4, 5, 6}
        assert rig.memory.admin.check().faults == ()


def test_an_answer_that_could_not_be_written_is_encoded(tmp_path, monkeypatch, caplog):
    """It is given, and the log has it: its blocks are made by the next remember()."""
    with filled(tmp_path / "m", 4) as rig:

        def fail(*_, **__):
            raise StorageFull("no space left")

        with monkeypatch.context() as patch:
            patch.setattr(rig.view, "continued", fail)
            rig.ask(remember=True)
        assert "were not written, they will be encoded" in caplog.text
        assert rig.kv.remember(user=USER).messages == 2
        rig.ask(remember=True)
        assert rig.seqs() == set(range(1, 9))


def test_the_first_answer_of_an_empty_memory_is_remembered(tmp_path):
    """Without any message the model answers alone, and both turns become the first blocks."""
    with Rig(tmp_path / "m") as rig:
        assert rig.ask(remember=True).blocks == ()
        assert rig.seqs() == {1, 2}
        assert rig.memory.admin.check().faults == ()
