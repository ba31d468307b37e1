"""The locality benchmark: it follows the engine's own plans, and says no where there is nothing to gain."""

import json
import random

import numpy as np
import pytest
from typer.testing import CliRunner

from zibaldone.bench.locality.layouts import UserLayout, arms, planned
from zibaldone.bench.locality.oracle import best_blocks
from zibaldone.bench.locality.run import Workload, replay
from zibaldone.bench.locality.traces import (
    AGAIN,
    ONCE,
    TraceEvent,
    of_locomo,
    only,
    record,
    with_updates,
)
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.cli.bench import bench_app
from zibaldone.storage.block_store import LocalBlocks
from zibaldone.storage.opening import open_database
from zibaldone.views.chunks.storage.placement import Moved, Placement, arrange
from zibaldone.views.chunks.storage.records import Owner, Record, RecordStore, sizes

SENTENCES = (
    "On day {i} {name} repaired clock number {i} in the cellar of house {i}; the river rose by {i} inches."
)


def conversation(user, sessions=12, turns=16):
    """A sample in LoCoMo's format with a question per session."""
    said = {"speaker_a": "Ann", "speaker_b": "Ben"}
    questions = []
    for session in range(1, sessions + 1):
        said[f"session_{session}_date_time"] = f"1:00 pm on {session} May, 2023"
        said[f"session_{session}"] = [
            {
                "speaker": ("Ann", "Ben")[turn % 2],
                "dia_id": f"D{session}:{turn}",
                "text": SENTENCES.format(i=100 * session + turn, name=user),
            }
            for turn in range(1, turns + 1)
        ]
        questions.append(
            {
                "question": f"What happened with clock number {100 * session + 3}?",
                "answer": "it was repaired",
                "evidence": [f"D{session}:3"],
                "category": 4,
            }
        )
    return {"sample_id": user, "conversation": said, "qa": questions}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A file of two conversations."""
    path = tmp_path_factory.mktemp("locality") / "locomo.json"
    path.write_text(json.dumps([conversation("Otto", 6), conversation("Bea", 6)]))
    return path


KINDS, OF_A_KIND = 10, 12  # chunks about the same are written long after one another


def made_up(kinds_are_read_together=True, updates=0.0):
    """Requests for three chunks each: of one kind, or of any."""
    chance = random.Random(3)
    events = []
    for number in range(1, KINDS * OF_A_KIND + 1):
        vector = np.eye(KINDS, dtype=np.float32)[number % KINDS]
        record = Record(number, "", number, bytes([number]) * 1000)
        events.append(TraceEvent("write", "ann", (number,), (record,)))
        related = chance.sample(range(number % KINDS or KINDS, number, KINDS), min(4, (number - 1) // KINDS))
        if related:
            events.append(TraceEvent("together", "ann", (*related, number)))
        events.append(TraceEvent("housekeep", "ann", (number,), vectors={number: vector}))
        for _ in range(3 if number > 3 * KINDS else 0):
            kind = chance.randrange(KINDS)
            of_kind = [n for n in range(1, number + 1) if n % KINDS == kind or not kinds_are_read_together]
            ids = tuple(sorted(chance.sample(of_kind, 3)))
            events.append(TraceEvent("request", "ann", ids, stream=ONCE))
    return with_updates(events, updates)


def results(events, *names):
    """By layout, what it came to: of these layouts, or of all."""
    workload = Workload.of("made up", 0.0, events, 8192)
    layouts = [arm for arm in arms(Placement(block_bytes=8192)) if not names or arm.name in names]
    return {arm.name: replay(workload, arm) for arm in layouts}


@pytest.fixture(scope="module")
def of_kinds():
    """Where what is read together is of a kind."""
    names = ("append-only", "append-only, waiting", "oracle, waiting", "ours", "ours, no collection")
    return results(made_up(updates=0.2), *names)


def test_what_is_read_together_lies_together(of_kinds):
    """Half of what who knows all requests saves, at equal waiting, and no more is written for it."""
    waiting, ours = of_kinds["append-only, waiting"], of_kinds["ours"]
    oracle = of_kinds["oracle, waiting"]
    saved = waiting.reads_per_request - ours.reads_per_request
    assert saved > (waiting.reads_per_request - oracle.reads_per_request) / 2 > 0.3
    assert ours.p95_ms < of_kinds["append-only"].p95_ms
    assert ours.block_writes < 1.34
    assert ours.space_amplification < 1.17 < of_kinds["append-only"].space_amplification


def test_where_nothing_belongs_together_it_says_so():
    """Requests for any chunks gain nothing from a layout, beyond what waits in the database."""
    layouts = results(made_up(kinds_are_read_together=False), "append-only, waiting", "ours")
    waiting, ours = layouts["append-only, waiting"], layouts["ours"]
    assert ours.reads_per_request == pytest.approx(waiting.reads_per_request, abs=0.15)


def test_staged_chunks_are_told_and_their_bytes_counted(of_kinds):
    """A request that finds some in the database reads once more; staging writes every byte once."""
    for result in of_kinds.values():
        assert 0 < result.staged_share < 0.5
        assert result.blocks_per_request < result.reads_per_request < result.blocks_per_request + 1
        assert result.all_writes == pytest.approx(result.block_writes + 1)


def test_the_oracle_puts_together_what_is_asked_together():
    """Eight sets that are always read whole, written in turn: a block each, with no reading saved twice."""
    sets = [tuple(range(at, 40, 8)) for at in range(8)]
    blocks = best_blocks(dict.fromkeys(range(40), 100), sets * 3, 640)
    assert all(len({blocks[number] for number in ids}) == 1 for ids in sets)
    assert len(set(blocks.values())) == 8


def test_what_is_counted_is_what_the_real_store_does(tmp_path):
    """The same trace through database and block files: the same blocks per request, and the same bytes."""
    placement = Placement(block_bytes=4096, staged_blocks=2)
    events, owner = made_up(updates=0.2)[:300], Owner("ann", "chunks", 1)
    followed, policy = UserLayout(), planned(placement)
    database = open_database(tmp_path, busy_timeout_s=5)
    store = RecordStore(LocalBlocks(tmp_path / "blocks"))
    compared, moved = 0, Moved()
    for event in events:
        if event.kind == "write":
            followed.stage(event)
            with database.write() as connection:
                store.stage(connection, owner, event.records)
        elif event.kind == "housekeep":
            followed.vectors.update(event.vectors)
            moved += arrange(database, store, placement, owner, followed.association)
            followed.write(policy(followed))
        elif event.kind == "together":
            followed.read_together(event.ids)
        else:
            with database.read() as connection:
                read = store.fetch(connection, owner, event.ids)
            blocks = {followed.places[number].block for number in event.ids}
            assert (read.blocks_read, bool(read.staged_read)) == (len(blocks - {None}), None in blocks)
            compared += 1
    with database.read() as connection:
        stored = sizes(connection, owner)
    database.close()
    assert compared > 50
    assert moved.bytes == followed.written_bytes > 0
    assert moved.blocks_released > 0
    assert stored["live_bytes"] == followed.live_bytes


def test_a_trace_is_of_the_engine_s_own_calls(path, tools):
    """Two conversations of one user take turns; requests are asked once, and by topics that come again."""
    sittings = of_locomo(LoCoMoQuestions(path))
    assert [sitting.messages[0].session.split("/")[0] for sitting in sittings[:4]] == ["Otto", "Bea"] * 2
    assert len({sitting.user for sitting in sittings}) == 1
    events = record(sittings, tools, lambda *_: None)
    assert {event.kind for event in events} == {"write", "request", "together", "housekeep"}
    assert sum(event.kind == "housekeep" for event in events) == len(sittings)
    written = set()
    for event in events:
        written.update(event.ids if event.kind == "write" else ())
        assert written.issuperset(event.ids)
        assert len(event.ids) <= 5 or event.kind != "request"
    asked = {stream: [e for e in only(events, stream) if e.kind == "request"] for stream in (ONCE, AGAIN)}
    assert len(asked[ONCE]) > 5
    assert len(asked[AGAIN]) > 5
    assert sum(event.kind == "request" for event in events) == len(asked[ONCE]) + len(asked[AGAIN])


def test_an_update_stream_makes_room_to_collect(of_kinds):
    """Without collection space grows under updates; with it, it does not, and more is written."""
    kept, collected = of_kinds["ours, no collection"], of_kinds["ours"]
    often = [[event.ids for event in made_up(updates=0.5)] for _ in range(2)]
    assert often[0] == often[1]
    assert len(often[0]) > len(made_up())
    assert collected.space_amplification < kept.space_amplification
    assert collected.block_writes > kept.block_writes


def test_the_command(path, tmp_path):
    """It prints a row per layout and size, on each of two streams, and writes the figures."""
    figures = tmp_path / "figures.json"
    done = CliRunner().invoke(
        bench_app,
        ["locality", str(path), "--output", str(figures), "--block-kib", "4,8", "--updates", "0"],
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("ours, hardly waiting") == done.output.count("append-only, waiting") == 4
    assert "topics again" in done.output
    assert len(json.loads(figures.read_text())["results"]) == 40
