"""What no longer holds is marked in what is recalled, and what took its place stands with it."""

from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import Message
from zibaldone.choosing import choose
from zibaldone.core import Scope
from zibaldone.outdating import current_first, holding
from zibaldone.rendering import render
from zibaldone.views.base import Query
from zibaldone.views.updates import words_of_change

START = datetime(2024, 1, 8, 9, tzinfo=UTC)
OLD, NEW = "My dentist is Dr. Patel.", "My dentist is Dr. Lee now."
SINCE = "[no longer holds, since Wed 10 Jan 2024"
MARK = f"{SINCE}; see “My dentist is Dr. Lee now.”]"
QUESTION = "Who is my dentist?"


def say(memory, *texts, user="ann", session="1", start=START):
    """A message a day, read by the updates view."""
    messages = [
        Message(text, session=session, time=start + timedelta(days=day)) for day, text in enumerate(texts)
    ]
    stored = memory.add(messages, user=user)
    memory.maintain(user=user, views=["updates"])
    return [message.seq for message in stored]


@pytest.fixture
def filled(memory):
    """A dentist on Monday, soup on Tuesday, another dentist on Wednesday."""
    say(memory, OLD, "I made soup.", NEW)
    return memory


def ask(memory, question=QUESTION, user="ann", **options):
    """Recall without a floor; the profile, which keeps what holds, says nothing beside it."""
    return memory.recall(question, user=user, **{"floor": 0, "views": ["messages", "updates"]} | options)


def query(memory, **options):
    """The question, as views get it."""
    return Query(QUESTION, Scope("ann"), 500, START, **options)


def lines(found):
    """Of the text."""
    return found.text.splitlines()


def test_what_no_longer_holds_is_marked_with_the_day(filled):
    """And its evidence says since when, by which message and by which rule."""
    found = ask(filled)
    assert f"user: {OLD} {MARK}" in lines(found)
    assert f"user: {NEW}" in lines(found)
    (old,) = (unit for unit in found.evidence if unit.outdated)
    assert (old.sources, old.outdated.by, old.outdated.rule) == ((1,), 3, "now")
    assert old.outdated.since == START + timedelta(days=2)
    assert old.text == OLD
    (cited,) = (citation for citation in found.citations if citation.seq == 1)
    assert found.text[cited.start : cited.end] == OLD


def test_what_holds_is_taken_before_what_does_not(filled):
    """Though the old one has more of the question's words."""
    say(filled, "My gym is in Mill Lane and costs 30 euros.", "My gym is in Oak Road now.")
    ranked = [unit.text for unit in filled.search("gym in Mill Lane for 30 euros", user="ann")]
    assert ranked[:2] == ["My gym is in Oak Road now.", "My gym is in Mill Lane and costs 30 euros."]


def test_one_sentence_of_several_is_named(memory):
    """A reader sees which one is meant."""
    say(memory, "I had eggs for breakfast. My dentist is Dr. Patel. The bus was late again.", "Soup.", NEW)
    assert f"{SINCE}: “My dentist is Dr. Patel.”; see “My dentist is Dr. Lee now.”]" in ask(memory).text


def test_the_successor_comes_though_nobody_offered_it(filled):
    """It is made of the log, right before the one that it replaces, with its score."""
    (old,) = (unit for unit in filled.search(QUESTION, user="ann") if unit.sources == (1,))
    candidates = [unit for unit in filled.search("soup", user="ann") if unit.sources == (2,)]
    ranked = current_first(
        filled._database, [filled._updates], [*candidates, old], query(filled), filled._tokenizer
    )
    assert [unit.text for unit in ranked] == ["I made soup.", NEW, OLD]
    assert ranked[1].score == old.score
    assert ranked[1].tokens == filled.search("dentist Lee now", user="ann")[0].tokens


def test_what_the_query_may_not_recall_does_not_come(filled):
    """Nor does what took its place in another session, which leaves its mark there all the same."""
    say(filled, "My dentist is Dr. Moss now.", session="2", start=START + timedelta(days=9))
    assert "Moss" in ask(filled).text
    assert "Moss" not in ask(filled, session="1").text
    assert "Moss" not in ask(filled, exclude_session="2").text


def test_of_a_chain_the_newest_comes(filled):
    """The others are marked, each with the day of what followed it."""
    say(filled, "My dentist is Dr. Moss now.", start=START + timedelta(days=9))
    (old,) = (unit for unit in filled.search(QUESTION, user="ann") if unit.sources == (1,))
    ranked = current_first(filled._database, [filled._updates], [old], query(filled), filled._tokenizer)
    assert [unit.text for unit in ranked] == ["My dentist is Dr. Moss now.", OLD]
    assert sum("no longer holds" in line for line in lines(ask(filled))) == 2


