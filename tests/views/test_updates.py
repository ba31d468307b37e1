"""Which sentence took the place of which: pairs, chains, forgetting, rebuilding, other users, bad models."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from zibaldone import forgetting, generations, log, maintenance
from zibaldone.core import MACHINES, Message
from zibaldone.errors import ModelFailed
from zibaldone.forgetting import Selector
from zibaldone.models.asker import Asker
from zibaldone.models.meter import Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.storage.opening import open_database
from zibaldone.testing import ScriptedModel
from zibaldone.views.updates import UpdatesView, links_of

STATIC = shared_static_embedder()
NOW = datetime(2024, 3, 1, 12, tzinfo=UTC)


class Desk:
    """A folder, and the view over it."""

    def __init__(self, folder, chat=None):
        self.database = open_database(folder, busy_timeout_s=30)
        self.view = UpdatesView(Asker(chat, Meter(None), STATIC))

    def say(self, *texts, user="ann", session="1", name=None, role="user"):
        """Each text is a message, a day after the one before."""
        with self.database.write() as connection:
            last = log.state(connection, user).last_seq
            said = [
                Message(text, role=role, name=name, session=session, time=NOW + timedelta(days=last + i))
                for i, text in enumerate(texts)
            ]
            log.append(connection, user, said, NOW)
        assert maintenance.advance(self.database, user, self.view)

    def links(self, *seqs, user="ann"):
        """(words that no longer hold, words that do, rule)."""
        with self.database.read() as connection:
            serving = generations.serving(connection, user, self.view)
            wanted = seqs or range(1, log.state(connection, user).last_seq + 1)
            found = links_of(connection, user, serving.number, wanted)
            texts = log.fetch(connection, user, [s for link in found for s in (link.old_seq, link.new_seq)])
        return [
            (
                texts[link.old_seq].content[link.old_start : link.old_end],
                texts[link.new_seq].content[link.new_start : link.new_end],
                link.rule,
            )
            for link in found
        ]

    def forget(self, *seqs, user="ann"):
        """These messages."""
        forgetting.forget(self.database, [self.view], user, Selector(seqs=seqs), dry_run=False)


@pytest.fixture
def desk(tmp_path):
    """Without a model."""
    desk = Desk(tmp_path)
    yield desk
    desk.database.close()


ENDED = [
    ("changed", "The board meeting is on Tuesday.", "We moved the board meeting to Thursday."),
    ("changed", "Our cloud budget is $400.", "The cloud budget went up to $450, is that fine?"),
    ("now", "My dentist is Dr. Patel.", "My dentist is Dr. Lee now."),
    ("new", "I have a book budget of $35.", "What can I read with my increased book budget of $50?"),
    ("contrast", "The wedding is in May.", "Turns out the wedding is in June, not May."),
    ("contrast", "We build the shop with Vue.", "We switched the shop from Vue to Svelte."),
    ("ended", "I work at Acme.", "I quit Acme."),
    ("ended", "We practise in Ben's garage.", "We don't practise in Ben's garage anymore."),
    ("flipped", "I don't drink coffee.", "I drink coffee again."),
    ("tally", "I've solved 8 practice problems.", "I've solved 15 practice problems."),
    ("slot", "My favourite number of guests is 12.", "My favourite number of guests is 14."),
    ("state", "I live in Leeds.", "I moved to Bristol."),
    ("contact", "My number is 555-0142.", "Use 555-0177 from now on."),
    ("amended", "Order 20 chairs for the workshop.", "Make that 30."),
    ("amended", "I'll order 40 tulip bulbs.", "Hm, make that 60."),
    ("frame", "I'll paint the bookcase dark green.", "Actually I'll paint the bookcase yellow instead."),
    ("frame", "I cycle 35 km to work.", "Because of the detour I cycle 50 km to work."),
    ("frame", "Tom will bring the projector.", "Correction: Lisa will bring the projector."),
    ("frame", "The choir meets in Ghent.", "The hall in Ghent is closed, so the choir meets in Bruges."),
    ("dropped", "I want the kitchen walls painted green.", "I changed my mind about the kitchen walls."),
    ("ended", "Davi drives a blue Twingo.", "Davi sold the Twingo."),
    ("ended", "Ellen works at the railway museum.", "Ellen left the railway museum."),
    ("ended", "I eat fish once a week.", "I don't eat fish anymore, a documentary did it."),
    ("ended", "We booked the Ghent conference.", "I cancelled the Ghent conference, too much going on."),
    ("contrast", "I keep my passwords in LockNest.", "I switched from LockNest to Keyhaven."),
    ("contrast", "The deposit is 200 euros.", "The deposit is 350, not 200."),
    ("new", "My phone is a Nuvio.", "I have a new phone, a Pelikan 3."),
    ("changed", "The gym costs me 24.50 a month.", "The gym went up to 29 a month, robbery."),
    ("changed", "My card has a limit of 1,500.", "The bank raised the limit of my card to 2,500."),
    ("changed", "The launch of the app is May 2.", "We had to push the launch of the app to May 23."),
    ("changed", "We run the shop on Postgres 13.", "We upgraded the shop to Postgres 16, all went well."),
    ("state", "My friend Noor lives in Arnhem.", "Noor moved to Groningen."),
    ("state", "The warehouse is in Rotterdam.", "The warehouse has moved to Antwerp."),
    ("slot", "My favourite author is Elena Ferrante.", "Claire Keegan is my favourite author."),
    ("state", "My sister Eva lives in Oslo.", "My sister Eva lives in Rome now."),
    ("now", "The rent of my brother's flat is 780 euros.", "The rent of my brother's flat is 900 euros now."),
]
HOLDS = [
    ("I'm wavering between a red or blue sofa.", "They sent the sofa in blue instead of red."),
    ("The kitchen will be sage or navy.", "We painted the kitchen in navy, not sage."),
    ("The board meeting is on Tuesday.", "We moved the hiring meeting to Thursday."),  # another thing
    ("My dentist is Dr. Patel.", "My daughter's dentist is Dr. Lee now."),  # another person
    ("We work with Acme.", "We also work with Globex now."),  # added
    ("Our cloud budget is $400.", "Should the cloud budget go up to $450?"),  # asked
    ("Our cloud budget is $400.", "If the cloud budget went up to $450 we could move."),  # supposed
    ("Our cloud budget is $400.", "The cloud budget is still $400."),  # repeated
    ("My goal is to save $5,000.", "My savings are up to $2,000."),  # aimed at, and there
    ("I weigh 92 kg.", "I want to get down to 85 kg."),  # wished for
    ("I used to work at Acme.", "I work at Initech now."),  # past and present both true
    ("The party is on June 8.", "The party on June 8 was a success."),  # came about
    (
        "I increased my accuracy from 60% to 80%.",
        "I increased my accuracy from 75% to 90%.",
    ),  # not from there
    ("My number is 555-0142.", "My work number is 555-0177, use that one."),  # another one
    ("I live in Leeds.", "Noor moved to Groningen."),  # another person
    ("I live in Leeds.", "Noor left Leeds."),
    ("My budget for books is $35.", "My budget for groceries is $400 now."),  # another thing
    ("My cat Milo is 4 kilos.", "My dog Rex is 30 kilos now."),
    ("I feel more confident about proofs.", "I feel more confident about vectors now."),  # no value
    ("I'm sorry to hear about Max.", "Sorry to hear that, John."),  # no correction
    ("I've walked daily since May 15.", "I've walked daily since August 1."),  # a beginning
    ("I have tea with two sugars, no milk.", "I have tea with milk now."),  # denied beside it
    ("Our hotel in Rome is the Astoria.", "Our hotel in Naples is the Bellini now."),
    ("I chose the green walls.", "I changed my mind about the trip."),  # of something else
    ("The rent of my flat is 780 euros.", "The rent of my brother's flat is 900 euros now."),
    ("My sister Ann lives in Oslo.", "My sister Eva lives in Rome now."),
    ("My colleague Raj works at Shell.", "My colleague Ines works at BP now."),
]


# In German, Spanish, French and Portuguese, and where a newer sentence has the older name.
ENDED_ELSEWHERE = [
    (
        "So the course: the exam is 14 May and I need a DPP.",
        "also the uni moved the exam ugh, it's the 28th of may now, two weeks later",
    ),
    (
        "need 78 hrs supervised practice with a DPP which is Dr Anand",
        "oh also Dr Anand is off on long term sick from april so my DPP is Sister Maguire from now on",
    ),
    (
        "3) Kita Regenbogen, 24 Garderoben, bis 15. Mai, 9.900.",
        "Übrigens die Garderoben: 22 statt 24, zwei Kinder weniger.",
    ),
    (
        "Der Tresen für Dr. Weidner wird in Esche gebaut.",
        "Der Tresen wird jetzt doch in Nussbaum statt Esche gebaut.",
    ),
    ("Ab Januar machen wir die 4-Tage-Woche.", "Ich verschiebe die 4-Tage-Woche auf März."),
    ("El viaje a Portugal es en junio.", "El viaje a Portugal lo hemos cambiado de junio a agosto."),
    ("Tomo café con leche de soja.", "Ahora tomo el café con leche de avena en vez de soja."),
    ("La reunión con Marta es el 3 de mayo.", "Han movido la reunión con Marta al 10 de mayo."),
    ("Die Probe ist am 12. Juni.", "Die Probe wurde auf den 19. Juni verschoben."),
    ("Ich gehe mit Anna zum Tennis.", "Ich gehe nicht mehr mit Anna zum Tennis."),
    ("Doy clases de mates a Mathis.", "Ya no doy clases de mates a Mathis."),
    ("La soutenance est le 4 juin.", "La soutenance est reportée au 11 juin."),
    (
        "On prend la voiture de Paul pour Brest.",
        "On prend le train au lieu de la voiture de Paul pour Brest.",
    ),
    ("A reunião com o Rui é a 3 de maio.", "A reunião com o Rui foi adiada para 10 de maio."),
    ("Quero pintar a cozinha de verde.", "Vou pintar a cozinha de amarelo em vez de verde."),
    ("Der Kurs kostet 80 Euro im Monat.", "Der Kurs kostet jetzt 95 Euro im Monat."),
    ("Der Umzug ist am 3. März.", "Der Umzug wurde auf den 17. März verlegt."),
    ("Juego al pádel con Sergio los martes.", "Ya no juego al pádel con Sergio."),
    ("La boda es el 12 de julio.", "Han aplazado la boda al 9 de agosto."),
    ("Je fais du yoga avec Lucie.", "Je ne fais plus de yoga avec Lucie."),
]
HOLDS_ELSEWHERE = [
    ("Wir haben 24 Stühle bestellt.", "Ich nehme heute den Bus statt das Auto."),
    ("Ich koche heute Nudeln.", "Ich mag keine Nudeln mehr sehen, sagt Tom."),
    ("La cena es el 3 de mayo.", "La comida es el 10 de mayo."),
    ("Tengo 24 alumnos en la escuela.", "Compré 22 sillas en vez de 24 para la terraza."),
    ("Ich arbeite mit Anna an der Präsentation.", "Ich gehe nicht mehr mit Anna zum Tennis."),
    ("Estoy cansada de las clases.", "Ya no estoy cansada."),
    ("My dentist appointment is on 14 May.", "Also, I have a meeting with the bank on 20 May now."),
    (
        "I need a lawyer which is Dr Brown",
        "Dr Brown called me about the garden, my neighbour is Ms Lee now",
    ),
    ("Der Kurs kostet 80 Euro im Monat.", "Das Fitnessstudio kostet jetzt 95 Euro im Monat."),
    ("La soutenance est le 4 juin.", "Le dîner est reporté au 11 juin."),
    ("Wir treffen Jonas am 5. Mai.", "Jonas kommt nicht mehr am Wochenende vorbei."),
    ("La boda de Ana es el 12 de julio.", "Han aplazado la boda de Eva al 9 de agosto."),
    ("Quero pintar a porta de verde.", "Vou pintar a cozinha de amarelo em vez de verde."),
    ("Je mange avec Lucie le mardi.", "Je ne fais plus de yoga avec Lucie."),
    ("Vivo con mi hermana Ana en Soria.", "Mi amiga Bea vive ahora en León."),
    ("Die Miete beträgt 700 Euro.", "Der Strom kostet jetzt 70 Euro."),
    ("Der Kurs kostet 120 Euro.", "Das Buch zum Kurs kostet jetzt 20 Euro."),
    ("El curso cuesta 120 euros.", "El libro del curso cuesta ahora 20 euros."),
    ("O curso custa 120 euros.", "O livro do curso custa agora 20 euros."),
    ("Das Zimmer kostet 80 Euro.", "Das Frühstück im Zimmer kostet jetzt 12 Euro."),
]

TWO_THINGS = [
    ("The museum costs 12 euros.", "The audio guide for the museum costs 4 euros now."),
    ("The flight takes 3 hours.", "The transfer after the flight takes 2 hours now."),
    ("The flat costs 900 a month.", "The flat insurance costs 30 a month now."),
    ("The scarf for the choir costs 20.", "The choir costs 35 now."),
    ("The boat costs 400.", "The boat's anchor costs 90 now."),
]
ONE_THING = [
    ("The audio guide for the museum costs 4 euros.", "The audio guide costs 6 euros now."),
    ("The price of the cruise is 800.", "The cruise price is 950 now."),
    ("The bus to the airport leaves at 7 am.", "The airport bus leaves at 8 am now."),
    ("The gym opens at 7:00.", "Just heard that the gym opens at 9:00 these days."),
]


@pytest.mark.parametrize(("old", "new"), TWO_THINGS)
def test_what_a_thing_is_for_is_not_the_thing(desk, old, new):
    """A noun that only says which one it is has a value of its own."""
    desk.say(old, new)
    assert desk.links() == []


@pytest.mark.parametrize(("old", "new"), ONE_THING)
def test_one_thing_may_be_said_with_and_without_what_it_is_for(desk, old, new):
    """Also where an aspect of it is named: its price."""
    desk.say(old, new)
    assert [link[:2] for link in desk.links()] == [(old, new)]


@pytest.mark.parametrize(("rule", "old", "new"), ENDED)
def test_what_is_said_to_be_different_takes_the_place(desk, rule, old, new):
    """By the rule that the words fit."""
    desk.say(old, new)
    assert desk.links() == [(old, new, rule)]


@pytest.mark.parametrize(("old", "new"), ENDED_ELSEWHERE)
def test_what_is_plainly_overridden_is_so_in_other_languages(desk, old, new):
    """A day that was moved, one thing instead of another, what is no more."""
    desk.say(old, new)
    assert old in {ended for ended, _, _ in desk.links()}


@pytest.mark.parametrize(("old", "new"), [*HOLDS, *HOLDS_ELSEWHERE])
def test_what_only_looks_like_it_takes_no_place(desk, old, new):
    """A false mark is worse than none."""
    desk.say(old, new)
    assert desk.links() == []


def test_the_link_names_sentences(desk):
    """Of messages with several, the ones that are meant."""
    desk.say(
        "Hello there! My dentist is Dr. Patel. I like tea.", "How are you? My dentist is Dr. Lee now. Bye!"
    )
    assert desk.links() == [("My dentist is Dr. Patel.", "My dentist is Dr. Lee now.", "now")]


def test_another_speaker_and_an_assistant_end_nothing_of_mine(desk):
    """What is somebody's own, only that person can change."""
    desk.say("My dentist is Dr. Patel.", name="Ann")
    desk.say("My dentist is Dr. Lee now.", name="Bea")
    desk.say("My dentist is Dr. Lee now.", role="assistant")
    assert desk.links() == []


