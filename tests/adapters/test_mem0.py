"""mem0's calls over a memory, held against the mem0 that is installed."""

import inspect

import mem0
import pytest

from zibaldone import InvalidInput
from zibaldone.adapters.mem0 import Mem0Memory

pytestmark = pytest.mark.wide

NUTS = "I'm allergic to nuts."
CALLS = ("add", "search", "get_all", "get", "update", "delete", "delete_all", "history", "reset", "close")


@pytest.fixture
def m(memory):
    """Over an empty memory."""
    return Mem0Memory(memory)


def texts(results):
    """What the memories say."""
    return [record["memory"] for record in results["results"]]


@pytest.mark.parametrize("name", CALLS)
def test_every_parameter_of_mem0s_is_there(name):
    """By its name, by position or by keyword as there; more are allowed, required ones are not."""
    theirs = inspect.signature(getattr(mem0.Memory, name)).parameters
    ours = inspect.signature(getattr(Mem0Memory, name)).parameters
    for parameter in theirs.values():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            assert ours[parameter.name].kind == parameter.kind
            assert (ours[parameter.name].default is inspect.Parameter.empty) == (
                parameter.default is inspect.Parameter.empty
            )
    positional = [
        [p.name for p in side.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        for side in (theirs, ours)
    ]
    assert positional[0] == positional[1]
    assert all(p.default is not inspect.Parameter.empty for p in ours.values() if p.name not in theirs)


def test_what_is_added_is_found(m):
    """With mem0's fields around it."""
    added = m.add(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": NUTS, "name": "ann"},
            {"role": "assistant", "content": "Noted."},
        ],
        user_id="ann",
        agent_id="cook",
        run_id="monday",
        metadata={"topic": "food"},
    )
    assert [(r["memory"], r["event"]) for r in added["results"]] == [(NUTS, "ADD"), ("Noted.", "ADD")]
    best = m.search("What is she allergic to?", filters={"user_id": "ann"}, top_k=1)["results"][0]
    assert (
        best.items()
        >= {
            "id": added["results"][0]["id"],
            "memory": NUTS,
            "user_id": "ann",
            "agent_id": "cook",
            "run_id": "monday",
            "actor_id": "ann",
            "role": "user",
            "metadata": {"topic": "food"},
            "created_at": "2024-03-01T12:00:00+00:00",
            "updated_at": "2024-03-01T12:00:00+00:00",
        }.items()
    )
    assert 0 < best["score"] < 1
    assert m.get(best["id"])["memory"] == NUTS


def test_both_forms_of_asking(m):
    """Ids in filters, as mem0 has it now, or beside them, as it had it; `limit` is `top_k`."""
    for number in range(30):
        m.add(f"Tulip number {number}.", user_id="ann", run_id=str(number % 2))
    for call in (
        m.search("tulip", filters={"user_id": "ann"}),
        m.search("tulip", user_id="ann"),
        m.get_all(user_id="ann"),
        m.get_all(filters={"AND": [{"user_id": "ann"}]}),
    ):
        assert len(call["results"]) == 20
    for call in (
        m.search("tulip", user_id="ann", limit=3),
        m.search("tulip", filters={"user_id": "ann"}, top_k=3),
        m.get_all(user_id="ann", limit=3),
    ):
        assert len(call["results"]) == 3
    assert len(m.get_all(filters={"user_id": "ann", "run_id": "1"}, limit=99)["results"]) == 15
    assert len(m.search("tulip", user_id="ann", run_id="1", limit=99)["results"]) == 15
    assert texts(m.get_all(user_id="ann", top_k=1)) == ["Tulip number 29."]
    assert m.get_all(user_id="ann", top_k=0) == {"results": []}


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        ({"n": 1}, "1"),
        ({"n": {"eq": 1}}, "1"),
        ({"n": {"ne": 1}}, "023"),
        ({"n": {"in": [1, 2]}}, "12"),
        ({"n": {"nin": [1, 2]}}, "03"),
        ({"n": {"gt": 1}}, "23"),
        ({"n": {"gte": 1, "lt": 3}}, "12"),
        ({"n": {"lte": 0}}, "0"),
        ({"tag": {"contains": "Re"}}, "1"),
        ({"tag": {"icontains": "re"}}, "012"),
        ({"tag": "*"}, "0123"),
        ({"odd": "*"}, "13"),
        ({"AND": [{"n": {"gt": 0}}, {"odd": True}]}, "13"),
        ({"OR": [{"n": 0}, {"tag": "blue"}]}, "03"),
        ({"NOT": [{"n": 0}, {"odd": True}]}, "2"),
        ({"n": {"gt": "a"}}, ""),
        ({"missing": 1}, ""),
        ({"role": "user"}, "0123"),
    ],
)
def test_filters(m, filters, kept):
    """All of mem0's operators, in a list and in a search."""
    for n, tag in enumerate(("red", "Red", "green fire", "blue")):
        m.add(f"Tulip {n}", user_id="ann", metadata={"n": n, "tag": tag} | ({"odd": True} if n % 2 else {}))
    for results in (
        m.get_all(filters={"user_id": "ann", **filters}),
        m.search("tulip", filters={"user_id": "ann", **filters}),
    ):
        assert "".join(sorted(text[-1] for text in texts(results))) == kept