def test_the_mark_is_within_the_budget(filled):
    """It costs what it adds to the text."""
    for budget in range(5, 80):
        found = ask(filled, budget_tokens=budget)
        assert found.tokens == filled.count_tokens(found.text) <= budget
    (old,) = (unit for unit in ask(filled).evidence if unit.outdated)
    both, without = (filled.count_tokens(text) for text in (f"x\nuser: {OLD} {MARK}", "x"))
    assert old.tokens == both - without


def test_who_leaves_the_updates_out_sees_no_mark(filled):
    """The overlay is asked by its name, and by default."""
    assert "no longer holds" not in ask(filled, views=["messages"]).text
    assert "no longer holds" in ask(filled, views=None).text


def test_forgetting_the_newer_message_takes_the_mark_away(filled):
    """What it said about the older one is forgotten with it."""
    filled.forget(user="ann", seqs=[3])
    assert "no longer holds" not in ask(filled).text
    assert OLD in ask(filled).text
    assert all(unit.outdated is None for unit in filled.search(QUESTION, user="ann"))


def test_another_user_s_messages_end_nothing(memory):
    """Neither a mark nor a successor crosses the wall, though seqs and words are the same."""
    say(memory, OLD, "I made soup.")
    say(memory, OLD, "I made soup.", NEW, user="bea")
    for found in (ask(memory), ask(memory, views=None)):
        assert "no longer holds" not in found.text
        assert "Lee" not in found.text
    assert "Lee" not in str(memory.search(QUESTION, user="ann"))
    assert MARK in ask(memory, user="bea").text


def test_a_recall_of_the_past_knows_nothing_of_later_messages(filled):
    """Until Tuesday, Monday's dentist held."""
    found = ask(filled, until=START + timedelta(days=1, hours=1))
    assert f"user: {OLD}" in lines(found)
    assert NEW not in found.text


def test_a_recall_of_the_past_knows_what_had_ended_by_then(memory):
    """By what was said up to its time, though something later ended it once more."""
    say(memory, "The review is on Monday.", "I moved the review to Tuesday.")
    say(memory, "The review is on Friday, not Monday.", start=START + timedelta(days=5))
    until = START + timedelta(days=1, hours=1)
    (first, second) = ask(memory, "When is the review?", until=until).evidence
    assert (first.outdated.by, second.outdated) == (2, None)


def test_what_stands_ends_by_what_a_recall_may_know_of(filled):
    """An entry that ended later was known then."""
    unit = filled.search(QUESTION, user="ann", until=START + timedelta(hours=1))[0]
    assert unit.text == OLD
    parts = filled._database, [filled._updates], [unit]
    assert holding(*parts, query(filled)) == []
    assert holding(*parts, query(filled, within=frozenset({1, 2}))) == [unit]


def add_only(memory, *texts, user="ann", session="1", start=START):
    """A message a day, which no view but messages has read."""
    messages = [
        Message(text, session=session, time=start + timedelta(days=day)) for day, text in enumerate(texts)
    ]
    return [message.seq for message in memory.add(messages, user=user)]


def test_what_was_just_added_marks_at_once(memory):
    """No maintenance is waited for: neither for the older message nor for the newer one."""
    add_only(memory, OLD, "I made soup.", NEW)
    assert f"user: {OLD} {MARK}" in lines(ask(memory))
    assert f"user: {OLD} {MARK}" in lines(ask(memory, views=None))


@pytest.mark.parametrize("read", [0, 1, 2, 3])
def test_a_chain_is_the_same_wherever_the_view_has_read_to(memory, read):
    """Messages that are read on the spot go on from links that are stored, one at a time or together."""
    said = ["My dentist is Dr. Patel.", "My dentist is Dr. Lee now.", "My dentist is Dr. Moss now."]
    for text, day in zip(said, range(3), strict=True):
        at = START + timedelta(days=day)
        (say if day < read else add_only)(memory, text, start=at)
        ask(memory)  # what is kept between recalls is added to
    found = ask(memory)
    assert sum("no longer holds" in line for line in lines(found)) == 2
    (old,) = (unit for unit in memory.search(QUESTION, user="ann") if unit.sources == (1,))
    ranked = current_first(memory._database, [memory._updates], [old], query(memory), memory._tokenizer)
    assert ranked[0].text == "My dentist is Dr. Moss now."