def test_what_is_nobodys_own_another_may_change(desk):
    """In the same session."""
    desk.say("The picnic is at Riverside Park on Saturday.", name="Leo")
    desk.say("The picnic at Riverside Park got moved to Sunday.", name="Maya")
    assert [rule for _, _, rule in desk.links()] == ["changed"]


@pytest.mark.parametrize("role", sorted(MACHINES))
def test_no_machine_ends_what_a_person_said(desk, role):
    """Not even of what is nobody's own."""
    desk.say("The review is on Monday.")
    desk.say("The review moved to Sunday.", role=role)
    assert desk.links() == []


def test_an_amendment_speaks_of_what_is_near(desk):
    """In another session it speaks of nothing that is known."""
    desk.say("Order 20 chairs for the workshop.", session="1")
    desk.say("Make that 30.", session="2")
    assert desk.links() == []


@pytest.mark.parametrize(
    "text", ["I can't run any more, which makes the stairs hard.", "What is no longer so, or never was."]
)
def test_an_end_of_nothing_that_has_a_word_of_its_own_ends_nothing(desk, text):
    """What is over is told in words that say too little to look anything up by."""
    desk.say("I run every day.", text)
    assert desk.links() == []


def test_a_chain_is_followed_to_the_newest(desk):
    """Whoever asks of the first learns of the last."""
    desk.say("My dentist is Dr. Patel.", "My dentist is Dr. Lee now.", "My dentist is Dr. Moss now.")
    assert [new for _, new, _ in desk.links(1)][-1] == "My dentist is Dr. Moss now."
    assert desk.links(3)


