"""Standing instructions, constraints, plain facts and people, in German, Spanish, French and Portuguese."""

import pytest

from zibaldone import Memory
from zibaldone.search.asking import wants_advice
from zibaldone.views.profile.elsewhere import areas_named_elsewhere, names_topic
from zibaldone.views.profile.grammar import readings

# With what is read in each: "instruction:" and its topic, areas that a constraint bears on, facts.
READ = [
    (
        "Und bitte antworte mir immer kurz und ohne Fremdwörter, ich les das meistens am Handy.",
        ["instruction"],
    ),
    ("Merk dir: bei Rezepten gib die Mengen immer in Gramm an.", ["instruction:Rezepten"]),
    ("Wenn ich dich nach Wein frage, nenn mir nie etwas über 15 Euro.", ["instruction:Wein"]),
    ("Bitte keine Emojis mehr.", ["instruction"]),
    ("Ab jetzt bitte nur noch auf Deutsch antworten.", ["instruction"]),
    ('Und schreib ab sofort in Mails an Kunden "Sie", nicht "du".', ["instruction:Mails an Kunden"]),
    ("Ich möchte, dass du mich duzt.", ["instruction"]),
    ("Schlag mir niemals Urlaub am Meer vor.", ["instruction"]),
    ("Ich bin Vegetarierin.", ["food"]),
    ("Und ich selber bin gegen Epoxidharz allergisch, hab davon offene Hände bekommen.", ["medicine"]),
    ("Übrigens vertrage ich keine Laktose.", ["food"]),
    ("Meine Tochter hat eine Nussallergie.", ["food"]),
    ("Ich habe Diabetes Typ 1 und spritze Insulin.", ["food", "medicine"]),
    ("Ich sitze seit dem Unfall im Rollstuhl.", ["travel", "exercise"]),
    ("Ich nehme Marcumar wegen der Klappe.", ["medicine"]),
    ("Ich heiße Jonas Petersen.", ["name"]),
    ("Ich wohne jetzt in Leipzig.", ["home"]),
    ("ich bin letzte Woche nach Kiel gezogen", ["home"]),
    ("Ich arbeite als Krankenpfleger in der Charité.", ["job"]),
    ("Ich arbeite seit Mai bei Siemens.", ["job"]),
    ("Büro macht meine Frau Birgit, halbtags.", ["relation"]),
    ("Mein Chef heißt Holm.", ["relation"]),
    ("Respóndeme siempre en español.", ["instruction"]),
    ("a partir de ahora dame las recetas para cuatro personas", ["instruction:recetas"]),
    ("Cuando te pregunte por vinos, no me recomiendes nunca tintos.", ["instruction:vinos"]),
    ("No uses emojis, por favor.", ["instruction"]),
    ("Nunca me sugieras viajes en avión.", ["instruction:viajes en avión"]),
    ("háblame de tú y sin rodeos", ["instruction"]),
    ("Soy intolerante a la lactosa.", ["food"]),
    ("Importante: soy diabético tipo 2.", ["food", "medicine"]),
    ("Mi hijo es alérgico al huevo.", ["food"]),
    ("No como carne ni pescado.", ["food"]),
    ("Tengo alergia a la penicilina.", ["medicine"]),
    ("Voy en silla de ruedas.", ["travel", "exercise"]),
    ("Me llamo Andrés Villar.", ["name"]),
    ("Ahora vivo en Bilbao.", ["home"]),
    ("Trabajo como enfermera en un centro de salud.", ["job"]),
    ("mi jefa es Solène Marchand", ["relation"]),
    ("Por cierto mi madre Remedios cumple 60.", ["relation"]),
    ("Réponds-moi toujours en français, s'il te plaît.", ["instruction"]),
    ("Désormais, donne les quantités en grammes dans les recettes.", ["instruction:recettes"]),
    ("Quand je te demande un restaurant, ne propose jamais de chaînes.", ["instruction:restaurant"]),
    ("N'utilise pas d'émojis.", ["instruction"]),
    ("Tutoie-moi, c'est plus simple.", ["instruction"]),
    ("Je suis allergique aux arachides.", ["food"]),
    ("je suis végétarienne depuis dix ans", ["food"]),
    ("Mon fils est cœliaque.", ["food"]),
    ("Je ne mange pas de porc.", ["food"]),
    ("J'ai de l'asthme.", ["medicine", "exercise"]),
    ("Je m'appelle Claire Morvan.", ["name"]),
    ("J'habite maintenant à Nantes.", ["home"]),
    ("Je travaille comme sage-femme.", ["job"]),
    ("Ma femme Inès arrive demain.", ["relation"]),
    ("Responde sempre em português, por favor.", ["instruction"]),
    ("A partir de agora, dá-me as receitas em gramas.", ["instruction:receitas"]),
    ("Nunca sugiras voos com escala.", ["instruction:voos com escala"]),
    ("Não uses emojis.", ["instruction"]),
    ("Sou alérgica a camarão.", ["food"]),
    ("sou vegano há três anos", ["food"]),
    ("Tenho intolerância à lactose.", ["food"]),
    ("Não posso tomar ibuprofeno.", ["medicine"]),
    ("Chamo-me Duarte Neves.", ["name"]),
    ("Agora moro em Coimbra.", ["home"]),
    ("Trabalho na Galp.", ["job"]),
    ("A minha mulher Teresa é médica.", ["relation"]),
    ("Denk bitte immer daran, Preise inklusive Mehrwertsteuer zu nennen.", ["instruction"]),
    ("Verwende in Zukunft bitte keine Abkürzungen.", ["instruction"]),
    ("Sprich mich bitte immer mit Frau Doktor an.", ["instruction"]),
    ("Falls ich nach Hotels frage, schlag immer welche mit Aufzug vor.", ["instruction:Hotels"]),
    ("Ich esse kein Schweinefleisch.", ["food"]),
    ("Ich habe Zöliakie.", ["food"]),
    ("Mein Mann ist laktoseintolerant.", ["food"]),
    ("Ich darf kein Aspirin nehmen.", ["medicine"]),
    ("Wir leben seit März in Graz.", ["home"]),
    ("Meine Schwester Anke besucht uns.", ["relation"]),
    ("Desde ahora corrígeme cada error.", ["instruction"]),
    ("Evita siempre los tecnicismos.", ["instruction"]),
    ("Llámame Nacho, no Ignacio.", ["instruction"]),
    ("Soy vegano desde enero.", ["food"]),
    ("No puedo tomar antiinflamatorios.", ["medicine"]),
    ("Mi marido tiene celiaquía.", ["food"]),
    ("Vivimos en Gijón desde 2019.", ["home"]),
    ("mi hermana Lola viene mañana", ["relation"]),
    ("Ich arbeite als Übersetzerin.", ["job"]),
    ("Ich bin 34 Jahre alt.", ["age"]),
    ("Ich wohne mit meiner Freundin Jana, seit Mai.", ["relation"]),
    ("Antworte mir in allen Mails auf Englisch.", ["instruction"]),
    ("Yo trabajo en Correos.", ["job"]),
    ("Tengo 41 años y dos hijos.", ["age"]),
    ("Ten en cuenta que siempre cocino para seis.", ["instruction"]),
    ("J'ai 52 ans.", ["age"]),
    ("Ma cheffe est Solène Marchand.", ["relation"]),
    ("O meu chefe é o Rui.", ["relation"]),
    ("Eu trabalho na Galp.", ["job"]),
]
# What only looks like one of these.
NOTHING = [
    "Schreib mir bitte eine Mail an den Vermieter.",
    "Immer wenn ich Kaffee trinke, kann ich nicht schlafen.",
    "Mein Chef sagt immer: antworte kurz.",
    "Er ist gegen alles allergisch, was nach Arbeit aussieht.",
    "Ich bin allergisch gegen Meetings am Freitag.",
    "Wenn ich in Rom wohnen würde, hätte ich einen Balkon.",
    "Ich habe kein Diabetes, sagt der Arzt.",
    "Gib mir heute nur drei Punkte.",
    "Ich bin vegetarisches Essen nicht gewohnt.",
    "Ist das Gericht für Vegetarier geeignet?",
    "Ich vertrage keinen Widerspruch.",
    "Unsere Firma arbeitet bei Siemens auf der Baustelle mit.",
    "Escríbeme un correo para el banco.",
    "Siempre me responde tarde.",
    "Soy alérgica a los lunes.",
    "Si viviera en Madrid, iría más al teatro.",
    "ella no es celíaca",
    "¿Es apto para vegetarianos?",
    "Trabajo en ello cada día.",
    "No como nunca antes de las nueve.",
    "Vivo en las nubes últimamente.",
    "Mi jefa es muy simpática.",
    "Écris-moi une lettre au syndic.",
    "Il me répond toujours en anglais.",
    "Je suis allergique aux réunions.",
    "Je ne mange pas avant midi.",
    "Si j'habitais à Lyon, je prendrais le vélo.",
    "Est-ce que c'est végétarien ?",
    "Ma femme est rentrée tard.",
    "Escreve um email ao senhorio.",
    "Ela responde sempre tarde.",
    "Sou alérgico a burocracia.",
    "Quem me dera que morasse em Lisboa.",
    "Não sou vegetariano.",
    "Bei Siemens arbeite ich seit Jahren gegen Windmühlen.",
    "Sag ihr, dass ich immer pünktlich bin.",
    "Ich esse kein Abendessen mehr nach acht.",
    "Meine Nachbarin ist Veganerin und predigt es jedem.",
    "Antworte dem Vermieter, dass wir immer zahlen.",
    "Ich habe gestern in Bonn gewohnt, also im Hotel.",
    "Übersetze bitte immer noch diesen Satz: Ich bin Vegetarier.",
    "Dile que siempre llego tarde.",
    "Nunca responde a mis mensajes.",
    "No soy vegetariana, pero casi.",
    "Mi hermana está enfadada.",
    "Llámame mañana a las cinco.",
    "Trabajo en casa los lunes.",
    # Somebody else's words or thought, a supposition, a text to translate
    "Mein Chef sagt, ich wohne in München, obwohl das nicht stimmt.",
    "Alle denken, ich bin Veganer.",
    "Nehmen wir an, ich bin 40 Jahre alt.",
    "Übersetze: Ich heiße Klaus.",
    "Mi jefe cree que soy vegetariano.",
    "Traduce: me llamo Juan y vivo en Madrid.",
    "Il dit que je suis végane, mais c'est faux.",
    "Supposons que j'ai 40 ans et deux enfants.",
    "Je suis végétarienne, a dit Marie.",
    "Vamos supor que tenho 40 anos e quero reformar-me.",
    "Sou vegana, disse a Marta.",
    # An order for once that has a word of all or ever in it
    "Nenn mir alle Hauptstädte Europas.",
    "Zeig mir alle Züge nach Köln.",
    "Schreib mir zu jeder Stadt einen Satz.",
    "Escribe un cuento sobre un niño que nunca duerme.",
    "Usa la fórmula en todas las celdas.",
    "Écris une histoire sur un garçon qui ne dort jamais.",
    "Explique pourquoi il pleut toujours en Bretagne.",
    "Corrige-moi si je me trompe.",
    "Note : il pleut toujours.",
    "Dis toujours à Paul que tout va bien.",
    "Escreve um conto sobre um rapaz que nunca dorme.",
    # A noun of German behind somebody, who has or does it
    "Ich habe meiner Frau Schokolade gekauft.",
    "Ich glaube, dass mein Sohn Fußball liebt.",
    "Gestern hat meine Frau Spaghetti gekocht.",
    "Meine Frau ist die Beste.",
    "Mon mari est Verseau, ça explique tout.",
    "O meu filho e a Maria vêm amanhã.",
    # No age, home, work or ailment
    "Ich bin 30 Jahre zu spät geboren.",
    "Wir leben in Zeiten großer Umbrüche.",
    "Ich arbeite bei Regen lieber drinnen.",
    "Ich arbeite als Nächstes am Bericht.",
    "Ich bin blind vor Wut.",
    "Tengo 20 años trabajando aquí.",
    "Busco trabajo en Alemania.",
    "El trabajo en Madrid es duro.",
    "Fuimos a un concierto en vivo en Barcelona.",
    "Trabajo como siempre.",
    "Soy sordo a tus quejas.",
    "J'ai 30 ans de retard.",
    "Je suis sourd à tes reproches.",
    "Tenho 20 anos a menos do que ele.",
    "Esse trabalho no Brasil foi cancelado.",
]
FACTS = {"name": "name", "live in": "home", "work at": "job", "work as": "job", "be years old": "age"}


