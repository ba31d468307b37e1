"""Sessions are read by a model: when, in which pieces, with what, and what comes of the answers."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import Message, ModelUnavailable
from zibaldone.engine import maintenance
from zibaldone.testing import ScriptedModel

DAY = datetime(2024, 1, 8, 9, tzinfo=UTC)
PARTY = "We're throwing Mia's party on the 9th, I still need a cake."
MOVED = "btw the party moved to the 10th, the hall was taken"


def say(memory, *texts, session="1", day=0, user="ann", role="user"):
    """A message a minute."""
    start = DAY + timedelta(days=day)
    messages = [
        Message(text, role=role, session=session, time=start + timedelta(minutes=minute))
        for minute, text in enumerate(texts)
    ]
    return [message.seq for message in memory.add(messages, user=user)]


def notes(memory, user="ann"):
    """Each note's text, and whether it holds."""
    return [(note.text, note.holds) for note in memory.user(user).profile.entries()]


@pytest.fixture
def party(script):
    """A plan, and what takes its place."""
    script.says(PARTY, kind="plan", text="Mia's party is on the 9th.", quote="Mia's party on the 9th")
    script.says(MOVED, kind="plan", text="The party moved to the 10th.", quote="the party moved to the 10th")
    script.is_over(MOVED, "Mia's party")


def test_a_session_is_one_question(memory, script, party):
    """Its last turn is JSON of the messages and of the notes that hold."""
    say(memory, PARTY, "How do I poach an egg?")
    say(memory, MOVED, session="2", day=3)
    memory.maintain()
    first, second = script.given
    assert [set(message) for message in first["messages"]] == [{"seq", "speaker", "time", "text"}] * 2
    assert first["notes"] == []
    assert second["notes"] == [
        {"id": 1, "kind": "plan", "text": "Mia's party is on the 9th.", "since": "2024-01-08", "sources": [1]}
    ]
    assert notes(memory) == [("Mia's party is on the 9th.", False), ("The party moved to the 10th.", True)]


OVER = "No party after all, Mia is ill."


@pytest.mark.parametrize(
    ("told", "quote", "mark"),
    [
        (
            MOVED,
            "Mia's party on the 9th",
            "[“Mia's party on the 9th” no longer holds, since {day}: “{moved}”]",
        ),
        (OVER, "Mia's party on the 9th", "no longer holds, since {day}: “{over}”]"),
        (MOVED, "", ""),  # a note in other words ends, and no clause can be pointed at
    ],
    ids=["another in its place", "over", "no quote"],
)
def test_the_clause_is_marked_with_what_took_its_place(memory, script, told, quote, mark):
    """The words that the model quoted, and no more of the message."""
    script.says(PARTY, kind="plan", text="Mia's party is on the 9th.", **({"quote": quote} if quote else {}))
    script.says(MOVED, kind="plan", text="The party moved to the 10th.", quote="the party moved to the 10th")
    script.is_over(told, "Mia's party")
    say(memory, PARTY)
    say(memory, told, session="2", day=3)
    memory.maintain()
    assert notes(memory)[0] == ("Mia's party is on the 9th.", False)
    shown = memory.recall("When is Mia's party?", user="ann", min_confidence=0).text
    said = {"day": "Thu 11 Jan 2024", "moved": "the party moved to the 10th", "over": OVER}
    assert mark.format(**said) in shown
    assert ("no longer holds" in shown) is bool(mark)


def test_forgetting_what_ended_a_note_lets_it_hold_again(memory, party):
    """And forgetting its own message takes it away."""
    say(memory, PARTY)
    (newer,) = say(memory, MOVED, session="2", day=3)
    memory.maintain()
    memory.forget(user="ann", seqs=[newer])
    assert notes(memory) == [("Mia's party is on the 9th.", True)]
    memory.forget(user="ann", seqs=[1])
    assert notes(memory) == []
    assert memory.admin.check().ok


def test_the_background_reads_a_session_that_is_quiet(memory, script, clock, party):
    """Half an hour after its last message, and not before."""
    clock.tick(DAY - clock() + timedelta(minutes=1))
    say(memory, PARTY)
    view = memory._wiring.notes
    assert _kept(memory) == []
    assert script.given == []
    with memory._database.read() as connection:
        assert view.due(connection) == set()
    clock.tick(timedelta(minutes=31))
    with memory._database.read() as connection:
        assert view.due(connection) == {"ann"}
    assert _kept(memory) == ["Mia's party is on the 9th."]
    assert len(script.given) == 1


