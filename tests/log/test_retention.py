"""Retention: what goes by itself when it is old enough."""

import json
import sqlite3
from contextlib import closing
from datetime import timedelta

import pytest

from zibaldone import InvalidInput, Retention, RetentionRule, StorageCorrupt
from zibaldone.testing import HashEmbedder

DAYS = [400, 100, 40, 10, 0]


@pytest.fixture
def told(opened, clock):
    """A memory that was told something of each age by Ann and by her assistant, and the same of Bea."""
    memory = opened(embedder=HashEmbedder(16))
    for user in ("ann", "bea"):
        memory.add(
            [
                {
                    "content": f"The {role} saw {age} herons by the river.",
                    "role": role,
                    "session": "river" if age == 100 else "day",
                    "time": clock() - timedelta(days=age, minutes=1),
                }
                for age in DAYS
                for role in ("user", "assistant")
            ],
            user=user,
        )
    return memory


def ages(memory, user="ann"):
    """Ages of the messages that are left, in days, and those of the assistant's."""
    left = memory.messages(user=user)
    words = [(int(message.content.split()[3]), message.role) for message in left]
    return [age for age, role in words if role == "user"], [age for age, role in words if role == "assistant"]


def stored(memory, policy):
    """Put these words in the place of Ann's policy, as another version or a fault may have."""
    with closing(sqlite3.connect(memory.path / "zibaldone.sqlite3", isolation_level=None)) as connection:
        connection.execute("UPDATE retention SET policy = ? WHERE user = 'ann'", [policy])


@pytest.mark.parametrize(
    ("rules", "user_s", "assistant_s"),
    [
        ([RetentionRule(50)], [40, 10, 0], [40, 10, 0]),
        ([RetentionRule(0.0001)], [], []),
        ([RetentionRule(365, roles=("user",)), RetentionRule(30, roles=["assistant"])], DAYS[1:], [10, 0]),
        ([RetentionRule(1, session="river")], [400, 40, 10, 0], [400, 40, 10, 0]),
        ([RetentionRule(1, session="river", roles=("user",))], [400, 40, 10, 0], DAYS),
        ([], DAYS, DAYS),
    ],
    ids=["age", "all", "roles", "session", "both", "nothing"],
)
def test_what_a_rule_says_goes_in_the_next_maintenance(told, rules, user_s, assistant_s):
    """By age, session and role, of this user alone; a dry run says the same before, and a receipt after."""
    told.user("ann").retain(Retention(rules))
    assert ages(told) == (DAYS, DAYS)
    dry = told.admin.apply_retention(user="ann", dry_run=True)
    done = told.maintain()
    assert ages(told) == (user_s, assistant_s)
    assert ages(told, "bea") == (DAYS, DAYS)
    assert [receipt.seqs for receipt in done.forgotten] == [receipt.seqs for receipt in dry]
    assert sum(receipt.messages for receipt in done.forgotten) == 10 - len(user_s) - len(assistant_s)
    assert all(receipt.purged and not receipt.dry_run for receipt in done.forgotten)
    assert told.maintain().forgotten == ()
    assert told.admin.check().ok


def test_the_default_holds_for_whom_nothing_else_was_set(told, opened):
    """A user can be taken out of a Memory's default; what was set stays for the next who opens it."""
    told.user("bea").retain(Retention())
    memory = opened(embedder=HashEmbedder(16), retention=Retention([RetentionRule(50)]))
    assert memory.user("ann").retention() == Retention((RetentionRule(50),))
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["ann"]
    memory.user("bea").retain(None)
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["bea"]


def test_items_stay(told, clock):
    """A rule of all messages is no rule of items: they are what they are until somebody deletes them."""
    told.user("ann").items.put(("app",), "settings", {"a": 1})
    told.user("ann").retain(Retention([RetentionRule(1)]))
    clock.now += timedelta(days=500)
    told.maintain()
    assert told.user("ann").items.get(("app",), "settings").value == {"a": 1}
    assert len(told.messages(user="ann")) == 1


def test_a_damaged_policy_holds_nobody_else_up(told, opened):
    """Nothing goes by it; whoever asks for it, and the check of all, learns how it is mended."""
    told.user("ann").retain(Retention([RetentionRule(50)]))
    told.user("bea").retain(Retention([RetentionRule(50)]))
    stored(told, "{")
    memory = opened(embedder=HashEmbedder(16), retention=Retention([RetentionRule(5)]))
    assert memory.maintain(user="ann").forgotten == ()
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["bea"]
    assert memory._wiring.backlog.look() == []
    assert ages(memory) == (DAYS, DAYS)
    assert memory.recall("herons", user="bea", min_confidence=0).evidence
    with pytest.raises(StorageCorrupt, match="retention of user 'ann' is damaged"):
        memory.user("ann").retention()
    (fault,) = memory.admin.check().faults
    assert "user('ann').retain(policy), or retain(None)" in fault
    memory.user("ann").retain(None)
    assert memory.admin.check().ok
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["ann"]


