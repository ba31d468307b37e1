"""What the grammar reads in a sentence, and what it leaves alone."""

from time import perf_counter

import pytest

from zibaldone.views.profile.grammar import readings, repeats, supersedes
from zibaldone.views.profile.own_words import own_statements, own_text

# statement, kind, topic
READ = [
    ("Always cite your sources when I ask about history.", "instruction", "history"),
    ("Always format dates as DD/MM/YYYY when I ask about schedules.", "instruction", "schedules"),
    ("Never suggest meat dishes when I ask for recipes.", "instruction", "recipes"),
    ("When I ask about my garden, remind me that the soil is clay.", "instruction", "garden"),
    ("Whenever I ask for directions, give me the walking route.", "instruction", "directions"),
    ("If I ask about money, always show the amount in euros.", "instruction", "money"),
    ("From now on, answer in German.", "instruction", ""),
    ("Please keep your answers short.", "instruction", ""),
    ("Please don't use emojis.", "instruction", ""),
    ("Call me Sam.", "instruction", ""),
    ("Never use jargon.", "instruction", ""),
    ("I want you to always use metric units.", "instruction", ""),
    ("You should always double-check the totals when I ask about invoices.", "instruction", "invoices"),
    ("Going forward, please include a summary at the end of your answers.", "instruction", ""),
    ("Also, never recommend a film with subtitles.", "instruction", "film with subtitles"),
    ("Make sure to always mention the price when I ask about hotels.", "instruction", "hotels"),
    ("always lint before you commit", "instruction", None),
    ("never charge a card without my approval", "instruction", None),
    ("And a rule: never wire money to anyone", "instruction", None),
    ("never touch the legacy folder", "instruction", "legacy folder"),
    ("amounts always with two decimals", "instruction", None),
    ("From now on, dates as DD/MM/YYYY", "instruction", None),
    ("I use fish, no bash syntax pls", "instruction", None),
    ("House rule: no placeholders", "instruction", None),
    ("I prefer trains to planes.", "preference", "trains to planes"),
    ("I'd rather walk than drive.", "preference", "walk than drive"),
    ("My budget is tight, so I prefer small hotels.", "preference", "small hotels"),
    ("I really love sushi.", "preference", "sushi"),
    ("I can't stand loud restaurants.", "preference", "loud restaurants"),
    ("I don't eat pork.", "preference", "pork"),
    ("I'm allergic to walnuts.", "preference", "walnuts"),
    ("I'm a big fan of jazz.", "preference", "jazz"),
    ("I am not a fan of horror films.", "preference", "horror films"),
    ("My favourite colour is green.", "preference", "colour green"),
    ("Dune is my favorite book.", "preference", "Dune book"),
    ("I'm lactose intolerant.", "preference", "lactose"),
    ("I've always loved the sea.", "preference", "the sea"),
    ("We decided to sell the house.", "decision", "to sell the house"),
    ("I went with the blue curtains.", "decision", "the blue curtains"),
    ("I've decided against a second dog.", "decision", "against a second dog"),
    ("After a long talk, we settled on Lisbon.", "decision", "Lisbon"),
    ("I'll go with the cheaper insurance.", "decision", "the cheaper insurance"),
    ("I switched to a standing desk.", "decision", "to a standing desk"),
    ("My sister Anna is coming on Friday.", "relation", "sister Anna"),
    ("I'll see my boss, Dr. Okafor, at noon.", "relation", "boss Okafor"),
    ("Marek is my landlord.", "relation", "landlord Marek"),
    ("My wife's name is Ines.", "relation", "wife Ines"),
    ("My brother lives in Oslo.", "relation", "brother in Oslo"),
    ("I live in Porto.", "fact", None),
    ("I work as a nurse.", "fact", None),
    ("I'm 34 years old.", "fact", None),
    ("I'm a retired teacher.", "fact", "retired teacher"),
    ("I have two kids.", "fact", "two kids"),
    ("I have type 2 diabetes.", "fact", "type 2 diabetes"),
    ("I was diagnosed with asthma.", "fact", None),
    ("I'm vegetarian.", "fact", "vegetarian"),
    ("I grew up in a small village.", "fact", None),
    ("I landed a position as a data analyst at Northwind.", "fact", None),
    ("I've just started a new job at the city library.", "fact", None),
    ("We've got a greyhound named Comet.", "fact", "a greyhound named Comet"),
    ("I went vegan two years ago.", "fact", "vegan"),
    ("So pescatarian now, I guess.", "fact", "pescatarian"),
    ("We just bought a flat in Porto.", "fact", "bought a flat"),
    ("I speak French at home.", "fact", "speak French"),
    ("I've been learning Portuguese for two years.", "fact", None),
    ("I've been dating a guy named Luis for three months.", "relation", "partner Luis"),
    ("I started seeing someone, Priya, she's a marine biologist.", "relation", "partner Priya"),
    ("My dad's called Henrik.", "relation", "dad Henrik"),
]


