"""From candidates to a context: what fits, in order, cited, or nothing at all."""

from datetime import UTC, datetime, timedelta
from itertools import count, pairwise, zip_longest

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from zibaldone import Config, Memory, Message
from zibaldone.recall.recall import reciprocal_rank
from zibaldone.text.rendering import header, verbatim
from zibaldone.text.sentences import sentences

NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)
START = datetime(2023, 11, 1, 8, tzinfo=UTC)

PHRASES = [
    "I adopted a greyhound from the shelter.",
    "Really?",
    "We moved to Lisbon on 3 May 2021!",
    "犬が好きです。猫も好きです。",
    "القطة نائمة؟ نعم.",
    "बिल्ली सो रही है।",
    "Кошка спит на крыше дома.",
    "😀😀😀",
    "line one\nline two\n\nline three",
    "x" * 700,
    "The bees swarmed over the mill, and nobody knew where the queen had gone until Tuesday last week.",
    "# Heading\n- item: 3.5 %\n- item",
]
CONTENT = st.one_of(
    st.lists(st.sampled_from(PHRASES), max_size=8).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=80),
)
MESSAGE = st.builds(
    lambda content, name, session, hours: Message(
        content, name=name, session=session, time=START + timedelta(hours=hours)
    ),
    CONTENT,
    st.sampled_from(["Ann", "Bea", None, "A very long name of a person with many given names", "犬"]),
    st.sampled_from(["1", "2", "3"]),
    st.integers(0, 2000),
)
QUESTIONS = [
    "Who adopted a greyhound?",
    "When did they move to Lisbon?",
    "犬",
    "item",
    "",
    "What of 3 May 2021?",
]


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    """A memory that many examples share, each as a user of its own."""
    with Memory(tmp_path_factory.mktemp("recall") / "memory", config=Config(clock=lambda: NOW)) as memory:
        yield memory


@pytest.fixture(scope="module")
def new_user(memory):
    """A new user of whom these are the messages; their name."""
    numbers = count()

    def new_user(messages):
        user = f"user {next(numbers)}"
        memory.add(messages, user=user)
        return user

    return new_user


def check(memory, user, found, budget):
    """All that is promised of any recall."""
    assert found.tokens == memory.admin.count_tokens(found.text) <= budget
    _check_order(found)
    _check_text(found)
    contents = {message.seq: message.content for message in memory.messages(user=user)}
    for unit in found.evidence:
        (seq,) = unit.sources
        assert contents[seq][unit.place : unit.place + len(unit.text)] == unit.text
        assert unit.text.strip()
    said = [(unit.speaker, unit.text, unit.time.date()) for unit in found.evidence]
    assert len(set(said)) == len(said)
    decisions = found.trace.decisions
    assert [decision.rank for decision in decisions] == list(range(1, len(decisions) + 1))
    assert all(decision.reason for decision in decisions)
    kept = [decision.evidence for decision in decisions if decision.kept]
    assert sorted(map(hash, kept)) == sorted(map(hash, found.evidence))


def _check_order(found):
    """Sessions in one piece each, chronological inside."""
    sessions = [unit.session for unit in found.evidence]
    pieces = [session for i, session in enumerate(sessions) if i == 0 or sessions[i - 1] != session]
    assert len(pieces) == len(set(pieces))
    for one, other in pairwise(found.evidence):
        assert one.session != other.session or one.time <= other.time


def _check_text(found):
    """Nothing but units, each behind what its place asks for: header, gap, line break and name, or a join.

    A unit that was cut inside a sentence has "…" there, but not where the next words of the message follow.
    """
    end, before = 0, None
    for unit, cited, after in zip_longest(found.evidence, found.citations, found.evidence[1:]):
        assert (cited.seq,) == unit.sources
        assert (cited.session, cited.time) == (unit.session, unit.time)
        assert verbatim(found.text[cited.start : cited.end]) == unit.text
        joined = before is not None and before.sources == unit.sources
        name = f"{unit.speaker}: " + ("… " if unit.begins_inside and not joined else "")
        opening = found.text[end : cited.start]
        day, last = unit.time.date(), before and before.time.date()
        if before is None or before.session != unit.session or last != day:
            assert opening == f"{chr(10) if before else ''}{header(day, last)}\n{name}"
        elif joined:
            assert opening in (" ", " … ")
        else:
            gap = "\n…" if max(before.sources) + 1 < min(unit.sources) else ""
            assert opening == f"{gap}\n{name}"
        end, before = cited.end, unit
        if unit.ends_inside and (after is None or after.sources != unit.sources):
            assert found.text.startswith(" …", end)
            end += 2
    assert len(found.text) == end