@pytest.mark.parametrize(
    "bad",
    [
        lambda: RetentionRule(-1),
        lambda: RetentionRule(0),
        lambda: RetentionRule(3, roles=None),
        lambda: RetentionRule(3, roles=5),
        lambda: Retention(5),
        lambda: Retention(RetentionRule(3)),
        lambda: RetentionRule("30"),
        lambda: RetentionRule(1, session=""),
        lambda: RetentionRule(1, roles="user"),
        lambda: Retention([30]),
    ],
)
def test_bad_policies(bad):
    """A policy of wrong values is refused when it is made."""
    with pytest.raises(InvalidInput):
        bad()


def test_a_policy_is_tried_before_it_is_set(told):
    """A dry run with a policy changes nothing; without one it is refused."""
    policy = Retention([RetentionRule(50)])
    (receipt,) = told.admin.apply_retention(user="ann", policy=policy, dry_run=True)
    assert (receipt.messages, receipt.dry_run) == (4, True)
    with pytest.raises(InvalidInput, match="dry_run=True"):
        told.admin.apply_retention(user="ann", policy=policy)
    assert told.user("ann").retention() == Retention()


def test_the_command_line(run):
    """It asks before a new rule lets go of what is there; a maintenance says what went."""
    run("add", "Old news of the river.", "--time", "2001-01-01")
    run("add", "News.")
    code, out, _ = run("admin", "retention", "--days", "30", "--role", "user", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "what is older than 30 days goes, of user")
    assert "would forget 1 message of 'me' (seq 1)" in out
    code, _, err = run("admin", "retention", "--days", "30")
    assert code == 2
    assert "the next maintenance would forget 1 message of 'me' (seq 1)" in err
    assert run("admin", "retention")[1] == "everything stays\n"
    assert run("admin", "retention", "--days", "300000")[0] == 0
    assert run("admin", "retention", "--days", "30", "--yes")[0] == 0
    shown = json.loads(run("admin", "retention", "--json")[1])
    assert shown["rules"][1:] == [{"days": 30.0, "session": None, "roles": []}]
    assert "forgot 1 message of 'me' (seq 1)" in run("maintain")[1]
    assert run("admin", "retention", "--off")[1] == "everything stays\n"


def test_the_command_line_takes_a_rule_back(run):
    """The one that is named, whatever others there are."""
    run("add", "News.", "--session", "river-walk")
    run("admin", "retention", "--days", "30", "--role", "user")
    run("admin", "retention", "--days", "30", "--session", "river")
    code, out, _ = run("admin", "retention", "--days", "30", "--role", "user", "--drop")
    assert (code, out) == (0, "what is older than 30 days goes, of session 'river-walk'\n")
    for words in (
        ["--days", "9", "--drop"],
        ["--days", "3", "--session", "lake"],
        ["--drop"],
        ["--session", "x"],
    ):
        assert run("admin", "retention", *words)[0] == 2


@pytest.mark.parametrize("emptied", [False, True])
def test_forgetting_everything_leaves_no_session_s_name(told, emptied):
    """Rules that name one go, whenever its messages went; others hold, and a dry run changes none."""
    named = RetentionRule(1, session="Dr. Moss")
    told.user("ann").retain(Retention([named, RetentionRule(365)]))
    told.user("bea").retain(Retention([named]))
    if emptied:
        told.forget(user="ann", seqs=range(1, 100))
    told.forget(user="ann", session="river")
    told.forget(user="ann", everything=True, dry_run=True)
    assert told.user("ann").retention().rules == (named, RetentionRule(365))
    assert told.forget(user="ann", everything=True).purged
    assert told.user("ann").retention() == Retention([RetentionRule(365)])
    assert told.user("bea").retention() == Retention([named])
    told.user("bea").retain(None)
    assert told.forget(user="bea", everything=True).purged
    told.close()
    assert not [file for file in told.path.rglob("*") if file.is_file() and b"Dr. Moss" in file.read_bytes()]


def test_forgetting_everything_takes_a_policy_that_cannot_be_read(told):
    """A damaged policy names nothing that could be known."""
    told.user("ann").retain(Retention([RetentionRule(1, session="river")]))
    stored(told, "{")
    told.forget(user="ann", everything=True)
    assert told.user("ann").retention() == Retention()