def test_who_was_quoted_twice_is_ended_twice(desk):
    """Every earlier sentence with the old value."""
    desk.say("My dentist is Dr. Patel.", "My dentist is Dr. Patel, as I said.", "My dentist is Dr. Lee now.")
    assert len(desk.links()) == 2


@pytest.mark.parametrize("gone", [1, 2])
def test_forgetting_either_end_removes_the_link(desk, gone):
    """Both are its sources; no word of the forgotten one is left in the index."""
    desk.say("My dentist is Dr. Patel.", "My dentist is Dr. Lee now.")
    desk.forget(gone)
    assert desk.links() == []
    desk.say("My dentist is Dr. Moss now.")
    assert len(desk.links()) == 1  # with the one that is left


def test_a_rebuild_makes_the_same_links(desk):
    """And one batch the same as many."""
    for _, old, new in ENDED:
        desk.say(old, new)
    before = desk.links()
    maintenance.rebuild(desk.database, "ann", desk.view)
    assert len(before) >= len(ENDED)
    assert desk.links() == before


def test_users_end_nothing_of_each_other(desk):
    """Not even with the very words."""
    desk.say("My dentist is Dr. Patel.", user="ann")
    desk.say("My dentist is Dr. Lee now.", user="bea")
    assert desk.links(user="ann") == desk.links(user="bea") == []
    desk.say("My dentist is Dr. Lee now.", user="ann")
    assert len(desk.links(user="ann")) == 1
    assert desk.links(user="bea") == []
    desk.forget(1, user="bea")
    assert len(desk.links(user="ann")) == 1