@settings(max_examples=60, deadline=None)
@given(
    messages=st.lists(MESSAGE, max_size=25),
    question=st.sampled_from(QUESTIONS),
    budget=st.integers(1, 3000),
    floor=st.sampled_from([0, 0, None, 1]),
)
@example(messages=[Message("犬" * 50_000)], question="犬", budget=300, floor=0)
@example(messages=[Message("bees " * 3000, name="Ann")] * 2, question="bees", budget=200, floor=0)
@example(messages=[Message("🐝", name="n" * 3000)], question="", budget=40, floor=0)
def test_every_recall_keeps_its_promises(memory, new_user, messages, question, budget, floor):
    """Within the budget to the token, cited verbatim, in order, a date once per header, nothing twice."""
    user = new_user(messages)
    found = memory.recall(question, user=user, budget_tokens=budget, min_confidence=floor)
    check(memory, user, found, budget)
    assert found.text == memory.recall(question, user=user, budget_tokens=budget, min_confidence=floor).text


def test_a_large_budget_takes_all(memory, new_user):
    """With room for everything, everything that says something is in, in the order of time."""
    contents = [f"Fact number {i}." for i in range(20)]
    user = new_user([Message(c, time=START + timedelta(hours=i)) for i, c in enumerate(contents)])
    found = memory.recall("fact", user=user, budget_tokens=3000, min_confidence=0)
    assert [unit.text for unit in found.evidence] == contents


LONG = " ".join(
    [
        "We had breakfast at seven in the small kitchen.",
        "Then my uncle polished his collection of brass trumpets.",
        "In the afternoon we walked along the canal to the lock.",
        "A heron stood in the reeds, and it never moved.",
        "The evening ended with soup and an old film.",
    ]
)


@pytest.mark.parametrize(
    ("question", "inside"), [("uncle's trumpets", "brass trumpets"), ("Where was the heron?", "A heron")]
)
@pytest.mark.parametrize("budget", [30, 45])
def test_a_message_too_long_for_the_budget_is_cut_around_what_matched(
    memory, new_user, question, inside, budget
):
    """Whole sentences in one run, the one that matched among them, and the decision says so."""
    user = new_user(Message(LONG, name="Ann"))
    found = memory.recall(question, user=user, budget_tokens=budget, min_confidence=0)
    check(memory, user, found, budget)
    (unit,) = found.evidence
    assert inside in unit.text
    assert unit.text != LONG
    spans = sentences(LONG)
    assert unit.place in {start for start, _ in spans}
    assert unit.place + len(unit.text) in {end for _, end in spans}
    assert "cut at sentence borders" in found.why(unit.sources[0])


def test_a_budget_too_small_for_anything_gives_nothing_and_says_why(memory, new_user):
    """One token holds no evidence: the recall is empty, and every candidate knows how many were left."""
    user = new_user("The bees swarmed over the mill.")
    found = memory.recall("bees", user=user, budget_tokens=1, min_confidence=0)
    assert (found.text, found.tokens, found.evidence, found.citations) == ("", 0, (), ())
    assert not found
    assert "only 1 tokens were left" in found.why_not(1)


COOK = [
    *(f"The kettle number {i} is on the stove." for i in range(100)),
    *("My greyhound chased the postman.", "Mila is allergic to kiwi."),
]


@pytest.fixture(scope="module")
def cook(memory, new_user):
    """A user of a hundred kettles, a greyhound and an allergy."""
    return new_user(COOK)


def test_below_the_floor_nothing_is_recalled(memory, cook):
    """Confidence and floor are in the trace of the empty recall; with a floor of 0 none is empty."""
    found = memory.recall("quantum chromodynamics on a lattice", user=cook, min_confidence=1)
    assert not found
    assert found.trace.confidence < found.trace.floor == 1
    assert found.trace.decisions
    assert "memory knows too little of this" in found.why_not(found.trace.decisions[0].evidence.sources[0])
    assert memory.recall("quantum chromodynamics on a lattice", user=cook, min_confidence=0)


