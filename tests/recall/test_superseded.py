"""What no longer holds is marked in what is recalled, and what took its place stands with it."""

from datetime import UTC, datetime, timedelta

import pytest

from memories import with_filter
from zibaldone import Filter, Message
from zibaldone.recall.packing import choose
from zibaldone.text.rendering import render

START = datetime(2024, 1, 8, 9, tzinfo=UTC)
OLD, NEW = "My manager is Ines Patel.", "My manager is Tom Lee now."
SINCE = "[no longer holds, since Wed 10 Jan 2024"
MARK = f"{SINCE}: “My manager is Tom Lee now.”]"
QUESTION = "Who is my manager?"


def say(memory, *texts, user="ann", session="1", start=START, read=True):
    """A message a day, read by the notes view, or by messages alone."""
    messages = [
        Message(text, session=session, time=start + timedelta(days=day)) for day, text in enumerate(texts)
    ]
    stored = memory.add(messages, user=user)
    if read:
        memory.maintain(user=user, views=["notes"])
    return [message.seq for message in stored]


def add_only(memory, *texts, **options):
    """As `say`; no view but messages has read it."""
    return say(memory, *texts, read=False, **options)


@pytest.fixture
def filled(memory):
    """A manager on Monday, soup on Tuesday, another one on Wednesday."""
    say(memory, OLD, "I made soup.", NEW)
    return memory


def ask(memory, question=QUESTION, user="ann", **options):
    """Recall without a floor; nothing is too little to be recalled."""
    return memory.recall(
        question, user=user, **with_filter(**{"min_confidence": 0, "views": ["messages", "notes"]} | options)
    )


def lines(found):
    """Of the text."""
    return found.text.splitlines()


def test_what_no_longer_holds_is_marked_with_the_day(filled):
    """And its evidence says since when, by which message and by whom."""
    found = ask(filled)
    assert f"user: {OLD} {MARK}" in lines(found)
    assert f"user: {NEW}" in lines(found)
    (old,) = (unit for unit in found.evidence if unit.outdated)
    assert (old.sources, old.outdated.by, old.outdated.rule) == ((1,), 3, "stated")
    assert old.outdated.since == START + timedelta(days=2)
    assert old.text == OLD
    (cited,) = (citation for citation in found.citations if citation.seq == 1)
    assert found.text[cited.start : cited.end] == OLD


def test_what_holds_is_taken_before_what_does_not(filled):
    """Though the old one has more of the question's words."""
    say(filled, "My address is 5 Mill Lane since the old spring.", "My address is 9 Oak Road now.")
    ranked = [unit.text for unit in filled.search("address Mill Lane since the old spring", user="ann")]
    assert ranked[:2] == ["My address is 9 Oak Road now.", "My address is 5 Mill Lane since the old spring."]


def test_one_sentence_of_several_is_named(memory):
    """A reader sees which one is meant."""
    say(memory, "I had eggs for breakfast. My manager is Ines Patel. The bus was late again.", "Soup.", NEW)
    mark = (
        "[“My manager is Ines Patel.” no longer holds, since Wed 10 Jan 2024: “My manager is Tom Lee now.”]"
    )
    assert mark in ask(memory).text


def test_the_successor_comes_though_nobody_offered_it(filled):
    """It is made of the log, right before the one that it replaces, with its score."""
    (found,) = filled.search("Ines Patel", user="ann", limit=1)
    (old,) = (unit for unit in filled.search("Ines Patel", user="ann") if unit.sources == (1,))
    assert (found.text, found.score) == (NEW, old.score)
    assert found.tokens == filled.search("manager Lee now", user="ann")[0].tokens


def test_what_the_query_may_not_recall_does_not_come(filled):
    """Nor does what took its place in another session, which leaves its mark there all the same."""
    say(filled, "My manager is Ada Moss now.", session="2", start=START + timedelta(days=9))
    assert "Moss" in ask(filled).text
    assert "Moss" not in ask(filled, session="1").text
    assert "Moss" not in ask(filled, exclude_session="2").text
    narrowed = filled.search(QUESTION, user="ann", filter=Filter(session="1"))
    assert all(unit.outdated is None or "Moss" not in unit.outdated.instead for unit in narrowed)


def test_of_a_chain_the_newest_comes(filled):
    """The others are marked, each with its words and their own day."""
    say(filled, "My manager is Ada Moss now.", start=START + timedelta(days=9))
    (found,) = filled.search("Ines Patel", user="ann", limit=1)
    assert found.text == "My manager is Ada Moss now."
    marks = [line.partition("[")[2] for line in lines(ask(filled)) if "no longer holds" in line]
    assert marks == ["no longer holds, since Wed 17 Jan 2024: “My manager is Ada Moss now.”]"] * 2