SAID = ("I'm single and fine with it.", "So, I'm not single any longer, her name is Mila.")


def judged(tmp_path, answer, *said):
    """Links when a model gives this answer, and what it was shown."""
    judge = ScriptedModel(lambda _: answer, name="judge")
    desk = Desk(tmp_path, judge)
    desk.say(*(said or SAID))
    try:
        return [(old, new, rule.partition("/")[0]) for old, new, rule in desk.links()], judge.requests
    finally:
        desk.database.close()


def test_a_model_says_what_the_rules_do_not_see(tmp_path):
    """It is shown the newer sentence and the older ones that may be meant."""
    links, requests = judged(tmp_path, {"ended": [{"older": 0, "newer": 0}]})
    assert links == [(SAID[0], SAID[1], "judge")]
    shown = json.loads(requests[0].turns[1].content)
    assert [sentence["said"]["text"] for sentence in shown["older"]] == [SAID[0]]
    assert [sentence["said"]["text"] for sentence in shown["newer"]] == [SAID[1]]


def test_a_pair_that_was_not_shown_is_dropped_and_the_rest_stands(tmp_path):
    """One bad pair voids nothing else."""
    answer = {"ended": [{"older": 7, "newer": 0}, {"older": 0, "newer": 0}, {"older": 0, "newer": -1}]}
    links, _ = judged(tmp_path, answer)
    assert links == [(SAID[0], SAID[1], "judge")]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("Adorable!", "Yeah, actually!"),  # nothing is said of anything
        ("My dentist is Dr. Patel.", "I never knew that my choir sings on Sundays."),  # another thing
        ("Is the board meeting on Tuesday?", "The board meeting is not on Tuesday."),  # nothing was stated
        ("The festival begins on Friday.", "I can't wait to see the festival!"),  # nothing is different
    ],
)
def test_nobody_is_asked_of_what_cannot_be_about_the_same(tmp_path, earlier, later):
    """A word of change alone costs no call."""
    assert judged(tmp_path, {"ended": []}, earlier, later)[1] == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("I sing in a choir in Ghent.", "I never sing in the choir these days."),  # the same words
        ("Dinner is at seven.", "Oh, it is actually at eight."),  # right after it, a value of the same kind
        ("I have two cats.", "Sadly my cats are not there any longer."),  # one word, and right after it
    ],
)
def test_somebody_is_asked_of_what_may_be_about_the_same(tmp_path, earlier, later):
    """What was said is shown beside it, and nothing else."""
    requests = judged(tmp_path, {"ended": []}, "Hello everybody!", earlier, later)[1]
    shown = json.loads(requests[0].turns[1].content)
    assert [sentence["said"]["text"] for sentence in shown["older"]] == [earlier]