SAID = {
    "English": COOK,
    "kettles": COOK[:30],
    "a word said twice": ["My dog is called Biscuit.", "A fine name for a dog."],
    "terse notes": ["oat milk, eggs, bread", "bike stolen, police report filed", "camera bought second hand"],
    "a slip": ["We saw it later that day.", "My dentist is Dr. Lee."] * 10,
    "German": [
        "Ich ziehe im Herbst nach Leipzig, die neue Wohnung liegt im dritten Stock und hat einen Balkon.",
        "Meine Schwester Jana hat gestern die Prüfung bestanden und feiert am Samstag mit uns.",
        "Der Zahnarzt sagt, dass der Zahn raus muss, aber erst wenn ich wieder gesund bin.",
        "Unser Hund frisst nicht mehr, deshalb war ich mit ihm bei einer Tierärztin in der Stadt.",
        "Seit einer Woche trinke ich keinen Kaffee, weil mir davon der Magen weh tut.",
        "Wann kommst du, und wie lange willst du bei uns bleiben?",
        "Mein Fahrrad wurde vor dem Bahnhof gestohlen, ich habe es sofort der Polizei gemeldet.",
        "Das Gehalt ist etwas höher als in der alten Firma, dafür arbeite ich auch an manchen Abenden.",
        "Welche Farbe soll die Küche haben, was meinst du?",
    ],
    "Japanese": [
        "妹の美咲は神戸の病院で看護師をしています。",
        "家賃は月に八万五千円です。",
        "犬のポチを獣医の田中先生に診てもらいました。",
        "えびのアレルギーがあるので気をつけています。",
    ],
}
NOBODY_CAN_TELL = (0.5, 0.5)  # in another language than memory's
UNSURE, SURE = (0, 0.2), (0.8, 1)
NOTHING = (0, 0.04)  # below the floor


@pytest.fixture(scope="module")
def users(memory, new_user):
    """Users of whom each said one of these."""
    return {name: new_user(messages) for name, messages in SAID.items()}


@pytest.mark.parametrize(
    ("said", "question", "bounds"),
    [
        ("English", "Whose greyhound chased the postman?", (0.94, 0.96)),  # one of twenty is not answered
        ("English", "Did the quantum chromodynamics converge on the lattice?", UNSURE),
        ("English", "Which queue did we decide against?", NOTHING),
        ("kettles", "stock portfolio rebalance dividends tax", NOTHING),  # no sentence, but no other language
        ("English", "Worauf reagiert meine Nichte allergisch?", NOBODY_CAN_TELL),
        ("English", "私の血液型は何ですか", NOBODY_CAN_TELL),
        ("English", "我妹妹做什么工作", NOBODY_CAN_TELL),
        ("a word said twice", "Which rockets fly to Saturn?", UNSURE),
        ("terse notes", "What is the blood type of my cousin?", UNSURE),
        ("a slip", "Wie heißt der Kater von Oma?", UNSURE),  # "Kater" may be read as "later"
        ("a slip", "Qui est mon dentiste à Paris ?", (0.1, 1)),
        ("German", "What is my blood type?", NOBODY_CAN_TELL),
        ("German", "Quand est-ce que je déménage ?", NOBODY_CAN_TELL),
        ("German", "Wann ziehe ich nach Leipzig?", SURE),
        ("German", "Wer gewann das Schachturnier in Reykjavik?", (0, 0.49)),
        ("Japanese", "妹の仕事は何ですか？", (0.2, 0.49)),
        ("Japanese", "私の血液型は何ですか？", UNSURE),
        ("Japanese", "What does my sister do for a living?", NOBODY_CAN_TELL),
    ],
)
def test_how_sure_memory_is(memory, users, said, question, bounds):
    """Certain of what it knows, not of what it has no word for; a question is of memory's language or not."""
    assert bounds[0] <= memory.recall(question, user=users[said]).confidence <= bounds[1]


