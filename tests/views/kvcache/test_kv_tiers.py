"""Tiers in memory, and budgets on disk: the least lately used goes, and comes back when it is asked for."""

import threading

import pytest
import torch
from kv_rig import USER, Rig, encodings, fill_anew, filled, leaked, line, secrets_of, vectors, with_config

from zibaldone import log
from zibaldone.kv import Budget, KVMemory
from zibaldone.views.kvcache.model.encoding import Encoder, tokens_in
from zibaldone.views.kvcache.model.tap import NOISE, RawKV
from zibaldone.views.kvcache.storage.codec import decode
from zibaldone.views.kvcache.storage.eviction import evict
from zibaldone.views.kvcache.storage.store import KVStore
from zibaldone.views.kvcache.storage.tiers import Hits, Lru, Tiers, size_of
from zibaldone.views.kvcache.view import KVView

STRIDE = 4096  # of the tiny model's blocks


def _raw(value, tokens=2):
    return (RawKV(torch.full((1, tokens, 4), float(value)), torch.zeros(1, tokens, 4)),)


SIZE = size_of(_raw(0))


@pytest.fixture
def tiers():
    """Room for three blocks in main memory."""
    made = Tiers(torch.device("cpu"), 0, 3 * SIZE)
    yield made
    made.close()


def _reading(log, value):
    def read():
        log.append(value)
        return _raw(value)

    return ("ann", value), read


def test_the_least_lately_used_goes_first():
    """A block that was asked for stays longer than an older one that was not."""
    lru = Lru(3 * SIZE)
    for key in "abc":
        lru.put(key, _raw(0))
    assert lru.get("a") is not None
    lru.put("d", _raw(0))
    assert [key in lru for key in "abcd"] == [True, False, True, True]


def test_the_capacity_is_in_bytes():
    """However large blocks are, together they are never more."""
    lru = Lru(4 * SIZE)
    for i in range(20):
        lru.put(i, _raw(i, tokens=2 * (i % 3 + 1)))
        assert lru.bytes <= 4 * SIZE
        assert lru.bytes == sum(size_of(lru.get(key)) for key in range(20) if key in lru)


def test_a_block_that_is_too_large_is_not_kept():
    """It would push out everything and not fit either."""
    lru = Lru(2 * SIZE)
    lru.put("a", _raw(1))
    lru.put("b", _raw(1, tokens=100))
    assert "a" in lru
    assert "b" not in lru


def test_a_block_that_is_put_twice_counts_once():
    """The newer one is kept."""
    lru = Lru(3 * SIZE)
    lru.put("a", _raw(1))
    lru.put("a", _raw(2))
    assert lru.bytes == SIZE
    assert torch.equal(lru.get("a")[0].keys, _raw(2)[0].keys)


def test_dropping_frees_bytes():
    """What was dropped is gone, and counts no more."""
    lru = Lru(3 * SIZE)
    lru.put(("ann", 1), _raw(1))
    lru.put(("zoe", 1), _raw(1))
    lru.drop(lambda key: key[0] == "ann")
    assert ("ann", 1) not in lru
    assert lru.bytes == SIZE


def test_a_block_is_read_once(tiers):
    """From disk at first, then from main memory; in the order that was asked for."""
    log = []
    found, hits = tiers.get([_reading(log, 2), _reading(log, 1)])
    assert [float(raw[0].keys[0, 0, 0]) for raw in found] == [2, 1]
    assert hits == Hits(disk=2)
    _, hits = tiers.get([_reading(log, 1), _reading(log, 3)])
    assert hits == Hits(host=1, disk=1)
    assert sorted(log) == [1, 2, 3]


def test_dropping_a_user_keeps_the_others(tiers):
    """Nothing of the one is in memory, all of the other."""
    log = []
    tiers.get([_reading(log, 1), (("zoe", 1), lambda: _raw(9))])
    tiers.drop("ann")
    _, hits = tiers.get([_reading(log, 1), (("zoe", 1), lambda: _raw(9))])
    assert hits == Hits(host=1, disk=1)


def test_prefetching_reads_what_is_not_there(tiers):
    """What is fetched later comes from main memory; what was there is not read again."""
    log, done = [], threading.Semaphore(0)
    tiers.get([_reading(log, 1)])

    def read():
        done.release()
        return _raw(2)

    tiers.prefetch([_reading(log, 1), (("ann", 2), read)])
    tiers._readers.shutdown(wait=True)
    assert done.acquire(blocking=False)
    assert ("ann", 2) in tiers._on_host
    assert log == [1]


