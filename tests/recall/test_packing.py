"""What of the candidates goes into the text: part by part, by rank, while it fits."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import Evidence
from zibaldone.core import Outdated
from zibaldone.models.static import shared_static_embedder
from zibaldone.recall.packing import choose, standing_room
from zibaldone.text.rendering import line, line_tokens, render
from zibaldone.text.words import terms

START = datetime(2024, 1, 8, 9, tzinfo=UTC)
STATIC = shared_static_embedder()
FACTS = [f"The kettle number {i} cost {i + 3} crowns at the market." for i in range(40)]


def count(text):
    """Tokens."""
    return STATIC.count([text])[0]


def unit(text, seq, *, view="messages", speaker="user", standing=False, session="1"):
    """Of one message, an hour after the one before."""
    (tokens,) = line_tokens([line(speaker, text)], STATIC.count)
    time = START + timedelta(hours=seq % 10)
    return Evidence(text, speaker, (seq,), time, session, view, "message", 1.0, tokens, standing=standing)


def chosen(candidates, budget, room=0, **parts):
    """With the promise that every choice keeps."""
    made = choose(candidates, budget, count, stems=terms("kettles cost"), standing_tokens=room, **parts)
    assert made.tokens == count(render(made.evidence)[0]) <= budget
    return made


EVIDENCE = [unit(text, seq) for seq, text in enumerate(FACTS, 1)]
STANDING = [
    unit(text, seq, view="notes", standing=True)
    for seq, text in enumerate(("Always answer in crowns.", "I hate kettles.", "I live in Porto."), 201)
]


def views(made):
    """How many units of each view are in."""
    return {view: sum(unit.view == view for unit in made.evidence) for view in ("notes", "messages")}


def test_what_stands_comes_first_and_in_its_room():
    """Its title, its order, and no more than that."""
    room = 24
    made = chosen(EVIDENCE, 200, room, standing=STANDING)
    text = render(made.evidence)[0]
    assert text.startswith("Always known:\n- Always answer in crowns. (Mon 8 Jan 2024)\nMon 8 Jan 2024\n")
    (part, _) = made.parts
    assert (part.name, part.room_tokens, part.units) == ("standing", 24, 1)
    assert count(text.split("\nMon 8")[0]) <= 24
    assert views(chosen(EVIDENCE, 400, 100, standing=STANDING))["notes"] == 3


def test_what_is_known_stands_once():
    """A message that says nothing else goes; evidence that says more stays beside the rule."""
    room = 100
    longer = unit("The rain stopped. I live in Porto. Kettles are dear there.", 203)
    made = chosen([longer, unit("I hate kettles.", 202), *EVIDENCE], 400, room, standing=STANDING)
    assert [e.text for e in made.evidence if e.standing] == [e.text for e in STANDING]
    assert [sum(seq in e.sources for e in made.evidence) for seq in (201, 202, 203)] == [1, 1, 2]


def test_what_only_outdated_or_other_evidence_says_is_known_all_the_same():
    """The words alone do not say that it holds, nor who says it."""
    room = 100
    other = unit("She said: I live in Porto. I laughed.", 7)
    mark = Outdated(None, 9, "state", "", "", 9)
    old = replace(unit("It rained. I live in Porto. So what?", 203), outdated=mark)
    for evidence in (other, old):
        made = chosen([evidence], 400, room, standing=STANDING[2:])
        assert [e.standing for e in made.evidence] == [True, False]


@pytest.mark.parametrize("budget", range(30, 130, 6))
def test_nothing_is_lost_for_standing_once(budget):
    """At no budget does an entry that would be known go without its evidence, cut or whole."""
    room = budget // 2
    long = " ".join(["I live in Porto.", *FACTS[:4]])
    candidates = [unit(long, 203), *EVIDENCE[:5]]
    made = chosen(candidates, budget, room, standing=STANDING[2:])
    alone = chosen([], budget, room, standing=STANDING[2:])
    assert not alone.evidence or any("I live in Porto." in e.text for e in made.evidence)


def test_what_stands_is_never_cut():
    """An entry that is longer than its room is left out, and does not take the room of evidence."""
    long = unit(" ".join(f"Always name the kettle number {i}." for i in range(20)), 201, standing=True)
    made = chosen(EVIDENCE, 300, 36, standing=[long, *STANDING[:1]])
    assert [e.text for e in made.evidence if e.standing] == [STANDING[0].text]
    assert views(made)["messages"] >= 5


def test_room_for_gaps_that_are_none_is_used():
    """Neighbours need no mark between them, and what was kept for it goes to evidence."""
    for budget in range(60, 400, 17):
        made = chosen(EVIDENCE, budget)
        cheapest = min((unit.tokens for unit in EVIDENCE if unit not in made.evidence), default=budget)
        assert made.tokens + cheapest + count("…") + 1 >= budget
        assert sum(part.units for part in made.parts) == len(made.evidence)


def test_a_message_is_told_by_one_view():
    """Another view's unit whose message is in already adds nothing."""
    again = unit("The kettle cost 3 crowns.", 1, view="topics")
    made = chosen([EVIDENCE[0], again], 300, 60)
    assert [e.view for e in made.evidence] == ["messages"]
    assert "another view's units of the same messages are in already" in [d.reason for d in made.decisions]


