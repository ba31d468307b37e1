"""What a statement in German, Spanish, French or Portuguese says of its speaker, by tables (`languages`).

Precise before complete, as the English grammar: standing instructions, what constrains somebody, their name,
age, home and work, what they like and decide, and who people are to them. A sentence that fits no pattern of
its language is none of these. What a question in these languages calls for is read here too.
"""

from __future__ import annotations

from collections.abc import Iterator

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.unaccented import unaccented
from zibaldone.text.words import STOP_WORDS, as_written, terms, words
from zibaldone.views.profile.clauses import Area, Reading, first_phrase
from zibaldone.views.profile.languages import LANGUAGES, Language
from zibaldone.views.profile.languages.base import pattern

_ALSO_ENGLISH = frozenset({"a", "me", "use"})  # of the languages' marks: alone they tell nothing
_SHORTEST_STEM = 4  # letters that a word of a question and one of a topic share; the rest is an ending
_LONGEST_ENDING = 3
_AND = lazy_pattern(r"\be\b")  # Portuguese; "is" has an accent
# What an order is about, or a story of somebody: "un cuento de un niño que nunca duerme"
_CONTENT = lazy_pattern(
    r"(?<!\b(?:cuenta|recuerda|acuerdate|lembra-te|lembre-se|rappelle-toi))"
    r"\s(?:que|qui|quien|quem|por\s*que|pourquoi|parce|comment)\s",
    regex.IGNORECASE,
)
_TO_ANOTHER = lazy_pattern(
    r"\s+(?:(?:toujours|jamais|siempre|sempre|immer|nunca)\s+)*"
    r"(?:(?:ihr|ihm|ihnen|dem|der|den|lui|leur|lhe|al|ao|a\s+(?:su|mi|tu|ma|ta|sa|tua|minha))\b|a\s+(?-i:\p{Lu}))",
    regex.IGNORECASE,
)
_ENDS_CLAUSE = r"[,;:.!?]|\s[–—-]\s"


def readings_elsewhere(statement: str, own: str, *, among_people: bool) -> list[Reading]:
    """All that it is; `own` is the statement without what it quotes."""
    spoken = frozenset(words(unaccented(statement)))
    shared = _ALSO_ENGLISH & spoken
    if not STOP_WORDS.isdisjoint(spoken - shared):
        spoken -= shared  # "I'd use a pen": patterns of two languages would be compiled, and searched for
    for language in LANGUAGES:
        if language.marks.isdisjoint(spoken):
            continue
        order = None if among_people else _instruction(language, statement)
        people = _relation(language, own)
        if order is not None:
            return [order, *people]
        whole = unaccented(statement)
        of_another = any(
            pattern(piece).search(whole)
            for piece in (language.of_another, language.reported, language.made_up)
        )
        areas = frozenset() if of_another else _areas(language, unaccented(own))
        facts = [] if of_another else [*_facts(language, own)]
        if areas and not facts:
            facts = [Reading("fact", areas=areas)]
        people = people or _constrained(language, own)
        leanings = [] if of_another or facts else [*_leanings(language, own)]
        if people or facts or leanings:
            return [*people, *facts, *leanings]
    return []


def areas_named_elsewhere(question: str) -> set[Area]:
    """Areas of life that a question in another language has a word of."""
    text = unaccented(question)
    return {
        area
        for language in LANGUAGES
        for area, piece in language.areas.items()
        if pattern(piece).search(text)
    }


def names_topic(topic: str, question: str) -> bool:
    """Whether a question has a word of the topic, but for its ending: "recetas", and "una receta"."""
    of_topic, of_question = (words(unaccented(telling(text))) for text in (topic, question))
    return any(_one_word(a, b) for a in of_topic for b in of_question)


def telling(phrase: str) -> str:
    """The words of a phrase that say what it is about."""
    return " ".join(word for word in as_written(phrase) if unaccented(word).casefold() not in _LITTLE)