def test_an_unreadable_block_is_left_out_of_a_prefetch_and_raised_by_a_fetch(tiers):
    """A prefetch is a hope; a fetch says what is wrong."""

    def broken():
        raise OSError("torn")

    tiers.prefetch([(("ann", 1), broken)])
    with pytest.raises(OSError, match="torn"):
        tiers.get([(("ann", 1), broken)])


def test_a_memory_prefetches_the_newest_blocks(tmp_path):
    """After prefetch() an answer reads nothing from disk."""
    with filled(tmp_path / "m") as rig:
        rig.kv.prefetch(user=USER)
        rig.view.tiers._readers.shutdown(wait=True)
        found, hits = rig.view.tiers.get([])
        assert (found, hits) == ([], Hits())
        fetched = rig.fetched()
    assert fetched.hits == Hits(host=8)


def test_an_answer_says_where_its_blocks_came_from(tmp_path):
    """From disk the first time, from main memory the second."""
    with filled(tmp_path / "m") as rig:
        rig.view.tiers.drop(USER)
        assert rig.ask().trace.hits == Hits(disk=4)
        assert rig.ask().trace.hits == Hits(host=4)


def _small(tmp_path, blocks, **options):
    return filled(tmp_path / "m", budget=Budget(user_bytes=blocks * STRIDE), **options)


def _resident(rig, user=USER):
    return {block.number for block in rig.blocks(user) if block.slot is not None}


def test_a_user_s_pool_stays_inside_its_budget(tmp_path):
    """However much is said, no more blocks have bytes than fit, and the file does not grow beyond."""
    with _small(tmp_path, 5) as rig:
        assert rig.pool().layout.stride_bytes == STRIDE
        for i in range(10, 20):
            rig.say(line(i), session="3")
            assert len(_resident(rig)) <= 5
        assert len(rig.blocks()) == 18
        assert rig.path().stat().st_size <= 10 * STRIDE  # 8 came at once, before anything could be evicted
        assert rig.memory.check_integrity().faults == ()


def test_all_pools_together_stay_inside_the_whole_budget(tmp_path):
    """Whoever's blocks were least lately used make room."""
    with Rig(tmp_path / "m", budget=Budget(total_bytes=6 * STRIDE)) as rig:
        for user in ("ann", "zoe", "bob"):
            rig.say(*(line(i) for i in range(4)), user=user)
            assert sum(len(_resident(rig, name)) for name in ("ann", "zoe", "bob")) <= 6
        assert _resident(rig, "bob")
        assert {user: len(rig.blocks(user)) for user in ("ann", "zoe", "bob")} == dict.fromkeys(
            ("ann", "zoe", "bob"), 4
        )
        assert rig.memory.check_integrity().faults == ()


def test_evicted_blocks_keep_their_boxes_and_are_scored(tmp_path):
    """Every message is found, whether its block has bytes or not."""
    with filled(tmp_path / "full") as rig:
        expected = [(one.seqs, one.score) for one in rig.kv.scores("w1 w9", user=USER)]
        boxes = [boxes for _, boxes in rig.made().values()]
    with _small(tmp_path, 3) as rig:
        assert len(_resident(rig)) == 3
        found = [(one.seqs, one.score) for one in rig.kv.scores("w1 w9", user=USER)]
        files = rig.view.store.files(rig.pool())
        kept = [
            b"".join(box for layer in (0, 1) for box in files.read_boxes(layer, [block.number - 1]))
            for block in rig.blocks()
        ]
    assert found == expected
    assert kept == boxes


def _passes(monkeypatch):
    """(token ids, tokens of context) of every pass that encodes."""
    seen = []
    encode = Encoder.encode

    def noted(self, ids, context):
        seen.append((tuple(ids), tokens_in(context) and min(tokens_in(context), self.context_tokens)))
        return encode(self, ids, context)

    monkeypatch.setattr(Encoder, "encode", noted)
    return seen


def _apart(first, second, tokens, layout):
    """The largest difference of two payloads' numbers, as a share of the largest number."""
    ours, theirs = decode(first, tokens, layout), decode(second, tokens, layout)
    pairs = [
        (a, b) for x, y in zip(ours, theirs, strict=True) for a, b in ((x.keys, y.keys), (x.values, y.values))
    ]
    return max(float((a - b).abs().max() / a.abs().max()) for a, b in pairs)