def test_an_update_is_what_holds_and_the_history_has_both(m):
    """Under the same id; search and list know the new words alone."""
    memory_id = m.add(NUTS, user_id="ann", metadata={"topic": "food"})["results"][0]["id"]
    assert m.update(memory_id, "I'm allergic to fish.", metadata={"sure": True})["message"]
    assert m.get(memory_id)["memory"] == "I'm allergic to fish."
    assert m.get(memory_id)["metadata"] == {"topic": "food", "sure": True}
    assert texts(m.search("allergic", user_id="ann")) == ["I'm allergic to fish."]
    assert m.search("allergic", user_id="ann")["results"][0]["id"] == memory_id
    assert texts(m.get_all(user_id="ann")) == ["I'm allergic to fish."]
    m.update(memory_id, data="I'm allergic to milk.")
    assert [(h["event"], h["old_memory"], h["new_memory"]) for h in m.history(memory_id)] == [
        ("ADD", None, NUTS),
        ("UPDATE", NUTS, "I'm allergic to fish."),
        ("UPDATE", "I'm allergic to fish.", "I'm allergic to milk."),
    ]


def test_what_is_deleted_is_in_no_file(m, memory):
    """With all that it said before."""
    memory_id = m.add("The word is Rumpelstilz.", user_id="ann")["results"][0]["id"]
    m.update(memory_id, "The word is Abrakadabra.")
    assert m.delete(memory_id) == {"message": "Memory deleted successfully!"}
    assert m.get(memory_id) is None
    assert m.history(memory_id) == []
    files = [path.read_bytes().lower() for path in memory.path.rglob("*") if path.is_file()]
    assert not any(b"rumpelst" in content or b"abrakad" in content for content in files)
    for call in (m.delete, lambda i: m.update(i, "x")):
        with pytest.raises(ValueError, match="not found"):
            call(memory_id)


def test_all_of_a_scope_is_deleted(m):
    """Of a run, of an agent, of a user, of everybody."""
    for user in ("ann", "bea"):
        m.add("one", user_id=user, run_id="r")
        m.add("two", user_id=user, agent_id="a")
        m.add("three", user_id=user)
    m.delete_all(user_id="ann", run_id="r")
    assert sorted(texts(m.get_all(user_id="ann"))) == ["three", "two"]
    m.delete_all(user_id="ann", agent_id="a")
    assert texts(m.get_all(user_id="ann")) == ["three"]
    m.delete_all(user_id="ann")
    assert texts(m.get_all(user_id="ann")) == []
    assert len(texts(m.get_all(user_id="bea"))) == 3
    m.reset()
    assert texts(m.get_all(user_id="bea")) == []


