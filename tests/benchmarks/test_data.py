"""The loaders, and the quirks of the data sets that they know."""

import json

import pytest

from benchmarks.data import LOADERS, load
from zibaldone.errors import InvalidInput


def only(data, paths):
    """The first conversation and its questions by their texts."""
    conversation = load(data, paths[data])[0]
    return conversation, {question.text: question for question in conversation.questions}


def test_locomo_evidence_is_repaired_and_captions_are_no_evidence(paths):
    """Malformed ids count, those of no turn do not; a caption is in the message and not wanted."""
    talk, questions = only("locomo", paths)
    assert questions["Who ate tarts and who quit?"].evidence == (3, 4)
    assert talk.messages[1].content == "Lovely! My sister plays the cello in Graz. [image: a cello]"
    cello = questions["What is Ann's dog called?"]
    assert talk.evidence(cello) == ["I adopted a greyhound called Comet."]
    assert "SECRET" not in str(talk.messages)


def test_locomo_answers_are_texts_and_adversarial_questions_have_none(paths):
    """A year is a number in the file."""
    _, questions = only("locomo", paths)
    assert questions["When did Ben quit?"].answers == ("2023",)
    adversarial = questions["What is Ben's cat called?"]
    assert (adversarial.known, adversarial.answers, adversarial.category) == (False, (), "adversarial")


def test_locomo_questions_that_the_audit_faults_are_marked(paths):
    """It names a conversation by its place in the full file, whatever is in this one."""
    audit = paths["locomo"].with_name("locomo-errors.json")
    audit.write_text(json.dumps([{"question_id": "locomo_1_qa2"}]))
    _, questions = only("locomo", paths)
    assert [q.text for q in questions.values() if q.faulted] == ["When did Ben quit?"]


def test_beam_evidence_is_what_the_user_said(paths):
    """Sources may be nested or text; the generator's index goes, and a rubric's opening."""
    chat, questions = only("beam", paths)
    dog = questions["What is my dog called?"]
    assert chat.evidence(dog) == ["I adopted a greyhound called Comet."]
    assert dog.nuggets == ("the dog is Comet",)
    assert not questions["What is my cat called?"].known
    assert "Where is the cat?" not in questions  # a part of a chat does not answer it
    assert (chat.name, dog.asked_at.day, dog.visible) == ("3", 15, 4)


def test_beam_plans_are_named_by_place(paths):
    """Their ids begin anew in every plan, so that questions count messages."""
    chat = paths["beam"] / "3" / "chat.json"
    for plan in ("plan-0", "plan-1"):
        folder = paths["beam"] / "3" / plan
        folder.mkdir()
        (folder / "chat.json").write_bytes(chat.read_bytes())
    chat.unlink()
    asked = {"knowledge_update": [{"question": "And now?", "answer": "?", "source_chat_ids": [6]}]}
    (paths["beam"] / "3" / "probing_questions.json").write_text(json.dumps(asked))
    talk, questions = only("beam", paths)
    assert len(talk.messages) == 8
    assert questions["And now?"].evidence == (7,)


def test_longmemeval_wants_the_marked_turns_of_the_sessions_that_answer(paths):
    """A question that was added later names sessions alone."""
    haystack, questions = only("longmemeval", paths)
    own, added = questions.values()
    assert haystack.evidence(own) == ["I live in Linz.", "We moved to Graz last week."]
    assert (own.category, added.category) == ("knowledge-update", "added")
    assert (added.evidence, added.evidence_sessions, added.answers) == ((), ("s3",), ("Vienna",))


def test_realmem_questions_see_what_was_said_before_them(paths):
    """The next turn is the reference; evidence is found by its words, and not in the session in sight."""
    talk, questions = only("realmem", paths)
    (question,) = questions.values()
    assert question.visible == 4
    assert talk.messages[question.visible].content == question.text
    assert question.answers == ("In the cellar.",)
    assert talk.evidence(question) == ["My bread starter lives in the cellar."]
    assert [message.role for message in talk.messages[:2]] == ["user", "assistant"]


def test_a_list_of_facts_has_a_message_for_each(paths):
    """In their order, with their numbers; every accepted form counts."""
    facts, questions = only("mab", paths)
    assert [message.content[:2] for message in facts.messages] == ["0.", "1."]
    assert questions["Who chairs Acme?"].answers == ("Bob", "Robert")


@pytest.mark.parametrize("data", LOADERS)
def test_seqs_count_from_one_and_every_message_has_a_time(paths, data):
    """So that a memory that takes them in gives them the same numbers."""
    for conversation in load(data, paths[data]):
        assert [m.seq for m in conversation.messages] == list(range(1, len(conversation.messages) + 1))
        assert all(message.time for message in conversation.messages)


def test_a_file_of_something_else_is_refused(paths):
    """By its name."""
    with pytest.raises(InvalidInput, match="cannot be read as realmem"):
        load("realmem", paths["mab"])