def read(statement):
    """All that is read in it, as in the lists above."""
    names = set()
    for reading in readings(statement):
        names |= reading.areas
        if reading.kind == "instruction":
            names |= {"instruction", f"instruction:{reading.topic}"}
        elif reading.kind == "relation" or not reading.areas:
            names.add(FACTS.get(reading.subject, reading.kind))
        elif reading.subject in FACTS:
            names.add(FACTS[reading.subject])
    return names


@pytest.mark.parametrize(("statement", "wanted"), READ)
def test_what_is_plainly_said_is_read(statement, wanted):
    """By the table of its language."""
    assert set(wanted) <= read(statement)


@pytest.mark.parametrize("statement", NOTHING)
def test_a_near_miss_is_nothing(statement):
    """An order of the moment, somebody else's habit, a joke, a wish, a denial."""
    assert read(statement) == set()


@pytest.mark.parametrize(
    "statement",
    [
        "Joelle's allergic to peanuts.",
        "Also Nora has type 1 diabetes, she's on a pump.",
        "Ruth can't eat gluten.",
        "Jannik verträgt keine Milch.",
        "Ana é diabética.",
    ],
)
def test_what_constrains_somebody_else_is_told_of_them(statement):
    """By their name, for questions that name them."""
    (reading,) = readings(statement)
    assert reading.kind == "relation"
    assert reading.topic in statement
    assert not reading.areas


