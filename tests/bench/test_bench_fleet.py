"""The soak of a fleet: its codes, what its audit finds, a short run with kills; a sizing's arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from zibaldone import Memory
from zibaldone.bench.fleet import sizing
from zibaldone.bench.fleet.audit import audit
from zibaldone.bench.fleet.load import FleetLoad, FleetUser, code_of, codes_in
from zibaldone.bench.fleet.run import run
from zibaldone.bench.outcome import Run, silent
from zibaldone.bench.registry import FleetOptions, SizingOptions

VIEWS = ("messages",)


@given(st.integers(0, 60_000), st.integers(0, 2**22 - 1))
def test_a_code_says_whose_it_is(user, number):
    """In the midst of a sentence, too; and nothing else is one."""
    text = f"Rye bread ({code_of(user, number)}), and qzabc."
    assert codes_in(text) == [(user, number)]


@pytest.fixture
def kept(memory):
    """A user of six acknowledged messages, of which the last was forgotten."""
    user = FleetUser(3, sent=6)
    stored = memory.add([f"Rye bread {code_of(3, number)}." for number in range(6)], user=user.name)
    user.acknowledged = {number: message.seq for number, message in enumerate(stored)}
    memory.forget(user=user.name, seqs=[6])
    user.going, user.forgotten = {5}, {5}
    memory.maintain()
    return user


def audited(memory: Memory, user: FleetUser):
    """What is wrong, by its name."""
    found = audit(memory, [user], VIEWS, 0.0, silent)
    names = ("lost", "doubled", "foreign", "undead", "unknown", "gaps", "behind")
    return {name: getattr(found, name) for name in names if getattr(found, name)} | (
        {"faults": len(found.faults)} if found.faults else {}
    )


def test_a_log_as_it_was_acknowledged(memory, kept):
    """Nothing is wrong; what was sent and never answered may be there or not."""
    kept.uncertain = {6, 7}
    memory.add(f"Rye {code_of(3, 6)}.", user=kept.name)
    memory.maintain()
    assert audited(memory, kept) == {}


def test_what_an_audit_finds(memory, kept):
    """Each broken promise is counted under its name."""
    kept.acknowledged[9] = 9
    assert audited(memory, kept) == {"lost": 1}
    del kept.acknowledged[9]
    kept.forgotten.add(2)
    kept.going.add(2)
    assert audited(memory, kept) == {"undead": 1}
    kept.forgotten.discard(2)
    kept.going.discard(2)
    kept.acknowledged[1] = 3
    assert audited(memory, kept) == {"gaps": 1}
    kept.acknowledged[1] = 2
    memory.add(
        [f"Rye {code_of(3, 0)}.", f"Rye {code_of(4, 0)}.", f"Rye {code_of(3, 77)}.", "Rye."], user=kept.name
    )
    assert audited(memory, kept) == {"doubled": 1, "foreign": 1, "unknown": 2, "gaps": 1}


def test_a_view_that_stays_behind_is_counted(memory, kept):
    """When the time to catch up is over."""
    with memory._database.write() as connection:
        connection.execute(text("UPDATE view_states SET cursor = 0 WHERE \"view\" = 'messages'"))
    assert audited(memory, kept)["behind"] == 1


def test_what_a_client_sees():
    """Codes of others, and of what had been forgotten before it asked."""
    load = FleetLoad([FleetUser(0)], [], ["Rye."], clients=0, seed=0)
    shown = load._check(FleetUser(0), f"{code_of(0, 1)} {code_of(0, 2)} {code_of(7, 1)}", {2})
    assert (shown, load.foreign, load.undead, len(load.examples)) == ({1, 2}, 1, 1, 2)


def test_what_a_fleet_needs_is_what_was_measured_times_users():
    """And the dearest need, against one machine, is said to saturate first."""
    tables = [sizing.TableSize("messages", 10, 1000, 1.0, 100.0)]
    names = ("add", "maintain", "recall", "recall, first of a user", "look")
    costs = {name: sizing.CallCost(name, "", 1, 1.0, 10.0, 5.0, 200.0) for name in names}
    options = SizingOptions(kept=50, adds=86.4, recalls=10, peak=1, turns=1)
    small, large, huge = (
        sizing._size(users, options, tables, costs, costs["look"], 7.0)
        for users in (1000, 1_000_000, 100_000_000)
    )
    assert (small.rows, small.database_bytes, small.bucket_bytes) == (50_000, 5e6, 350_000)
    assert small.adds_per_s == pytest.approx(1.0)
    assert large.servers == pytest.approx(1000 * small.servers)
    assert (large.machines["commits"], large.saturates) == (pytest.approx(1.8), "commits")
    assert small.looking_s == pytest.approx(0.015, rel=0.01)
    assert huge.looking_s < 12 * small.looking_s  # so many are marked; those who are idle cost nothing


@pytest.mark.exhaustive
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_short_soak(tmp_path, template):
    """Two servers and a worker, killed now and then, PostgreSQL too: no promise is broken."""
    pytest.importorskip("obstore")
    options = FleetOptions(
        servers=2,
        workers=1,
        users=12,
        minutes=0.6,
        clients=4,
        regulars=1,
        history=1100,
        kill_s=7,
        restart_s=16,
        wait_s=120,
        replica=True,
    )
    figures = run(options, Run("", tmp_path)).figures
    counts, audited = figures["counts"], figures["audit"]
    assert sum(figures["blows"].values()) > 3
    assert audited.acknowledged > 1100
    assert (counts.foreign, counts.undead, counts.unseen, counts.given_up, counts.crashes) == (0, 0, 0, 0, 0)
    broken = (audited.lost, audited.doubled, audited.foreign, audited.undead, audited.unknown, audited.gaps)
    assert (broken, audited.behind, audited.faults) == ((0,) * 6, 0, ())


@pytest.mark.exhaustive
@pytest.mark.enable_socket
@pytest.mark.allow_hosts(["127.0.0.1"])
def test_a_small_sizing(tmp_path, template):
    """Every figure is there, and grows with the users."""
    pytest.importorskip("obstore")
    figures = sizing.run(SizingOptions(users=4, messages=60, calls=8, idle=20), Run("", tmp_path)).figures
    assert {"messages", "units", "users"} <= {table.table for table in figures["tables"]}
    assert all(cost.ms > 0 and cost.own_ms > 0 for cost in figures["costs"])
    sizes = figures["sizes"]
    assert [size.users for size in sizes] == [1_000, 1_000_000, 100_000_000]
    assert sizes[0].servers < sizes[1].servers < sizes[2].servers