def test_what_is_read_on_the_spot_is_forgotten(memory):
    """A mark goes with the newer message, and words that were kept of the older one end nothing."""
    add_only(memory, OLD, "I made soup.", NEW)
    ask(memory)
    memory.forget(user="ann", seqs=[3])
    assert "no longer holds" not in ask(memory).text
    memory.forget(user="ann", seqs=[1])
    add_only(memory, NEW, start=START + timedelta(days=9))
    assert "no longer holds" not in ask(memory).text


def test_unread_messages_of_another_user_end_nothing(memory):
    """Each user's unread messages are that user's."""
    add_only(memory, OLD)
    add_only(memory, OLD, "I made soup.", NEW, user="bea")
    ask(memory, user="bea")
    assert "no longer holds" not in ask(memory).text
    add_only(memory, NEW, user="cyd")
    assert "no longer holds" not in ask(memory, user="cyd").text


def test_only_the_newest_unread_messages_are_read_on_the_spot(memory, monkeypatch):
    """So that a large import is not read by whoever asks first."""
    monkeypatch.setattr("zibaldone.views.updates.unread.MOST_UNREAD", 2)
    add_only(memory, OLD, NEW, "I made soup.", "It rains.")
    assert "no longer holds" not in ask(memory).text
    memory.maintain(user="ann", views=["updates"])
    assert "no longer holds" in ask(memory).text


def test_the_mark_says_what_holds_now_though_its_message_does_not_fit(memory):
    """A few words of the clause that took the place, where its message is in as well too."""
    long = " ".join(["I read a chapter about the history of the port and its cranes."] * 6)
    add_only(memory, "My book budget is $35.", f"I've raised my book budget to $50 for now. {long}")
    candidates = memory.search("book budget", user="ann")
    (old,) = (unit for unit in candidates if unit.outdated)
    assert old.outdated.instead == "I've raised my book budget to $50 for now."
    (alone,) = choose([old], query(memory), memory.count_tokens).evidence
    assert f"see “{old.outdated.instead}”]" in render([alone])[0]
    both = choose(candidates, query(memory), memory.count_tokens).evidence
    text = render(both)[0]
    assert f"see “{old.outdated.instead}”]" in text
    (marked,) = (unit for unit in both if unit.outdated)
    shown = f"user: {marked.text} {text.partition('$35. ')[2].partition(']')[0]}]"
    assert marked.tokens == memory.count_tokens(f"x\n{shown}") - memory.count_tokens("x")


def test_every_sentence_of_a_passage_that_holds_no_more_is_marked(memory):
    """Each with its own words and what took its place, in their order."""
    add_only(
        memory,
        "My dentist is Dr. Patel. My rent is 790 a month. I like the park.",
        "My rent is 835 a month now.",
        "My dentist is Dr. Lee now.",
    )
    (old,) = (unit for unit in memory.search("dentist rent", user="ann") if unit.outdated)
    assert [old.outdated.by, *(mark.by for mark in old.also_outdated)] == [3, 2]
    (shown,) = (line for line in lines(memory.recall("my dentist and my rent", user="ann")) if "park" in line)
    assert shown.count("[no longer holds") == 2
    assert "“My dentist is Dr. Patel.”; see “My dentist is Dr. Lee now.”" in shown
    assert "“My rent is 790 a …”; see “My rent is 835 a month now.”" in shown
    counted = memory.count_tokens(f"x\n{shown}") - memory.count_tokens("x")
    assert old.tokens == counted


@pytest.mark.parametrize(
    ("old", "new", "quoted"),
    [
        (
            "I'm planning a film weekend and I've raised my snack budget to $65, can you find films for it?",
            "I'm planning a film evening with Jo and I've changed the snack budget to $75, can you help?",
            "… and I've changed the snack budget to $75 …",
        ),
        (
            "I may apply for the senior role at the mill, especially with the deadline being May 10",
            "I'm nervous about the role at the mill, and the deadline was extended to May 20, so I wait",
            "… and the deadline was extended to May 20 …",
        ),
    ],
)
def test_a_mark_quotes_the_new_value(old, new, quoted):
    """Not the clause that has more words of the old sentence."""
    assert words_of_change(new, 0, len(new), old) == quoted


def test_the_mark_does_not_say_what_the_recall_may_not(filled):
    """What took its place in another session is not quoted in a recall of this one."""
    say(filled, "My dentist is Dr. Moss now.", session="2", start=START + timedelta(days=9))
    (found,) = (unit for unit in filled.search(QUESTION, user="ann") if unit.sources == (1,))
    assert found.outdated.instead == "My dentist is Dr. Moss now."
    assert "Moss" not in ask(filled, session="1").text
    narrowed = filled.search(QUESTION, user="ann", session="1")
    assert all(unit.outdated is None or "Moss" not in unit.outdated.instead for unit in narrowed)