def _trimmed(phrase: str) -> str:
    """Without the function words at its ends."""
    kept = [match for match in _WORD.finditer(phrase) if unaccented(match[0]).casefold() not in _LITTLE]
    return phrase[kept[0].start() : kept[-1].end()] if kept else ""


_WORD = lazy_pattern(r"[\p{L}\p{M}\p{N}]+")
_LITTLE = frozenset().union(*(language.little for language in LANGUAGES))


def _one_word(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    return (
        len(shorter) >= _SHORTEST_STEM
        and longer.startswith(shorter)
        and len(longer) - len(shorter) <= _LONGEST_ENDING
    )


def _instruction(language: Language, statement: str) -> Reading | None:
    orders = language.orders
    text = unaccented(statement)
    if statement.rstrip().endswith("?"):
        return None
    if pattern(language.reported).search(text) or pattern(orders.subject).search(text):
        return None  # a third person's: in some languages it is the same form
    condition = pattern(r"(?:^\W*|[,;:.!]\s*)(?:", orders.opening, ")", orders.condition).search(text)
    main = text[condition.end() :] if condition else text
    reminded = pattern(orders.reminds).match(main)
    refusal = pattern(r"^\W*", orders.opening, rf"(?P<verb>{orders.refusal})").match(main)
    order = pattern(
        r"^\W*", orders.opening, rf"(?:{orders.scope}\s+)?", rf"(?P<verb>{orders.order})(?P<rest>.*)"
    ).match(main)
    wish = pattern(r"^\W*", orders.opening, orders.wish).match(main)
    bare = pattern(orders.infinitive).search(main)
    if not (order or refusal or wish or bare or reminded):
        return None
    if order and _TO_ANOTHER.match(order["rest"]):
        return None  # to somebody else
    begins = order.start("verb") if order else reminded.end() if reminded else 0
    clause = regex.split(_ENDS_CLAUSE, main[begins:], maxsplit=1)[0]
    if content := _CONTENT.search(clause):
        clause = clause[: content.start()]
    ordering = main[:begins] + clause if order else main
    lasts = bool(pattern(orders.lasts).search(ordering))
    form = bool(pattern(orders.form).search(ordering))
    polite = bool(pattern(orders.please).search(main))
    if not (condition or lasts or form or (polite and refusal and refusal.start("verb") >= 0)):
        return None
    if pattern(orders.once).search(ordering) and not condition:
        return None
    topic = ""
    if condition:
        topic = _trimmed(statement[slice(*condition.span("topic"))])
    elif not form:
        offset = len(text) - len(main)
        if scope := pattern(orders.scope).search(main):
            a, b = next(span for span in scope.spans("topic") if span[0] >= 0)
            topic = statement[offset + a : offset + b]
        else:
            after = order.start("rest") if order else refusal.end() if refusal else begins
            topic = _trimmed(first_phrase(statement[offset + after :]))
    given = next(match for match in (order, refusal, wish, bare, reminded) if match)
    verb = given["verb"] if given is order else given[0]
    kept = " ".join(sorted(set(terms(topic)))) if condition else ("" if form else " ".join(terms(clause)))
    return Reading(
        "instruction",
        topic,
        f"{' '.join(terms(verb))} | {kept}",
        frozenset({" ".join(words(ordering))}),
    )


def _areas(language: Language, text: str) -> frozenset[Area]:
    if pattern(language.constraints.passing).search(text):
        return frozenset()
    return frozenset(
        area for areas, piece in language.constraints.stated if pattern(piece).search(text) for area in areas
    )


def _constrained(language: Language, own: str) -> list[Reading]:
    """What constrains somebody who is called by a name; it is called for where a question names them."""
    for match in _NAME_FIRST.finditer(own):
        name = match["name"]
        text = unaccented(own[: match.start("name")] + language.people.stand_in + own[match.end("name") :])
        if unaccented(name).casefold() in language.little or pattern(language.people.no_name).fullmatch(
            unaccented(name)
        ):
            continue
        if _areas(language, text) and not _areas(language, unaccented(own)):
            return [Reading("relation", name, "", frozenset(words(name)))]
    return []


# "Hugo es vegetariano", "und Jannik verträgt keine Milch": not "das Essen ist ..."
_NAME_FIRST = lazy_pattern(
    r"""(?:^\W*|[,;:.!]\s*|\b(?:und|aber|weil|dass|y|pero|que|porque|et|mais|e|mas)\s+)(?P<name>\p{Lu}\p{Ll}+)\s+"""
    r"(?!ist\s+(?:vegan|vegetarisch|blind|taub|laktose)|(?:es|est|é)\s+(?:veg|sin|sans|sem))\p{Ll}"
)


def _facts(language: Language, own: str) -> Iterator[Reading]:
    text = unaccented(own)
    if pattern(language.constraints.passing).search(text):
        return
    facts = language.facts
    areas = _areas(language, text)
    for relation, piece in (
        ("name", facts.name),
        ("live in", facts.home),
        ("work at", facts.employer),
        ("work as", facts.occupation),
        ("be years old", facts.age),
    ):
        if match := pattern(piece).search(text):
            a, b = next(span for span in match.spans("value") if span[0] >= 0)
            value = frozenset(terms(own[a:b]))
            yield Reading("fact", f"{relation} {own[a:b]}", relation, value, areas)
            return


def _leanings(language: Language, own: str) -> Iterator[Reading]:
    """What its speaker likes or dislikes, and has decided on: at most one of each."""
    leanings, text = language.leanings, unaccented(own)
    if pattern(leanings.unsettled).search(text):
        return
    if match := pattern(leanings.favourite).search(text):
        what, value = own[slice(*match.span("what"))], own[slice(*match.span("value"))]
        subject = f"favourite {' '.join(terms(what))}"
        yield Reading("preference", f"{what} {value}", subject, frozenset(terms(value)))
    elif (match := pattern(leanings.liked).search(text)) and (what := _what(language, match, own)):
        yield Reading("preference", what, _about("like", what), _side(language, match))
    if (match := pattern(leanings.decided).search(text)) and (what := _what(language, match, own)):
        yield Reading("decision", what, _about("decide", what), _side(language, match))


def _what(language: Language, match: regex.Match[str], own: str) -> str:
    """Of a match; nothing where it is what was just said: "your idea"."""
    a, b = next(span for span in match.spans("what") if span[0] >= 0)
    if pattern(r"\W*", language.leanings.reaction).match(match.string, a):
        return ""
    return _trimmed(first_phrase(own[a:b]))


def _about(act: str, what: str) -> str:
    """The subject that a later reading of the same would have."""
    return f"{act} {' '.join(terms(telling(what))[:4])}"


def _side(language: Language, match: regex.Match[str]) -> frozenset[str]:
    return frozenset({"against" if pattern(language.leanings.against).search(match[0]) else "for"})


def _relation(language: Language, own: str) -> list[Reading]:
    people = language.people
    match = pattern(
        people.my,
        rf"\s+(?P<kin>{people.kin}),?\s+{people.called}",
        rf"(?P<name>(?!{people.no_name}\b)(?-i:\p{{Lu}}[\p{{Ll}}'-]+(?:\s+\p{{Lu}}[\p{{Ll}}'-]+)?))\b",
    ).search(unaccented(own))
    if match is None or _AND.search(own, match.end("kin"), match.start("name")):
        return []
    kin, name = own[slice(*match.span("kin"))], own[slice(*match.span("name"))]
    low = unaccented(kin).casefold()
    subject = low if low in people.one_at_a_time else f"{low} {name.split()[0].casefold()}"
    return [Reading("relation", f"{kin} {name}", subject, frozenset(words(name)))]