@pytest.mark.parametrize("budget", range(60, 120, 7))
def test_evidence_is_cut_to_what_is_left_beside_what_is_standing(budget):
    """A long unit does not leave the text with standing lines alone."""
    long = unit(" ".join(FACTS), 1)
    made = chosen([long], budget, 30, standing=STANDING)
    assert {"messages", "notes"} <= {piece.view for piece in made.evidence}


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("Unless Dr. Moss agrees with it, I paint the kettles red and put them on the market.", 22),
        ("I paint the kettles red and sell them, unless the woman from the market says no.", 20),
    ],
)
def test_a_sentence_that_was_cut_shows_it(text, budget):
    """With "…" where its other words stood, outside of what is cited."""
    made = chosen([unit(text, 1)], budget)
    rendered, (cited,) = render(made.evidence)
    words = rendered[cited.start : cited.end]
    assert words in text
    assert words != text
    begins, ends = text.startswith(words), text.endswith(words)
    assert rendered.split("user: ")[1] == ("" if begins else "… ") + words + ("" if ends else " …")


def test_what_was_said_again_that_day_stands_once():
    """A repetition in like words takes no second line; one of another day stands under its day."""
    said = "I water the tomatoes behind the shed in the evening"
    units = [unit(f"{said}.", 1), unit(f"And {said}!", 2), unit(f"{said}!", 3)]
    units[2] = replace(units[2], time=START + timedelta(days=2))
    made = chosen([*units, *EVIDENCE], 300)
    assert [e.sources[0] for e in made.evidence if "tomatoes" in e.text] == [1, 3]
    (dropped,) = [d for d in made.decisions if "tomatoes" in d.evidence.text and not d.kept]
    assert dropped.reason == "message 1 says the same, and is in already"


@pytest.mark.parametrize(
    "other",
    [
        "I do not water the tomatoes behind the shed in the evening.",
        "I water the tomatoes behind the shed in the evening at 8.",
        "I water the tomatoes behind the shed of Bea in the evening.",
        "I water the roses behind the shed in the evening.",
    ],
)
def test_what_denies_or_says_more_stands_beside_it(other):
    """Another "not", number, name or thing is another fact, however alike the words are."""
    said = unit("I water the tomatoes behind the shed in the evening.", 50)
    assert {said.text, other} <= {
        e.text for e in chosen([said, unit(other, 51), *EVIDENCE[:3]], 300).evidence
    }


def test_the_same_of_another_speaker_stands_beside_it():
    """Who says it is part of what was said."""
    units = [unit(FACTS[0], seq, speaker=name) for seq, name in ((1, "Ann"), (2, "Bea"))]
    assert len(chosen(units, 300).evidence) == 2


def test_rules_have_a_small_room_that_does_not_grow():
    """Evidence loses a fifth of a small budget at most, and less of a large one; too small a room is none."""
    assert [standing_room(budget) for budget in (100, 300, 1000, 20_000)] == [0, 60, 80, 80]