def test_a_question_in_another_language_finds_a_name(memory, cook):
    """That memory has none of its words is no reason to recall nothing."""
    assert "kiwi" in memory.recall("A que é que a Mila é alérgica?", user=cook, budget_tokens=100).text


def test_what_an_assistant_goes_on_about_is_no_sign_that_the_user_told_it(memory, new_user):
    """Its words count where it is asked for them."""
    talk = [Message(f"The kettle number {i} is on the stove.", session=str(i)) for i in range(30)]
    about = "There are four blood types, and your blood type is best tested by a doctor."
    asked, said = "What is my blood type?", "What did you tell me about the blood type?"
    odds = {}
    for role in ("user", "assistant"):
        user = new_user([*talk, Message(about, role, session="blood")])
        found = [memory.recall(text, user=user).confidence for text in (asked, said)]
        odds[role] = [confidence / (1 - confidence) for confidence in found]
    assert odds["assistant"][0] < odds["user"][0] / 1.05  # both are near the surest that there is
    assert odds["assistant"][1] > odds["user"][1] / 2


def test_what_both_chose_may_be_the_assistant_s_words(memory, new_user):
    """Who asks what "we" picked does not ask about themselves: an assistant's answer counts."""
    talk = [Message(f"The kettle number {i} is on the stove.", session=str(i)) for i in range(30)]
    asked = "Which license do we pick for the parser?"
    answer = Message("MPL-2.0 it is: its terms cover single files.", "assistant", session="license")
    user = new_user([*talk, Message(asked, session="license"), answer])
    for question in (asked, "which license did we pick for our parser?"):
        assert "MPL-2.0" in memory.recall(question, user=user, budget_tokens=100).text


def test_the_trace_tells_what_each_view_did(memory, new_user):
    """Per view: how many units were scored and offered, and the time that it took."""
    user = new_user([f"Fact number {i}." for i in range(50)])
    found = memory.recall("fact", user=user, budget_tokens=100, min_confidence=0)
    (view,) = found.trace.views
    assert view.view == "messages"
    assert view.considered == 50
    assert view.candidates == len(found.trace.decisions)
    assert 0 <= view.ms <= found.trace.ms
    assert view.model_calls == 0
    assert view.note == ""


def test_an_overview_of_a_month_is_of_that_month_however_much_others_have_of_its_words(memory, new_user):
    """They would fill all that is offered; where the month has nothing, they are the way back."""
    told = "Books, books: number {} of the books that I read, and I read books all day, as you know."
    january, june = datetime(2024, 1, 2, 9, tzinfo=UTC), datetime(2024, 6, 3, 9, tzinfo=UTC)
    said = [(told.format(day), january + timedelta(days=day)) for day in range(80)]
    said += [(f"Finished part {part} of Gilead.", june + timedelta(days=part)) for part in range(9)]
    user = new_user(
        message
        for content, time in said
        for message in (Message(content, time=time), Message("Noted.", role="assistant", time=time))
    )

    def months(month):
        found = memory.recall(
            f"Give me a summary of the books that I read in {month}.",
            user=user,
            views=["messages"],
            budget_tokens=90,
            now=datetime(2024, 12, 1, tzinfo=UTC),
        )
        return {unit.time.month for unit in found.evidence}

    assert months("June 2024") == {6}
    assert months("March 2024") == {3}
    assert months("October 2024")


@pytest.mark.parametrize("role", ["assistant", "tool", "function", "system", "developer"])
def test_what_no_person_says_does_not_drown_the_user(memory, new_user, role):
    """What assistants and tools say is held back, though it has more of the question's words."""
    flights = [{"content": f"Flight to Bergen: leaves {i}:{i + 10}.", "role": role} for i in range(10, 40)]
    told = "My plane to Norway goes early."
    user = new_user([*flights[:15], {"content": told, "role": "user"}, *flights[15:]])
    recalled = memory.recall("When does my flight to Bergen leave?", user=user, budget_tokens=100)
    assert any(unit.text == told for unit in recalled.evidence)


def test_rankings_are_fused_by_the_sum_of_reciprocal_ranks():
    """What two views offer comes before what one has first; ties in the order of first appearance."""
    assert reciprocal_rank([["a", "b"], ["c", "b"], ["d"]]) == ["b", "a", "c", "d"]