@pytest.mark.parametrize(("statement", "kind", "topic"), READ)
def test_what_is_read(statement, kind, topic):
    """A plain statement of each kind is an entry of that kind, about the right thing."""
    read = {reading.kind: reading for reading in readings(statement)}
    assert kind in read
    if topic is not None:
        assert read[kind].topic == topic


NEAR_MISSES = [
    "Never met you before.",
    "Always ate before she did.",
    "Always warm up before you run.",
    "My rule: never eat after eight.",
    "The rule at work: never leave before the boss.",
    "Prices always go up in May.",
    "Letters always in the top drawer.",
    "Emails always as late as midnight.",
    "No milk please, I'm out of it.",
    "No intros needed, we met.",
    "Never mind.",
    "Always a pleasure!",
    "Never heard of it.",
    "Always wanted to see Rome.",
    "Please make this email shorter.",
    "Please don't include the intro in this draft.",
    "Use the same tone.",
    "Hmm, so if I need to solve a system like this, the theorem helps.",
    "And please highlight the new terms when you provide the answers.",
    "Don't worry about it.",
    "When I ask him about money, he laughs.",
    "When I asked about the price, they hung up.",
    "I always include a cover letter.",
    "She always forgets my birthday.",
    "I like that idea.",
    "I love it!",
    "I like your second suggestion.",
    "I like how you explained that.",
    "I really love having them around.",
    "I decided to include this.",
    "I'm a huge fan.",
    "I have lots of kids' books.",
    "I'd like to know more about it.",
    "I would love to hear your thoughts.",
    "If I like the flat, I will call you.",
    "He thinks I like jazz.",
    "The book I love most was lost.",
    "I used to love sushi.",
    "I don't know whether I prefer tea.",
    "People like sushi.",
    "I haven't decided on a school yet.",
    "I can't decide between the two.",
    "I picked up the kids at four.",
    "She decided to move out.",
    "If we decided to sell, what would happen.",
    "Let's go with that.",
    "Thankfully, my son is fine.",
    "My sister is American.",
    "My friend and I went out.",
    "I'm a bit tired.",
    "I'm a little confused.",
    "I have a question.",
    "I have an idea for the party.",
    "I'm 10 minutes late.",
    "I'm 100% sure.",
    "I'm moving in the right direction.",
    "I've been eyeing this fancy car.",
    "I might live in Porto one day.",
    "I wish I lived in Porto.",
    "The screen of my phone's camera is broken.",
    "I got a job done this morning.",
    "I have a class named User with two fields.",
    "I'm seeing a lot of errors lately.",
    "I went vegan for a week once.",
    "I could go vegetarian.",
    "Imagine my brother Karl is a pirate.",
]


@pytest.mark.parametrize("statement", NEAR_MISSES)
def test_what_only_looks_like_it_is_left_alone(statement):
    """Sayings, requests of the moment, conditions, other people and reactions are no entries."""
    assert readings(statement) == []


def test_advice_to_a_friend_is_no_instruction():
    """Among people an imperative is addressed to a person; what is asked of an assistant is still read."""
    assert readings("Never give up on your dreams.", among_people=True) == []
    assert readings("Always take an umbrella.", among_people=True) == []
    assert readings("Always cite sources when I ask about history.", among_people=True)