def test_what_somebody_else_says_of_themselves_is_not_shown(tmp_path):
    """One person's choir is not another's."""
    model = ScriptedModel(lambda _: {"ended": []})
    desk = Desk(tmp_path, model)
    desk.say("I sing in a choir in Ghent.", name="Ben")
    desk.say("I never sing in the choir in Ghent.", name="Ann")
    assert model.requests == []
    desk.say("Actually I sing in the choir in Ghent.", name="Ben")
    assert len(model.requests) == 1
    desk.database.close()


@pytest.mark.parametrize("answer", ["no", {"ended": "all"}, {}, ModelFailed("the model is asleep")])
def test_a_model_that_answers_badly_leaves_the_rules(tmp_path, answer):
    """What the rules are sure of is linked all the same."""
    old, new = "My dentist is Dr. Patel.", "My dentist is Dr. Lee now."
    links, _ = judged(tmp_path, answer, old, new)
    assert links == [(old, new, "now")]


def test_a_model_may_refuse_what_the_rules_are_sure_of(tmp_path):
    """It has read the sentences."""
    links, _ = judged(tmp_path, {"ended": []}, "My dentist is Dr. Patel.", "My dentist is Dr. Lee now.")
    assert links == []


PLAIN = [
    ("I'm married to Dario, we live near the lake.", "Dario and I got divorced.", "condition"),
    ("My boyfriend Tom is a baker.", "I'm single again.", "condition"),
    ("I'm vegetarian.", "I eat meat again.", "condition"),
    ("Je suis végétarienne.", "Je ne suis plus végétarienne.", "condition"),
    ("I'm vegetarian by the way.", "I had trout twice. So pescatarian now I guess", "condition"),
    ("I'm pescatarian.", "I went vegan in January.", "condition"),
    ("I've been vegan for years.", "I became a vegetarian.", "condition"),
    ("I'm pescatarian.", "I eat meat again.", "condition"),
    ("I work at the mill.", "I got laid off yesterday.", "condition"),
    ("I smoke about ten a day.", "I've quit smoking.", "condition"),
    ("I live with two flatmates, Jo and Priya.", "I live alone now.", "condition"),
    ("I work as a baker.", "I work as a gardener now.", "role"),
    ("My rent is 640 a month.", "From May I pay 690.", "rent"),
    ("We're sailing to Corfu in August.", "We moved Corfu: now we sail in May 2027.", "now"),
    ("The summer fair is on 4 June.", "The summer fair got postponed, it's on 11 June.", "now"),
    ("I see Dr. Brandt for my shoulder.", "I switched from Dr. Brandt to Dr. Okafor.", "contrast"),
    ("Ich wohne in Bonn.", "Ich wohne jetzt in Mainz.", "state"),
    ("Je travaille chez Michelin.", "Je travaille maintenant chez Alstom.", "state"),
    ("Vivo en Cádiz.", "Ahora vivo en Burgos.", "state"),
    ("I've never been to Portugal.", "We went to Portugal in April.", "visited"),
    ("I have never visited the Faroe Islands.", "I'm in the Faroe Islands this week!", "visited"),
]
STILL_SO = [
    ("I'm single and happy.", "I'm seeing Dr. Aydin about my back."),
    ("I'm single and happy.", "I'm seeing someone about the roof on Monday."),
    ("I'm single and happy.", "I have a new partner for tennis."),
    ("I'm married to Dario.", "We split up at the airport, he took the train."),
    ("My wife Clara is a vet.", "In the play I'm single and forty."),
    ("I'm vegetarian.", "I told her I eat meat again, as a joke."),
    ("I'm vegetarian.", "I collect vegan recipes now."),
    ("I'm vegetarian.", "My vegan friend is here again."),
    ("I'm vegetarian.", "I'm a vegan chef."),
    ("I'm vegan.", "I'm vegetarian for a week."),
    ("I'm vegan.", "Vegetarian now and then, I guess."),
    ("I'm vegan.", "The menu is short and vegetarian now, I think."),
    ("I work for the council.", "I got laid off once, in 2008."),
    ("I'm out of work.", "I found a job for my nephew."),
    ("I live alone.", "I'm living with my decision now."),
    ("I live alone.", "We live with my parents every August."),
    ("I live with two flatmates.", "I'm living on my own terms now."),
    ("I smoke a pack a day.", "I quit smoking meat on the barbecue."),
    ("I'm married to Dario.", "The coffee machine and I broke up, tea it is."),
    ("I'm married to Dario.", "Nina and I broke up."),
    ("My girlfriend Ines is a nurse.", "My sister is single again."),
    ("I'm vegan.", "I eat chocolate again, dark only."),
    ("I'm unemployed at the moment.", "I got the job done before lunch, the shelf is up."),
    ("I work as a nurse.", "I'm now working as a team with Bea on the garden."),
    ("My rent is 790 a month.", "From November I pay 30 for the storage unit."),
    ("We're sailing to Corfu in August.", "We moved house: the new keys come in March."),
    ("I see Dr. Wenzel for my knee.", "I'm seeing Dr. Aydin about my teeth now."),
    ("I work as a nurse at St. Luke's.", "I now work as a goalkeeper on Saturdays."),
    ("I work at the mill.", "In my spare time I now work with Oxfam."),
    ("I've never been to Portugal.", "We might go to Portugal."),
    ("I've never been to Portugal.", "My brother went to Portugal."),
    ("I've never been to Portugal in winter.", "I was in Portugal in June."),
    ("We went to Portugal in April.", "I've never been to Portugal."),
    ("Ich wohne in Bonn.", "Mein Bruder wohnt jetzt in Mainz."),
    ("Meine Schwester wohnt in Graz.", "Meine Cousine wohnt jetzt in Linz."),
    ("J'habite à Lyon.", "Ma sœur habite maintenant à Nantes."),
]


@pytest.mark.parametrize(("old", "new", "rule"), PLAIN)
def test_a_plain_statement_ends_what_it_excludes(desk, old, new, rule):
    """No word of change is needed where both can't be so."""
    desk.say(old, new)
    assert [found[2] for found in desk.links()][:1] == [rule]


@pytest.mark.parametrize(("old", "new"), STILL_SO)
def test_what_can_be_so_beside_it_still_holds(desk, old, new):
    """Of somebody else, of something else, or a figure of speech."""
    desk.say(old, new)
    assert desk.links() == []


def test_a_plain_statement_of_another_speaker_ends_nothing(desk):
    """Whoever is single again is who says so."""
    desk.say("I'm married to Dario.", name="Eva")
    desk.say("I'm single again.", name="Jo")
    assert desk.links() == []