@pytest.mark.parametrize(
    "statement",
    ["Seitan is vegan.", "Everyone is allergic to nuts.", "Das Essen ist vegetarisch.", "Tom has a pool."],
)
def test_what_is_no_person_has_no_constraint(statement):
    """Nor has everybody."""
    assert readings(statement) == []


@pytest.mark.parametrize(
    ("topic", "question", "named"),
    [
        ("recetas", "Dame una receta de lentejas", True),
        ("Mails an Kunden", "Entwirf eine Mail an Herrn Lohse", True),
        ("Angebot", "Was kosten die Angebote?", True),
        ("Tragen", "Erklär mir, wie eine Wärmepumpe funktioniert", False),
        ("vinos", "¿Qué hora es en Vietnam?", False),
    ],
)
def test_a_question_names_a_topic_with_another_ending(topic, question, named):
    """Function words name nothing."""
    assert names_topic(topic, question) is named


@pytest.mark.parametrize(
    ("question", "areas"),
    [
        ("Was soll ich heute kochen?", {"food"}),
        ("Recomiéndame un restaurante", {"food"}),
        ("Quel hôtel peux-tu me recommander ?", {"travel"}),
        ("Que antibiótico posso tomar?", {"medicine"}),
    ],
)
def test_a_wish_for_advice_names_areas_of_life(question, areas):
    """By the words of its language."""
    assert wants_advice(question)
    assert areas_named_elsewhere(question) == areas


def test_a_rule_is_about_what_follows_its_colon():
    """And two rules are two, of which the newer takes no place of the older."""
    (grams,) = readings("Regel: Rezepte immer in Gramm.")
    (calls,) = readings("Regel: nie vor acht Uhr anrufen.")
    assert "Regel" not in grams.topic + calls.topic
    assert grams.subject != calls.subject


def test_advice_in_german_obeys_what_was_said_in_german(tmp_path):
    """Who is asked about food hears of the allergy; how to answer is always known."""
    with Memory(tmp_path / "memory") as memory:
        memory.add(
            ["Antworte mir bitte immer kurz.", "Ich bin gegen Nüsse allergisch.", "Der Bus fährt um acht."],
            user="ann",
        )

        def known(question):
            recalled = memory.recall(question, user="ann", budget_tokens=500, floor=0)
            return {unit.text for unit in recalled.evidence if unit.standing}

        assert known("Was soll ich heute kochen?") == {
            "Antworte mir bitte immer kurz.", "Ich bin gegen Nüsse allergisch."
        }  # fmt: skip
        assert known("Wann fährt der Bus?") == {"Antworte mir bitte immer kurz."}