def stated(content):
    """The texts of what a message states."""
    return [content[start:end] for start, end in own_statements(content)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("Do you like sushi?", []),
        ("Can you help me, I prefer trains?", []),
        ("How does my preference for trains change the plan", []),
        ("I prefer trains, can you find one?", ["I prefer trains"]),
        ("I prefer trains, so what would you book?", ["I prefer trains"]),
        ("I prefer trains, can you find one for me", ["I prefer trains"]),
        ("I prefer trains. Which one is best?", ["I prefer trains."]),
        ("> I prefer trains.\nThanks.", ["Thanks."]),
        ("```\nI prefer trains.\n```", []),
        ('He wrote: "I prefer trains. I hate planes."', ['He wrote: "I prefer trains.']),
        ("Proofread this:\n\nI live in Porto. I love it there.", ["Proofread this:"]),
        ("Here is my essay:\nI was born in Porto.", ["Here is my essay:"]),
        ("Thanks.\nDear Sir or Madam,\nI live in Porto.\nYours, Sam", ["Thanks."]),
    ],
)
def test_what_an_author_states(content, expected):
    """Questions are cut off, and what is quoted, pasted or code is nobody's statement."""
    assert stated(content) == expected


def test_a_quotation_inside_a_sentence_is_not_the_speakers():
    """What stands in quotation marks is said by somebody else."""
    assert readings('My friend wrote "I love sushi" on the wall.') == []


def only(statement):
    (reading,) = readings(statement)
    return reading


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Porto.", "I moved to Oslo."),
        ("I work as a nurse.", "I work as a teacher."),
        ("My favourite colour is green.", "My favourite colour is blue."),
        ("I love sushi.", "I don't like sushi any more."),
        ("I prefer tea to coffee.", "I prefer coffee to tea."),
        ("We decided to sell the house.", "We decided not to sell the house."),
        ("My boss Anna called.", "My boss Tom called."),
        (
            "Always format dates as DD/MM when I ask about plans.",
            "Always format dates as MM/DD when I ask about plans.",
        ),
        ("Always use metric units.", "From now on, use imperial units."),
        ("Never use emojis.", "You can always use emojis."),
        (
            "Always include prices when I ask about hotels.",
            "You don't need to include prices when I ask about hotels.",
        ),
        ("Please answer in German.", "From now on, answer in French."),
    ],
)
def test_what_takes_the_place_of_what(earlier, later):
    """A later statement of the same thing with another value supersedes the earlier one, and not itself."""
    assert supersedes(only(later), only(earlier))
    assert not supersedes(only(earlier), only(earlier))
    assert repeats(only(earlier), only(earlier))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I live in Porto.", "I work as a nurse."),
        ("I love sushi.", "I don't like pasta."),
        ("I prefer tea to coffee.", "I prefer trains to planes."),
        ("My friend Anna called.", "My friend Tom called."),
        ("Always include prices when I ask about hotels.", "Always include prices when I ask about flights."),
        ("Always include prices when I ask about hotels.", "Always include ratings when I ask about hotels."),
        ("We decided to sell the house.", "We decided to keep the car."),
    ],
)
def test_what_stands_beside_each_other(earlier, later):
    """Two things are two things."""
    assert not supersedes(only(later), only(earlier))
    assert not repeats(only(later), only(earlier))


@pytest.mark.parametrize(
    ("text", "stated_of_them"), [("> a\n", 0), ("```\n", 0), ("<a>b.\n", 40_000), ("<a>b.</a>\n", 0)]
)
def test_of_many_quotations_each_is_looked_at_once(text, stated_of_them):
    """A long mail with quoted lines, or a page of tags that are never closed."""
    begun = perf_counter()
    content = text * 40_000
    assert sum(1 for _ in own_statements(content)) == stated_of_them
    assert len(own_text(content)) <= len(content) * 2
    assert perf_counter() - begun < 5


@pytest.mark.parametrize(
    "text", ["I like it and " * 5000, ", " * 20000 + "?", '"' * 20000, "when I ask " * 3000, "my " * 20000]
)
def test_long_texts_take_no_long_time(text):
    """Whatever somebody pastes is read in the time of a breath: no pattern tries everything."""
    begun = perf_counter()
    for start, end in own_statements(text):
        readings(text[start:end])
    assert perf_counter() - begun < 5