def test_what_expired_is_not_shown(m):
    """Unless it is asked for; a date can be moved or taken back."""
    memory_id = m.add(NUTS, user_id="ann", expiration_date="2020-01-01")["results"][0]["id"]
    assert texts(m.get_all(user_id="ann")) == texts(m.search("nuts", user_id="ann")) == []
    assert texts(m.get_all(user_id="ann", show_expired=True)) == [NUTS]
    assert m.get(memory_id)["expiration_date"] == "2020-01-01"
    m.update(memory_id, expiration_date="2999-01-01")
    assert texts(m.search("nuts", user_id="ann")) == [NUTS]
    m.update(memory_id, expiration_date=None)
    assert "expiration_date" not in m.get(memory_id)


def test_users_do_not_see_each_others_memories(m):
    """By no filter, wildcard or id; and what names no user is refused."""
    m.add(NUTS, user_id="ann", run_id="r")
    memory_id = m.get_all(user_id="ann")["results"][0]["id"]
    assert texts(m.search("allergic to nuts", user_id="bea")) == []
    assert texts(m.get_all(filters={"user_id": "bea", "OR": [{"user_id": "ann"}, {"n": 1}]})) == []
    assert m.get(memory_id.replace("@ann", "@bea")) is None
    for filters in (
        {},
        {"run_id": "r"},
        {"user_id": "*"},
        {"user_id": {"in": ["ann", "bea"]}},
        {"OR": [{"user_id": "ann"}, {"user_id": "bea"}]},
    ):
        with pytest.raises(InvalidInput, match="one user"):
            m.get_all(filters=filters)
    with pytest.raises(InvalidInput, match="given twice"):
        m.search("nuts", user_id="bea", filters={"user_id": "ann"})
    with pytest.raises(InvalidInput):
        m.delete_all(run_id="r")
    assert texts(m.get_all(user_id="ann")) == [NUTS]


def test_an_agent_alone_has_a_user_to_be_named(memory):
    """Calls without user_id are the default user's."""
    m = Mem0Memory(memory, default_user="shared")
    m.add(NUTS, agent_id="cook")
    assert texts(m.search("nuts", filters={"agent_id": "cook"})) == [NUTS]
    assert memory.users() == ["shared"]


def test_ids_are_what_mem0_takes(m):
    """Numbers, and strings with space around them; names of any letters."""
    m.add(NUTS, user_id=7)
    assert texts(m.get_all(user_id=" 7 ")) == [NUTS]
    added = m.add(NUTS, user_id="ä@/%")["results"][0]
    assert m.get(added["id"])["user_id"] == "ä@/%"


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.add("x", user_id="a b"),
        lambda m: m.add("x", user_id=" "),
        lambda m: m.add("x", user_id="ann", memory_type="procedural_memory"),
        lambda m: m.add("x", user_id="ann", prompt="Say it shorter."),
        lambda m: m.add("x", user_id="ann", expiration_date="soon"),
        lambda m: m.search(" ", user_id="ann"),
        lambda m: m.search("x", user_id="ann", threshold=2),
        lambda m: m.search("x", user_id="ann", top_k=-1),
        lambda m: m.search("x", user_id="ann", top_k=1, limit=1),
        lambda m: m.get_all(filters={"user_id": "ann", "n": {"like": 1}}),
        lambda m: m.get_all(filters={"user_id": "ann", "OR": {"n": 1}}),
        lambda m: m.update("x@ann"),
        lambda m: m.delete("nobody's"),
    ],
)
def test_what_cannot_be_done_is_refused(m, call):
    """As a ValueError, which is what mem0 raises."""
    m.add("something", user_id="ann", metadata={"n": 1})
    with pytest.raises(ValueError, match=r"\w"):
        call(m)


def test_a_time_of_its_own(m):
    """What mem0's own package has not: when it was said, and what now is."""
    m.add("We met in Rome.", user_id="ann", timestamp="2023-05-08T10:00:00+00:00")
    assert m.get_all(user_id="ann")["results"][0]["created_at"] == "2023-05-08T10:00:00+00:00"
    assert texts(m.search("Where did we meet yesterday?", user_id="ann", reference_date="2023-05-09")) == [
        "We met in Rome."
    ]
