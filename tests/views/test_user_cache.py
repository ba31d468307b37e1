"""Cached values of users: bounded, apart, and nothing of before a forgetting."""

import os
import sys
import threading

import pytest

from zibaldone.log import UserState
from zibaldone.storage.turns import Turns
from zibaldone.views.user_cache import UserCache

AT_1, AT_2 = UserState(1, 1, 0), UserState(2, 2, 2)  # something was forgotten at version 2


def test_values_are_bounded_together_and_the_newest_is_kept():
    """By their sizes; taking and dropping make room again."""
    cache = UserCache(9, most_size=10, size=len)
    cache.put("a", "x" * 6, AT_1)
    cache.put("a", "x" * 7, AT_2)
    cache.put("b", "x" * 3, AT_1)
    assert len(cache) == 2
    cache.put("c", "x" * 40, AT_1)
    assert (len(cache), cache.get("c")) == (1, "x" * 40)
    assert cache.take("c")
    cache.put("a", "x" * 5, AT_2)
    cache.put("b", "x" * 5, AT_2)
    cache.drop("a", AT_2)
    cache.put("c", "x" * 5, AT_2)
    assert [bool(cache.get(user)) for user in "abc"] == [False, True, True]
    few = UserCache(2)
    for user in "abc":
        few.put(user, user.upper(), AT_1)
        few.get("a")
    assert [few.get(user) for user in "abc"] == ["A", None, "C"]  # the least recently used goes first


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_begins_with_none_and_waits_for_nobody():
    """Though a thread of the parent is half way through a change."""
    cache = UserCache(9)
    cache.put("a", "A", AT_1)
    with cache._lock:
        child = os.fork()
        if not child:
            os._exit(0 if cache.get("a") is None and cache.put("a", "B", AT_1) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert cache.get("a") == "A"


def test_one_at_a_time_has_a_users_turn_and_others_do_not_wait():
    """Whoever comes while it is held waits for it; nothing is kept of users whom nobody waits for."""
    turns, order = Turns(), []
    begun = threading.Event()

    def second():
        begun.set()
        with turns.take("a"):
            order.append("second")

    thread = threading.Thread(target=second)
    with turns.take("a"):
        thread.start()
        assert begun.wait(20)
        with turns.take("b"):
            order.append("other")
        order.append("first")
    thread.join(20)
    assert order == ["other", "first", "second"]
    assert turns._turns == {}