@pytest.mark.parametrize(("align", "codec"), [("turn", "native"), ("grid", "native"), ("turn", "int8")])
def test_evicted_blocks_are_encoded_again_in_passes_of_the_same_shapes(tmp_path, monkeypatch, align, codec):
    """So the same kernels give the same bytes, and any kernels what is equal but for rounding."""
    config = with_config(align=align, codec=codec, rescore=0)
    passes = _passes(monkeypatch)
    fill_anew()
    with filled(tmp_path / "full", config=config) as rig:
        layout, expected, answer = rig.pool().layout, rig.made(), rig.ask(top_k=8)
    first = set(passes)
    with _small(tmp_path, 2, config=config) as rig:
        passes.clear()
        fetched = rig.fetched()
        assert fetched.hits.encoded == len(rig.blocks()) - 2
        assert set(passes) <= first
        for block, draft in fetched.drafts:
            payload, _ = expected[(*block.place, block.tile.ids)]
            rounding = NOISE[torch.float32] if codec == "native" else 1 / 127
            assert _apart(draft.payload, payload, block.tokens, layout) <= rounding
        again = rig.ask(top_k=8)
    assert (again.text, again.kv_tokens) == (answer.text, answer.kv_tokens)


def test_what_was_evicted_leaves_no_bytes(tmp_path):
    """Places of evicted blocks are overwritten."""
    with filled(tmp_path / "full") as rig:
        made = rig.made()
    with _small(tmp_path, 3) as rig:
        data = rig.path().read_bytes()
        kept = {(*block.place, block.tile.ids) for block in rig.blocks() if block.slot is not None}
        assert rig.erasures() == ([], [])
    for key, (payload, _) in made.items():
        assert (payload in data) == (key in kept)


def test_the_least_lately_used_block_is_evicted(tmp_path):
    """Blocks that answers have used stay, of the others the oldest goes first."""
    with filled(tmp_path / "m") as rig:
        by_number = {block.number: block for block in rig.blocks()}
        rig.view.note_use(rig.pool().generation, [by_number[1], by_number[4]])
        rig.kv.remember(user=USER)
    with Rig(tmp_path / "m", budget=Budget(user_bytes=4 * STRIDE)) as rig:
        rig.kv.remember(user=USER)
        assert _resident(rig) == {1, 4, 7, 8}


def test_a_block_that_was_encoded_again_takes_a_place_again(tmp_path):
    """What is used has bytes, what is not makes room."""
    with _small(tmp_path, 3) as rig:
        before = _resident(rig)
        answer = rig.ask(top_k=3)
        missing = set(answer.blocks) - before
        assert missing
        assert answer.trace.hits.encoded
        rig.kv.remember(user=USER)
        assert _resident(rig) & missing
        assert len(_resident(rig)) <= 3
        assert rig.memory.check_integrity().faults == ()


def test_a_budget_for_nothing_still_answers(tmp_path, monkeypatch):
    """Without room for a single block everything is encoded on demand."""
    with filled(tmp_path / "full", config=with_config(rescore=0)) as rig:
        expected = rig.ask(top_k=8).text
    with _small(tmp_path, 0, config=with_config(rescore=0)) as rig, encodings(monkeypatch) as seen:
        assert _resident(rig) == set()
        assert rig.ask(top_k=8).text == expected
        assert len(seen) >= 8
        rig.kv.remember(user=USER)
        assert _resident(rig) == set()


def test_what_was_forgotten_meanwhile_is_not_put_back(tmp_path):
    """Blocks that were encoded again for an answer get no place when their messages are gone."""
    with filled(tmp_path / "m", budget=Budget(user_bytes=0)) as rig:
        pool = rig.pool()
        fetched = rig.fetched()
        assert len(fetched.drafts) == 8
        rig.memory.forget(user=USER, everything=True)
        assert rig.view.put_back(rig.database, pool, fetched.drafts) == 0
        secrets = secrets_of([[draft.payload for _, draft in fetched.drafts]], [])
        assert leaked(secrets, rig.folder) == 0


def test_putting_back_nothing_makes_no_file(tmp_path):
    """The folder of a user who was forgotten does not come back."""
    with filled(tmp_path / "m", budget=Budget(user_bytes=0)) as rig:
        pool = rig.pool()
        fetched = rig.fetched()
        rig.memory.forget(user=USER, everything=True)
        rig.view.put_back(rig.database, pool, fetched.drafts)
        assert not list((rig.folder / "kv").iterdir())


