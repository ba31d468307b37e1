"""The list of sessions for people: titles, order, pages, words."""


def add(memory, session, *contents, day=1, user="ann", **metadata):
    """A session of that day."""
    memory.add(
        [{"content": words, "time": f"2024-05-{day:02d}T10:00", "metadata": metadata} for words in contents],
        user=user,
        session=session,
    )


def test_a_session_has_its_title_or_its_first_words(memory):
    """The title that was imported; without one, what was said first, in one line."""
    add(memory, "a", "Hello", "again", title="Bees in winter")
    add(memory, "b", "What is\n a ferry?", "A ship.", day=2)
    page, total = memory.user("ann").titled_sessions()
    assert [(held.title, held.messages) for held in page] == [("What is a ferry?", 2), ("Bees in winter", 2)]
    assert total == 2


def test_those_that_ended_last_come_first(memory):
    """In whatever order they were stored; each with its span."""
    add(memory, "new", "N", "Later", day=9)
    add(memory, "old", "O", day=2)
    add(memory, "new", "Still", day=11)
    (first, second), _ = memory.user("ann").titled_sessions()
    assert (first.session, first.first_seq, first.last_seq, first.messages) == ("new", 1, 4, 3)
    assert (first.start.day, first.end.day) == (9, 11)
    assert second.session == "old"


def test_they_come_in_pages(memory):
    """A page begins behind the last session of the one before, and says how many there are from there on."""
    for day in range(1, 8):
        add(memory, f"s{day}", "Hi", day=day)
    first, total = memory.user("ann").titled_sessions(limit=3)
    assert [held.session for held in first] == ["s7", "s6", "s5"]
    assert total == 7
    add(memory, "s5", "Again", day=9)  # nothing moves on the next page, and nothing is shown twice
    page, total = memory.user("ann").titled_sessions(limit=2, after=first[-1].last_seq)
    assert [held.session for held in page] == ["s4", "s3"]
    assert total == 4


def test_a_page_behind_a_message_that_is_gone(memory):
    """It goes on at its place in the log; so it does behind another agent's message, which tells nothing."""
    for day in range(1, 4):
        add(memory, f"s{day}", "Hi", day=day, agent="notes" if day < 3 else "mail")
    sessions = memory.user("ann").titled_sessions
    of_notes, _ = sessions(after=3, agent="notes")
    memory.forget(user="ann", seqs=[3])
    page, total = sessions(after=3)
    assert [held.session for held in page] == [held.session for held in of_notes] == ["s2", "s1"]
    assert total == 2


def test_words_are_looked_for_in_titles_and_names(memory):
    """All of them, in whatever case; another user's are not looked at."""
    add(memory, "chat-1", "x", title="Bees in Winter")
    add(memory, "chat-2", "x", title="Bees in summer")
    add(memory, "chat-3", "x", title="Bees in winter", user="bob")
    page, total = memory.user("ann").titled_sessions(words="WINTER chat")
    assert [held.session for held in page] == ["chat-1"]
    assert total == 1


def test_they_are_narrowed(memory):
    """To those that were going on in a time, those of some names, and what an agent has of each."""
    add(memory, "a", "Hello", "Later")
    add(memory, "b", "Nine", day=9, agent="notes")
    add(memory, "a", "Eleven", "Twelve", day=11, agent="notes")
    page, total = memory.user("ann").titled_sessions(since="2024-05-05", until="2024-05-09T10:00")
    assert [held.session for held in page] == ["a"]
    assert total == 1
    assert [held.session for held in memory.user("ann").titled_sessions(among=["b", "c"])[0]] == ["b"]
    (first, second), _ = memory.user("ann").titled_sessions(agent="notes")
    assert (first.session, first.title, first.messages, first.first_seq) == ("a", "Eleven", 2, 4)
    assert (first.start.day, second.session) == (11, "b")


def test_what_items_say_is_in_no_session(memory):
    """They are documents, and no talk; a user without messages has none."""
    memory.user("ann").items.put(("settings",), "color", {"is": "red"})
    assert memory.user("ann").titled_sessions() == ([], 0)
    assert memory.user("nobody").titled_sessions() == ([], 0)
