"""What no longer holds is marked in what is recalled, and what took its place stands with it."""

from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import Message
from zibaldone.core import Scope
from zibaldone.outdating import current_first, holding
from zibaldone.views.base import Query

START = datetime(2024, 1, 8, 9, tzinfo=UTC)
OLD, NEW = "My dentist is Dr. Patel.", "My dentist is Dr. Lee now."
MARK = "[no longer holds, since Wed 10 Jan 2024]"
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
    assert f"{MARK[:-1]}: “My dentist is Dr. Patel.”]" in ask(memory).text


def test_the_successor_comes_though_nobody_offered_it(filled):
    """It is made of the log, right before the one that it replaces, with its score."""
    (old,) = (unit for unit in filled.search(QUESTION, user="ann") if unit.sources == (1,))
    candidates = [unit for unit in filled.search("soup", user="ann") if unit.sources == (2,)]
    ranked = current_first(
        filled._database, filled._updates, [*candidates, old], query(filled), filled._tokenizer
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
    ranked = current_first(filled._database, filled._updates, [old], query(filled), filled._tokenizer)
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
    parts = filled._database, filled._updates, [unit]
    assert holding(*parts, query(filled)) == []
    assert holding(*parts, query(filled, within=frozenset({1, 2}))) == [unit]