def _kept(memory):
    """The notes, after the background has had its turn."""
    maintenance.maintain(memory._database, [memory._wiring.notes], ["ann"], patient=True)
    return [text for text, _ in notes(memory)]


def test_the_background_reads_a_long_session_before_it_is_quiet(memory, script, clock, party):
    """As soon as 4,096 of its tokens are unread, in pieces of so many; maintain() reads the rest."""
    clock.tick(DAY - clock() + timedelta(minutes=5))
    long = " ".join(f"On day {day} we climbed a hill and slept in a hut by the river." for day in range(150))
    say(memory, PARTY, long, long, "And then we went home.")
    _kept(memory)
    assert [len(given["messages"]) for given in script.given] == [2]
    memory.maintain()
    assert [len(given["messages"]) for given in script.given] == [2, 2]
    memory.maintain()
    assert len(script.given) == 2


@pytest.mark.parametrize(
    "note",
    [
        {"kind": "fact", "text": "Mia is a dentist."},
        {"kind": "plan", "text": "Mia's party is on the 12th."},
        {"kind": "fact", "text": "The cake is not needed."},
        {"kind": "plan", "text": "Mia's party on the 9th", "sources": [99]},
        {"kind": "plan", "text": "Mia's party on the 9th", "sources": []},
        {"kind": "plan", "text": "Mia's party on the 9th", "ends": [7]},
    ],
)
def test_what_the_messages_do_not_say_is_dropped(memory, script, note):
    """And the rest of the answer stands."""
    script.says(PARTY, **note)
    script.says(PARTY, kind="plan", text="I still need a cake.")
    say(memory, PARTY)
    memory.maintain()
    assert notes(memory) == [("I still need a cake.", True)]


def test_a_model_that_is_away_is_asked_again_later(opened, script, party):
    """Nothing is lost, and nothing is read twice."""
    away = [True]

    def sometimes(request):
        if away[0]:
            return ModelUnavailable("away", requests=1)
        return script(request)

    memory = opened(chat=ScriptedModel(sometimes))
    say(memory, PARTY)
    memory.maintain()
    assert notes(memory) == []
    away[0] = False
    memory.add("Thanks.", user="ann", session="9")
    memory.maintain()
    assert notes(memory) == [("Mia's party is on the 9th.", True)]


def test_a_model_that_answers_nothing_well_is_left_alone(opened):
    """It is asked of the whole, of halves and quarters; of what comes next after a rest."""
    model = ScriptedModel(lambda _: "no")
    memory = opened(chat=model)
    for session in ("1", "2"):
        say(memory, *(f"I keep {n} bees." for n in range(64)), session=session)
        memory.maintain(views=["notes"])
    asked = [request.turns for request in model.requests if len(request.turns) == 2]
    sizes = [len(json.loads(turns[1].content)["messages"]) for turns in asked]
    assert sizes == [64, 32, 32, 16, 16, 16, 16]


@pytest.mark.wide
def test_rules_and_pins_go_first_and_1500_tokens_in_all(memory, script):
    """However many notes there are."""
    for number in range(80):
        text = (
            f"Plan number {number}: we climb hill {number} in the far north and sleep in hut {number} there."
        )
        script.says(text, kind="plan", text=text)
        say(memory, text, session=f"s{number}", day=number)
    say(memory, "Always answer in metric units.", session="rules", day=130)
    memory.maintain()
    say(memory, "Which hut is next?", session="last", day=140)
    memory.maintain()
    sent = script.given[-1]["notes"]
    assert "Always answer in metric units." in [note["text"] for note in sent]
    assert memory.admin.count_tokens(" ".join(f"{note['kind']} {note['text']}" for note in sent)) <= 1500
    assert len(sent) > 20


def test_an_assistant_s_words_are_shown_short_and_bear_nothing_out_alone(memory, script):
    """Its inventions are nobody's facts."""
    script.says("Sounds good.", kind="fact", text="You own a boat in Porto.", sources=[1])
    memory.add(
        [Message("You own a boat in Porto. " * 100, role="assistant", session="1", time=DAY)], user="ann"
    )
    say(memory, "Sounds good.")
    memory.maintain()
    assert len(script.given[0]["messages"][0]["text"]) < 700
    assert notes(memory) == []
