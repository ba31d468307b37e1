"""Items: JSON documents by name, each put a message of the log."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zibaldone import IdConflict, InvalidInput, ItemPut

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)


@pytest.fixture
def items(memory):
    """Ann's."""
    return memory.user("ann").items


def test_an_item_comes_back_as_it_was_put_last(items, clock):
    """The value is the last one; when it was first put is kept."""
    began = clock()
    items.put(("prefs",), "theme", {"colours": "dark"})
    clock.tick(timedelta(hours=1))
    items.put(("prefs",), "theme", {"colours": "light"})
    item = items.get(("prefs",), "theme")
    assert (item.namespace, item.key, item.value) == (("prefs",), "theme", {"colours": "light"})
    assert (item.created, item.updated) == (began, clock())


@settings(max_examples=50)
@given(st.lists(NAMES, max_size=3), NAMES, st.dictionaries(NAMES, JSON, max_size=3))
def test_any_name_and_any_json_come_back(shared_memory, namespace, key, value):
    """Whatever a name is made of, separators included; the same item is found by search and in the list."""
    items = shared_memory.user("ann").items
    items.put(namespace, key, value)
    assert items.get(namespace, key).value == value
    assert [(item.namespace, item.key) for item in items.search(namespace, limit=10)] == [
        (tuple(namespace), key)
    ]
    assert items.namespaces() == [tuple(namespace)]
    items.delete([(namespace, key)])
    assert items.get(namespace, key) is None
    assert items.namespaces() == []


def test_names_do_not_run_into_each_other(items):
    """("a", "b") with key "c" is not ("a",) with key "b/c"; a search is of a namespace and all below it."""
    items.put(("a", "b"), "c", {"n": 1})
    items.put(("a",), "b/c", {"n": 2})
    items.put(("a/b",), "c", {"n": 3})
    items.put(("a", "bc"), "d", {"n": 4})
    assert items.get(("a", "b"), "c").value == {"n": 1}
    assert [item.value["n"] for item in items.search(("a", "b"))] == [1]
    assert {item.value["n"] for item in items.search(("a",), query="n")} == {1, 2, 4}


def test_a_search_ranks_by_what_items_say(items):
    """The item that answers comes first, with the best score; those without text come last."""
    items.put(("notes",), "drink", {"content": "She drinks green tea with honey every morning."})
    items.put(("notes",), "sport", {"content": "She swims in the lake on Sundays."})
    items.put(("notes",), "secret", {"content": "Her tea is from Uji."}, text="")
    ranked = items.search(("notes",), query="Which tea does she drink?")
    assert [item.key for item in ranked] == ["drink", "sport", "secret"]
    assert ranked[0].score > ranked[1].score
    assert ranked[2].score is None


def test_pages_of_a_search_are_all_of_it(items):
    """Each item is on one page, with a query and without."""
    for number in range(30):
        items.put(("n",), str(number), {"content": f"Tulip number {number}, " * 50})
    for query in (None, "tulip"):
        pages = [items.search(("n",), query=query, limit=7, offset=at) for at in range(0, 35, 7)]
        assert sorted(int(item.key) for page in pages for item in page) == list(range(30))


def test_only_what_an_item_says_now_is_found(memory, items):
    """It is recalled beside what was said; an earlier version is found by no search."""
    memory.add("My locker is in the west hall.", user="ann")
    codes = ["The locker code is 1234.", "The locker code is 9876."]
    for content in codes:
        items.put(("notes",), "locker", {"content": content})
    assert [item.value["content"] for item in items.search((), query="1234")] == codes[1:]
    text = memory.recall("What is the code of the locker?", user="ann", min_confidence=0).text
    assert "9876" in text
    assert "west hall" in text
    assert "1234" not in text
    assert not any("1234" in found.text for found in memory.search("locker code 1234", user="ann"))


def test_a_deleted_item_is_in_no_file(memory, items):
    """Nothing that it ever said is left in the folder, and nothing else goes."""
    items.put(("notes",), "a", {"content": "the word is Rumpelstilz"})
    items.put(("notes",), "a", {"content": "the word is Abrakadabra"})
    items.put(("notes",), "b", {"content": "stays"})
    assert items.search((), query="Rumpelstilz Abrakadabra")[0].key == "a"
    receipt = items.delete([(("notes",), "a"), (("notes",), "never there")])
    assert (receipt.messages, receipt.purged) == (2, True)
    files = [path.read_bytes().lower() for path in memory.path.rglob("*") if path.is_file()]
    assert not any(b"rumpelst" in content or b"abrakad" in content for content in files)
    assert [item.key for item in items.search((), query="Rumpelstilz Abrakadabra")] == ["b"]
    assert memory.admin.check().ok


def test_puts_are_stored_together_or_not_at_all(items):
    """One that is not JSON keeps the others out."""
    with pytest.raises(InvalidInput, match="JSON"):
        items.put_all([ItemPut((), "a", {"n": 1}), ItemPut((), "b", {"n": object()})])
    assert items.get((), "a") is None


@pytest.mark.parametrize("values", [({"n": 1}, {"n": 2}), ({"n": 1}, {"n": True}), ({"n": 1}, {"n": "1"})])
@pytest.mark.parametrize("text", ["", "the same"])
def test_of_two_puts_after_the_same_one_the_second_is_told(items, values, text):
    """Though the texts are alike: no value is dropped without a word. The same put again is no conflict."""
    items.put((), "a", values[0], text=text, after=0)
    items.put((), "a", values[0], text=text, after=0)
    with pytest.raises(IdConflict, match="another value"):
        items.put((), "a", values[1], text=text, after=0)
    assert items.get((), "a").value == values[0]


DEEP: dict = {}
for _ in range(5000):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize("text", [None, "short"])
@pytest.mark.parametrize(
    ("namespace", "key", "value"),
    [("prefs", "a", {}), ((1,), "a", {}), ((), 1, {}), ((), "a", [1]), ((), "\ud800", {}), ((), "a", DEEP)],
    ids=range(6),
)
def test_what_is_no_item_is_refused(items, namespace, key, value, text):
    """Each with the fix in its words; a value that is nested deeper than anybody can read, too."""
    with pytest.raises(InvalidInput, match=r"must be|is a tuple|surrogate|nested too deeply"):
        items.put(namespace, key, value, text=text)


def test_an_item_is_put_again_and_not_corrected(memory, items):
    """The correction of an earlier put would be what the item says now, with the earlier value."""
    items.put((), "a", {"n": 1})
    items.put((), "a", {"n": 2})
    with pytest.raises(InvalidInput, match="put the item again"):
        memory.update(1, "n: 3", user="ann")
    assert items.get((), "a").value == {"n": 2}


def test_a_session_of_an_items_name_is_no_item(memory, items):
    """A message in such a session is not taken for a document."""
    memory.add("hello", user="ann", session="zibaldone:items/prefs/drink")
    assert items.get(("prefs",), "drink") is None
    assert items.search(()) == []
