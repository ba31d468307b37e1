"""Retention: what goes by itself when it is old enough, and what merely fades."""

import json
from datetime import timedelta

import pytest

from zibaldone import InvalidInput, Retention, RetentionRule
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
    """What is left: ages in days, and of them those of the assistant's."""
    left = memory.messages(user=user)
    words = [(int(message.content.split()[3]), message.role) for message in left]
    return [age for age, role in words if role == "user"], [age for age, role in words if role == "assistant"]


@pytest.mark.parametrize(
    ("rules", "user_s", "assistant_s"),
    [
        ([RetentionRule(50)], [40, 10, 0], [40, 10, 0]),
        ([RetentionRule(0)], [], []),
        ([RetentionRule(365, roles=("user",)), RetentionRule(30, roles=["assistant"])], DAYS[1:], [10, 0]),
        ([RetentionRule(1, session="river")], [400, 40, 10, 0], [400, 40, 10, 0]),
        ([RetentionRule(1, session="river", roles=("user",))], [400, 40, 10, 0], DAYS),
        ([], DAYS, DAYS),
    ],
    ids=["age", "all", "roles", "session", "both", "nothing"],
)
def test_what_a_rule_says_goes_in_the_next_maintenance(told, rules, user_s, assistant_s):
    """By age, session and role, of this user alone; a dry run says the same before, and a receipt after."""
    told.retain(Retention(rules), user="ann")
    assert ages(told) == (DAYS, DAYS)
    dry = told.apply_retention(user="ann", dry_run=True)
    done = told.maintain()
    assert ages(told) == (user_s, assistant_s)
    assert ages(told, "bea") == (DAYS, DAYS)
    assert [receipt.seqs for receipt in done.forgotten] == [receipt.seqs for receipt in dry]
    assert sum(receipt.messages for receipt in done.forgotten) == 10 - len(user_s) - len(assistant_s)
    assert all(receipt.purged and not receipt.dry_run for receipt in done.forgotten)
    assert told.maintain().forgotten == ()
    assert told.check_integrity().ok


def test_the_default_holds_for_whom_nothing_else_was_set(told, opened):
    """Of a Memory's own default a user can be taken out; what was set stays for the next who opens it."""
    told.retain(Retention(), user="bea")
    memory = opened(embedder=HashEmbedder(16), retention=Retention([RetentionRule(50)]))
    assert memory.retention(user="ann") == Retention((RetentionRule(50),))
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["ann"]
    memory.retain(None, user="bea")
    assert [receipt.user for receipt in memory.maintain().forgotten] == ["bea"]


def test_items_stay(told, clock):
    """A rule of all messages is no rule of items: they are what they are until somebody deletes them."""
    told.items("ann").put(("app",), "settings", {"a": 1})
    told.retain(Retention([RetentionRule(1)]), user="ann")
    clock.now += timedelta(days=500)
    told.maintain()
    assert told.items("ann").get(("app",), "settings").value == {"a": 1}
    assert len(told.messages(user="ann")) == 1


def test_decay_lowers_the_rank_of_what_is_old(told):
    """What is as good and newer comes first; all is found as before, and nothing is deleted."""
    before = told.search("herons by the river", user="ann", limit=20)
    told.retain(Retention(decay_days=10), user="ann")
    after = told.search("herons by the river", user="ann", limit=20)
    assert [unit.time for unit in after] == sorted((unit.time for unit in after), reverse=True)
    assert {unit.sources for unit in after} == {unit.sources for unit in before}
    recalled = told.recall("herons by the river", user="ann", floor=0, budget_tokens=60)
    assert {message.seq for message in told.messages(user="ann")} == set(range(1, 11))
    assert min(unit.time for unit in recalled.evidence) > before[0].time - timedelta(days=41)
    assert told.maintain().forgotten == ()
    told.retain(None, user="ann")
    assert told.search("herons by the river", user="ann", limit=20) == before


def test_decay_deletes_where_that_is_asked_for(told):
    """What counts less than 1/e goes when it is older than the decay's days."""
    told.retain(Retention(decay_days=50, forget_below=0.3678), user="ann")
    told.maintain()
    assert ages(told) == ([40, 10, 0], [40, 10, 0])


@pytest.mark.parametrize(
    "bad",
    [
        lambda: RetentionRule(-1),
        lambda: RetentionRule("30"),
        lambda: RetentionRule(1, session=""),
        lambda: RetentionRule(1, roles="user"),
        lambda: Retention([30]),
        lambda: Retention(decay_days=0),
        lambda: Retention(forget_below=0.5),
        lambda: Retention(decay_days=1, forget_below=2),
    ],
)
def test_bad_policies(bad):
    """A policy of wrong values is refused when it is made."""
    with pytest.raises(InvalidInput):
        bad()


def test_a_policy_is_tried_before_it_is_set(told):
    """A dry run with a policy changes nothing; without one it is refused."""
    policy = Retention([RetentionRule(50)])
    (receipt,) = told.apply_retention(user="ann", policy=policy, dry_run=True)
    assert (receipt.messages, receipt.dry_run) == (4, True)
    with pytest.raises(InvalidInput, match="dry_run=True"):
        told.apply_retention(user="ann", policy=policy)
    assert told.retention(user="ann") == Retention()


def test_the_command_line(run, tmp_path):
    """Rules are added, tried, shown and taken back; a maintenance says what went."""
    run("add", "Old news of the river.", "--time", "2001-01-01")
    run("add", "News.")
    code, out, _ = run("retention", "--days", "30", "--role", "user", "--dry-run")
    assert (code, out.splitlines()[0]) == (0, "what is older than 30 days goes, of user")
    assert "would forget 1 message of 'me' (seq 1)" in out
    assert run("retention")[1] == "everything stays\n"
    run("retention", "--days", "30")
    run("retention", "--decay", "90")
    shown = json.loads(run("retention", "--json")[1])
    assert shown["rules"] == [{"days": 30.0, "session": None, "roles": []}]
    assert shown["decay_days"] == 90
    assert "forgot 1 message of 'me' (seq 1)" in run("maintain")[1]
    assert run("retention", "--off")[1] == "everything stays\n"
    assert run("retention", "--session", "x")[0] == 2
