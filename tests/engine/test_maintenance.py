"""The driver of the views: cursors, generations, and who goes first."""

import logging
from datetime import UTC, datetime

import pytest

from zibaldone import Message, log
from zibaldone.engine import generations
from zibaldone.engine.generations import serving
from zibaldone.engine.maintenance import advance, rebuild
from zibaldone.errors import ModelFailed

NOW = datetime(2024, 3, 1, tzinfo=UTC)


class Reader:
    """A view that only notes what it is told to do."""

    name = "reader"
    reads_whole = False

    def __init__(self, fingerprint="one", batch_messages=512):
        self.fingerprint, self.batch_messages = fingerprint, batch_messages
        self.prepared = []
        self.committed = []
        self.dropped = []
        self.on_prepare = lambda messages: None

    def prepare(self, messages, basis):
        """Note the seqs."""
        self.on_prepare(messages)
        self.prepared.append([message.seq for message in messages])
        return len(messages)

    def commit(self, connection, generation, seqs, prepared):
        """Note the generation and the seqs."""
        assert prepared == len(seqs)
        self.committed.append((generation.number, seqs))

    def drop(self, connection, generation):
        """Note the generation."""
        self.dropped.append(generation.number)


def append(database, number, user="ann"):
    """Add messages to the log alone."""
    with database.write() as connection:
        return log.append(connection, user, [Message(f"Fact {i}.") for i in range(number)], NOW).stored


def state(database, view):
    """(generation, fingerprint, cursor) of what serves, None when nothing does."""
    with database.read() as connection:
        found = serving(connection, "ann", view)
    return found and (found.number, found.fingerprint, found.cursor)


def test_a_model_that_fails_is_told_in_the_log_of_the_program(database, caplog):
    """The warning names the view, the user and what the model said."""

    def fail(_):
        raise ModelFailed("the model is asleep")

    append(database, 1)
    view = Reader()
    view.on_prepare = fail
    with caplog.at_level(logging.WARNING):
        assert not advance(database, "ann", view)
    assert "reader" in caplog.text
    assert "'ann'" in caplog.text
    assert "the model is asleep" in caplog.text


@pytest.mark.parametrize("fingerprint", ["one", "two"])
def test_a_rebuild_that_another_process_overtook_ends(database, fingerprint):
    """Whoever finds the switch made, or another model's build, leaves it at that: nothing is half built."""
    append(database, 2)
    view, other = Reader(batch_messages=1), Reader(fingerprint, batch_messages=1)
    assert advance(database, "ann", view)
    once = iter([True])
    view.on_prepare = lambda _: next(once, False) and rebuild(database, "ann", other)
    rebuild(database, "ann", view)
    assert state(database, view)[1:] in (("one", 2), (fingerprint, 2))
    with database.read() as connection:
        assert generations.building(connection, "ann", view) is None
    if fingerprint == "one":
        assert state(database, view)[0] == 2
        assert other.committed == [(2, [1]), (2, [2])]
        assert view.committed[2:] == []


def test_a_first_build_beside_a_rebuild(database):
    """Who reads for the first time while another process rebuilds gets a generation of another number."""
    append(database, 4)
    view, other = Reader(batch_messages=2), Reader(batch_messages=2)
    once = iter([True])
    other.on_prepare = lambda _: next(once, False) and advance(database, "ann", view)
    rebuild(database, "ann", other)
    assert {number for number, _ in view.committed} == {2}
    assert {number for number, _ in other.committed} == {1}
    assert state(database, view) == (1, "one", 4)
    assert other.dropped == [1, 2]
