"""The locality benchmark on a small made-up conversation: it measures the engine itself."""

from dataclasses import replace

import pytest
from typer.testing import CliRunner

from zibaldone import MissingExtra
from zibaldone.bench import locality, outcome
from zibaldone.bench.locality import PlacementArm, layouts, replay, trace, with_updates
from zibaldone.bench.locomo import LoCoMoQuestions
from zibaldone.cli.bench import bench_app
from zibaldone.views.chunks.storage.placement import Placement

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


@pytest.fixture
def path(tmp_path):
    """A file of two conversations."""
    import json

    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([conversation("Otto"), conversation("Bea")]))
    return path


@pytest.fixture
def events(path, tools):
    """The trace."""
    return trace(LoCoMoQuestions(path), tools, lambda *_: None)


def test_the_trace_is_of_the_engine_s_own_calls(events):
    """Writes, requests and joint readings come in the order of time, conversations interleaved."""
    kinds = {event.kind for event in events}
    assert kinds == {"write", "request", "together", "housekeep"}
    users = [event.user for event in events if event.kind == "housekeep"]
    assert users[:4] == ["Otto", "Bea", "Otto", "Bea"]
    assert sum(event.kind == "housekeep" for event in events) == 24
    assert all(len(event.ids) <= 5 for event in events if event.kind == "request")


def test_our_layout_keeps_users_apart_and_reads_fewer_blocks(events, tools):
    """Chunks of one user share blocks with nobody, and a request touches fewer than in arrival order."""
    placement = Placement(block_bytes=8 * 1024)
    shared, _, ours, *_ = (replay(events, layout, tools) for layout in layouts(placement)[:3])
    assert ours.requests == shared.requests > 10
    assert ours.blocks_per_request < shared.blocks_per_request
    assert 1 <= ours.space_amplification < 1.2
    assert ours.write_amplification < 1.35


def test_an_update_stream_makes_room_to_collect(events, tools):
    """Without collection space grows under updates; with it, it does not."""
    updated = with_updates(events, 0.5)
    assert len(updated) > len(events)
    assert with_updates(events, 0.5) == updated
    placement = Placement(block_bytes=8 * 1024)
    kept = replay(updated, PlacementArm("ours", replace(placement, gc_invalid_ratio=2.0)), tools)
    collected = replay(updated, PlacementArm("ours", placement), tools)
    assert collected.space_amplification < kept.space_amplification
    assert collected.write_amplification > kept.write_amplification


def test_the_command(path, tmp_path):
    """It prints a row per layout, and writes the plot and the figures."""
    plot, figures = tmp_path / "plot.png", tmp_path / "figures.json"
    done = CliRunner().invoke(
        bench_app, ["locality", str(path), "--plot", str(plot), "--output", str(figures), "--block-kib", "16"]
    )
    assert done.exit_code == 0, done.output
    assert done.output.count("ours") >= 4
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert '"blocks_per_request"' in figures.read_text()


def test_without_matplotlib(path, tmp_path, monkeypatch):
    """The error names the extra, before anything is measured."""
    monkeypatch.setattr(outcome, "find_spec", lambda _: None)
    monkeypatch.setattr(locality, "trace", None)
    done = CliRunner().invoke(bench_app, ["locality", str(path), "--plot", str(tmp_path / "x.png")])
    assert isinstance(done.exception, MissingExtra)
    assert "zibaldone[plot]" in str(done.exception)