def test_a_budget_on_a_pool_that_is_there_shrinks_its_file(tmp_path):
    """Blocks at the end move into places that became free, and the rest is given back."""
    with filled(tmp_path / "m", 12) as rig:
        made = rig.made()
        late = [block for block in rig.blocks() if block.number > 9]
        rig.view.note_use(rig.pool().generation, late)
        rig.kv.remember(user=USER)
    with Rig(tmp_path / "m", budget=Budget(user_bytes=3 * STRIDE)) as rig:
        rig.kv.remember(user=USER)
        assert _resident(rig) == {10, 11, 12}
        assert rig.path().stat().st_size <= 6 * STRIDE
        assert {(*b.place, b.tile.ids): rig.payload(b) for b in rig.blocks() if b.slot is not None} == {
            key: payload
            for key, (payload, _) in made.items()
            if key in {(*b.place, b.tile.ids) for b in late}
        }
        assert rig.memory.check_integrity().faults == ()


def test_evicted_blocks_are_chosen_as_if_they_were_there(tmp_path):
    """The keys that score stay beside the boxes: a budget changes what is read, not what is found."""
    config = with_config(probe_tokens=0)
    questions = [line(i, words=3) for i in range(0, 16, 2)]
    with filled(tmp_path / "full", 16, config=config) as rig:
        expected = [(a.blocks, a.text) for a in (rig.ask(q, top_k=2) for q in questions)]
    with filled(tmp_path / "m", 16, config=config, budget=Budget(user_bytes=2 * STRIDE)) as rig:
        for question, answer in zip(questions, expected, strict=True):
            rig.kv.remember(user=USER)
            assert len(_resident(rig)) == 2
            found = rig.ask(question, top_k=2)
            assert (found.blocks, found.text) == answer


def test_keys_of_evicted_blocks_are_forgotten_with_them(tmp_path):
    """They could be inverted to text as well."""
    with _small(tmp_path, 2) as rig:
        (gone, *kept) = rig.blocks()
        assert gone.slot is None
        files = rig.view.store.files(rig.pool())
        secrets = vectors(keys for layer in (0, 1) for keys in files.read_keys([gone.number - 1], layer))
        others = {
            one
            for layer in (0, 1)
            for one in vectors(files.read_keys([block.number - 1 for block in kept], layer))
        }
        assert leaked(secrets - others, rig.folder) > 8
        rig.memory.forget(user=USER, seqs=gone.tile.seqs)
        assert leaked(secrets - others, rig.folder) == 0


def test_all_layers_keep_no_keys_twice(tmp_path):
    """Of all layers they would be half the pool again: candidates are scored by the blocks themselves."""
    with filled(tmp_path / "m", 8, config=with_config(layers="all")) as rig:
        assert not list(rig.path().parent.glob("keys-*"))
        assert rig.ask(top_k=1).trace.rescored == 7


def test_a_file_that_was_cut_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    """Who has an older snapshot looks for a block that went with the end of the file: it has moved."""
    with filled(tmp_path / "m", budget=Budget(host_bytes=0)) as rig:
        expected = rig.ask(top_k=8).text
        read, cuts = KVStore.read, iter([True])

        def cut_before(self, pool, block):
            if next(cuts, False):
                small = Budget(user_bytes=STRIDE)
                evict(rig.database, self, small, pool.generation, {})
                self.clean(rig.database, USER)
            return read(self, pool, block)

        monkeypatch.setattr(KVStore, "read", cut_before)
        monkeypatch.setattr(KVView, "heal", lambda *_: pytest.fail("nothing is damaged"))
        assert rig.ask(top_k=8).text == expected


def test_what_others_unmake_between_catching_up_and_asking_is_encoded_first(tmp_path, monkeypatch):
    """Another process forgets a message: the turns after it are not left out of the answer."""
    with filled(tmp_path / "m") as rig:
        caught_up, times = KVMemory._catch_up, iter([True])

        def then_forgotten(self, user):
            caught_up(self, user)
            if next(times, False):
                with rig.database.write() as connection:
                    rig.view.forget(connection, USER, [1])
                    log.remove(connection, USER, [1])
                    log.touch(connection, USER, deleted=True)

        monkeypatch.setattr(KVMemory, "_catch_up", then_forgotten)
        answer = rig.ask(top_k=8)
        assert {cited.seq for cited in answer.citations} == set(range(2, 9))
        assert not {block.number for block in rig.blocks() if block.boxes_crc is None}