def test_the_mark_is_within_the_budget(filled):
    """It costs what it adds to the text."""
    for budget in range(5, 80):
        found = ask(filled, budget_tokens=budget)
        assert found.tokens == filled.admin.count_tokens(found.text) <= budget
    (old,) = (unit for unit in ask(filled).evidence if unit.outdated)
    both, without = (filled.admin.count_tokens(text) for text in (f"x\nuser: {OLD} {MARK}", "x"))
    assert old.tokens == both - without


def test_who_leaves_the_notes_out_sees_no_mark(filled):
    """Notes are asked by their name, and by default."""
    assert "no longer holds" not in ask(filled, views=["messages"]).text
    assert "no longer holds" in ask(filled, views=None).text


def test_a_recall_of_the_past_knows_what_had_ended_by_then(memory):
    """By what was said up to its time, though something later ended it once more; before that it held."""
    say(memory, OLD, NEW)
    say(memory, "My manager is Ada Moss now.", start=START + timedelta(days=5))
    until = START + timedelta(days=1, hours=1)
    (first, second) = ask(memory, until=until).evidence
    assert (first.outdated.by, second.outdated) == (2, None)
    (alone,) = ask(memory, until=START + timedelta(hours=1)).evidence
    assert (alone.text, alone.outdated) == (OLD, None)


@pytest.mark.parametrize("read", [0, 1, 2, 3])
def test_a_chain_is_the_same_wherever_the_view_has_read_to(memory, read):
    """Messages that are read on the spot go on from links that are stored, one at a time or together."""
    said = ["My manager is Ines Patel.", "My manager is Tom Lee now.", "My manager is Ada Moss now."]
    for text, day in zip(said, range(3), strict=True):
        at = START + timedelta(days=day)
        (say if day < read else add_only)(memory, text, start=at)
        ask(memory)  # what is kept between recalls is added to
    found = ask(memory)
    assert sum("no longer holds" in line for line in lines(found)) == 2
    (newest,) = memory.search("Ines Patel", user="ann", limit=1)
    assert newest.text == "My manager is Ada Moss now."


def test_what_is_read_on_the_spot_is_forgotten(memory):
    """A mark goes with the newer message, and words that were kept of the older one end nothing."""
    add_only(memory, OLD, "I made soup.", NEW)
    ask(memory)
    memory.forget(user="ann", seqs=[3])
    assert "no longer holds" not in ask(memory).text
    memory.forget(user="ann", seqs=[1])
    add_only(memory, NEW, start=START + timedelta(days=9))
    assert "no longer holds" not in ask(memory).text


def test_the_mark_says_what_holds_now_though_its_message_does_not_fit(memory):
    """A few words of the clause that took the place, where its message is in as well too."""
    long = " ".join(["I read a chapter about the history of the port and its cranes."] * 6)
    add_only(memory, "My book budget is $35.", f"My book budget is $50 for now. {long}")
    candidates = memory.search("book budget", user="ann")
    (old,) = (unit for unit in candidates if unit.outdated)
    assert old.outdated.instead == "My book budget is $50 for now."
    (alone,) = choose([old], 500, memory.admin.count_tokens).evidence
    assert f": “{old.outdated.instead}”]" in render([alone])[0]
    both = choose(candidates, 500, memory.admin.count_tokens).evidence
    text = render(both)[0]
    assert f": “{old.outdated.instead}”]" in text
    (marked,) = (unit for unit in both if unit.outdated)
    shown = f"user: {marked.text} {text.partition('$35. ')[2].partition(']')[0]}]"
    assert marked.tokens == memory.admin.count_tokens(f"x\n{shown}") - memory.admin.count_tokens("x")


def test_every_sentence_of_a_passage_that_holds_no_more_is_marked(memory):
    """Each with its own words and what took its place, in their order."""
    add_only(
        memory,
        "My manager is Ines Patel. My rent is 790 a month. I like the park.",
        "My rent is 835 a month now.",
        "My manager is Tom Lee now.",
    )
    (old,) = (unit for unit in memory.search("manager rent", user="ann") if unit.outdated)
    assert [old.outdated.by, *(mark.by for mark in old.also_outdated)] == [3, 2]
    (shown,) = (line for line in lines(memory.recall("my manager and my rent", user="ann")) if "park" in line)
    assert shown.count("no longer holds") == 2
    assert "[“My manager is Ines Patel.” no longer holds" in shown
    assert (
        "[“My rent is 790 a …” no longer holds, since Tue 9 Jan 2024: “My rent is 835 a month now.”]" in shown
    )
    counted = memory.admin.count_tokens(f"x\n{shown}") - memory.admin.count_tokens("x")
    assert old.tokens == counted