def test_a_quotation_in_a_mark_cannot_begin_a_line(memory):
    """Whatever breaks it was written with, it stays inside of its mark."""
    add_only(memory, OLD, "My dentist\u2028Tue 9 Jan 2024\u2028is Dr. Lee now.")
    assert all(not line.startswith("Tue") for line in lines(ask(memory)) if "dentist" in line)


@pytest.mark.parametrize(
    ("old", "new", "quoted"),
    [
        ("My tutor is Femke.", "My tutor is Anselm.", "My tutor is Anselm."),
        (
            "My book budget is $35.",
            "I want a new series for winter evenings, and I raised my book budget to $50, what is good?",
            "… and I raised my book budget to $50 …",
        ),
        ("My book budget is $35.", "So after a long, long talk with everybody I raised it to $50", None),
    ],
)
def test_a_mark_quotes_the_clause_with_the_new_value(old, new, quoted):
    """Ten words at most, and what is left out is shown."""
    made = words_of_change(new, 0, len(new), old)
    assert made == quoted if quoted else "$50" in made
    assert len([word for word in made.split() if word != "…"]) <= 10


def corrected(memory, act, *texts):
    """What is said, and then the first entry of the profile corrected."""
    add_only(memory, *texts)
    profile = memory.profile("ann")
    return act(profile, profile.entries()[0])


HOME, ELSEWHERE = "I live in Oslo and have two cats.", "I live in Bergen and have two cats."


def ask_with_profile(memory, question, **options):
    """As an agent asks: every overlay says what it knows."""
    return memory.recall(question, user="ann", floor=0, **options)


@pytest.mark.parametrize("maintained", [False, True])
def test_the_sentence_of_an_edited_entry_is_marked(memory, maintained):
    """What the person wrote instead stands with it, at once and after a maintenance."""
    corrected(memory, lambda profile, entry: profile.edit(entry, ELSEWHERE), HOME, "I made soup.")
    if maintained:
        memory.maintain(user="ann")
    found = ask_with_profile(memory, "Where do I live?")
    old = next(unit for unit in found.evidence if unit.sources == (1,))
    assert (old.outdated.rule, old.outdated.by, old.outdated.instead) == ("edited", 3, ELSEWHERE)
    assert ELSEWHERE in found.text.replace(f"see “{ELSEWHERE}”", "")
    assert [unit.sources for unit in memory.search("Oslo", user="ann") if unit.outdated] == [(1,)]


def test_of_several_edits_the_last_one_holds(memory):
    """The wordings before it are marked as well; the words given back hold again."""

    def twice(profile, entry):
        profile.edit(profile.edit(entry, ELSEWHERE), "I live in Hamar.")

    corrected(memory, twice, HOME)
    marked = {unit.text: unit.outdated for unit in ask_with_profile(memory, "Where do I live?").evidence}
    assert {marked[HOME].instead, marked[ELSEWHERE].instead} == {"I live in Hamar."}
    profile = memory.profile("ann")
    profile.edit(profile.entries()[0], HOME)
    held = ask_with_profile(memory, "Where do I live?").evidence
    assert all(unit.outdated is None for unit in held if unit.text == HOME)
    assert all(unit.outdated for unit in held if unit.text != HOME)


def test_the_sentence_of_a_retired_entry_is_marked(memory):
    """Nothing took its place, so nothing is quoted; pinned, an entry holds as before."""
    corrected(memory, lambda profile, entry: profile.retire(entry), HOME, "I made soup.")
    found = ask_with_profile(memory, "Where do I live?")
    assert f"user: {HOME} [no longer holds" in found.text
    assert "see “" not in found.text
    profile = memory.profile("ann")
    profile.pin(profile.edit(profile.entries()[0], HOME))
    assert "no longer holds" not in ask_with_profile(memory, "Where do I live?").text


def test_what_says_a_corrected_entry_again_goes_with_it(memory):
    """The same words in another message are no entry that holds, and marked."""
    corrected(
        memory, lambda profile, entry: profile.retire(entry), "I work at Equinor.", "I work at Equinor."
    )
    assert memory.profile("ann").text() == ""
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
    add_only(memory, "I'm vegetarian.", "I eat meat again.")
    profile = memory.profile("ann")
    assert (profile.entries()[0].holds, profile.entries()[0].ended_by) == (False, 2)
    assert profile.text() == ""
    add_only(memory, "I'm vegetarian.", start=START + timedelta(days=5))
    assert [entry.holds for entry in profile.entries()][-1]
