"""Calls that wait: side by side in threads, with Ctrl-C in between."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from zibaldone.core.threads import side_by_side


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_results_come_in_order(workers):
    """Whoever ends first, results stand where what they are of stood."""
    assert side_by_side(lambda number: number * 2, range(40), workers, "test") == [2 * i for i in range(40)]


def test_as_many_go_at_once_as_there_are_workers():
    """Three meet each other, which one after the other never would."""
    barrier = threading.Barrier(3, timeout=30)
    side_by_side(lambda _: barrier.wait(), range(6), 3, "test")


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_is_raised_and_nothing_more_is_begun(workers):
    """What is under way ends first; of what is behind it nothing begins."""
    begun = []

    def fail(number):
        begun.append(number)
        if number == 1:
            raise ZeroDivisionError
        return number

    with pytest.raises(ZeroDivisionError):
        side_by_side(fail, [1] + [0] * 1000, workers, "test")
    assert len(begun) < 1000


INTERRUPTED = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell ignores it
from zibaldone import Config, MemAttention, Memory

class Hanging:
    name = "hanging"
    def chat(self, request):
        os.write(1, b"asked\\n")
        threading.Event().wait()

memory = Memory(
    sys.argv[1],
    chat=Hanging(),
    config=Config(chunks=MemAttention(chunk_gate_tokens=40), maintained=["chunks"]),
)
for user in ("ann", "bea", "cid"):
    memory.add([f"Fact {i}: Otto repaired clock number {i} in his cellar." for i in range(20)], user=user)
try:
    memory.maintain()
finally:
    print("interrupted", flush=True)
    memory.close()
"""


@pytest.mark.skipif(os.name == "nt", reason="another kind of signal")
@pytest.mark.wide
def test_ctrl_c_ends_a_maintenance_whose_model_hangs(tmp_path):
    """KeyboardInterrupt is raised at once, and the process ends, though a model never answers."""
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "memory")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ) as child:
        try:
            first = child.stdout.readline()
            child.send_signal(signal.SIGINT)
            told, error = child.communicate(timeout=20)
        finally:
            child.kill()
    assert first == "asked\n"
    assert "interrupted" in told
    assert child.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in error