def test_a_quotation_in_a_mark_cannot_begin_a_line(memory):
    """Whatever breaks it was written with, it stays inside of its mark."""
    add_only(memory, OLD, "My manager\u2028Tue 9 Jan 2024\u2028is Tom Lee now.")
    assert all(not line.startswith("Tue") for line in lines(ask(memory)) if "manager" in line)


def corrected(memory, act, *texts):
    """What is said, and then the first note of the profile edited."""
    add_only(memory, *texts)
    profile = memory.user("ann").profile
    return act(profile, profile.entries()[0])


HOME, ELSEWHERE = "I live in Oslo and have two cats.", "I live in Bergen and have two cats."


def ask_with_profile(memory, question, **options):
    """As an agent asks: notes say what they know."""
    return memory.recall(question, user="ann", min_confidence=0, **with_filter(**options))


@pytest.mark.parametrize("maintained", [False, True])
def test_the_sentence_of_an_edited_entry_is_marked(memory, maintained):
    """What the person wrote instead stands with it, at once and after a maintenance."""
    corrected(memory, lambda profile, entry: profile.edit(entry, ELSEWHERE), HOME, "I made soup.")
    if maintained:
        memory.maintain(user="ann")
    found = ask_with_profile(memory, "Where do I live?")
    old = next(unit for unit in found.evidence if unit.sources == (1,))
    assert (old.outdated.rule, old.outdated.by, old.outdated.instead) == ("edited", 3, ELSEWHERE)
    assert ELSEWHERE in found.text.replace(f": “{ELSEWHERE}”", "")
    assert [unit.sources for unit in memory.search("Oslo", user="ann") if unit.outdated] == [(1,)]


def test_the_sentence_of_a_retired_entry_is_marked(memory):
    """Nothing took its place, so nothing is quoted; pinned, an entry holds as before."""
    corrected(memory, lambda profile, entry: profile.retire(entry), HOME, "I made soup.")
    found = ask_with_profile(memory, "Where do I live?")
    assert f"user: {HOME} [no longer holds" in found.text
    assert "“" not in found.text
    profile = memory.user("ann").profile
    profile.pin(profile.edit(profile.entries()[0], HOME))
    assert "no longer holds" not in ask_with_profile(memory, "Where do I live?").text


def test_what_says_a_corrected_entry_again_goes_with_it(memory):
    """The same words in another message are no entry that holds, and marked."""
    corrected(
        memory, lambda profile, entry: profile.retire(entry), "I work at Equinor.", "I work at Equinor."
    )
    assert memory.user("ann").profile.text() == ""
    marks = [unit.outdated for unit in memory.search("Equinor", user="ann")]
    assert len(marks) == 2
    assert all(marks)


def test_marks_of_a_correction_go_with_it(memory):
    """Forgotten with its message, it marks nothing any more."""
    corrected(memory, lambda profile, entry: profile.retire(entry), HOME, "I made soup.")
    memory.forget(user="ann", seqs=[3])
    assert "no longer holds" not in ask_with_profile(memory, "Where do I live?").text


def test_the_profile_leaves_out_what_was_ended(memory):
    """As recall marks it: nobody puts into a prompt what holds no more; said again, it holds again."""
    add_only(memory, "I live in Oslo.", "I live in Bergen.")
    profile = memory.user("ann").profile
    assert (profile.entries()[0].holds, profile.entries()[0].ended_by) == (False, 2)
    assert "Oslo" not in profile.text()
    add_only(memory, "I live in Oslo.", start=START + timedelta(days=5))
    assert [entry.holds for entry in profile.entries()] == [False, False, True]


def test_only_the_newest_unread_messages_are_read_on_the_spot(memory, monkeypatch):
    """So that a large import is not read by whoever asks first."""
    monkeypatch.setattr("zibaldone.views.notes.view.MOST_UNREAD", 2)
    add_only(memory, OLD, NEW, "I made soup.", "It rains.")
    assert "no longer holds" not in ask(memory).text
    memory.maintain(user="ann", views=["notes"])
    assert "no longer holds" in ask(memory).text
