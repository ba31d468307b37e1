"""The words by which German, Spanish, French and Portuguese say how a question wants to be answered.

Read without accents and in any case. English is in `request`; of other languages all is read as a fact that
is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.unaccented import unaccented

AskedFor = Literal["when", "where", "number"]


@dataclass(frozen=True, slots=True)
class Asking:
    """Patterns of one language, for what English asks with the same names in `request`."""

    of_assistant: regex.Pattern[str]  # of the assistant's own words
    overview: regex.Pattern[str]
    all_of_it: regex.Pattern[str]
    update: regex.Pattern[str]
    advice: regex.Pattern[str]
    looks_back: regex.Pattern[str]  # what was said: no advice, whatever words of it there are


def _pattern(words: str) -> regex.Pattern[str]:
    return lazy_pattern(rf"\b(?:{words})\b", regex.IGNORECASE | regex.VERBOSE)


# Spanish and Portuguese words in "s" that name no things: "que es", "que piensas", "a que horas"
_NO_NOUN = (
    r"(?!(?:es|eres|mas|mais|antes|tienes|tens|quieres|queres|sabes|haces|fazes|dices|dizes|piensas|pensas|"
    r"opinas|achas|crees|recomiendas|recomendas|sugieres|sugeres|puedes|podes|vas|nos|os|las|los|as|das|ves|horas)\b)"
)
GERMAN = Asking(
    of_assistant=_pattern(
        r"""hast\s+du\s+(?:(?!nicht\b)\p{L}+\s+){0,8}?(?:gesagt|vorgeschlagen|empfohlen|geraten|genannt
        |geschrieben|erklart|gegeben|aufgezahlt|erwahnt)
        |(?:du\s+(?:\p{L}+\s+){0,6}?(?:gesagt|vorgeschlagen|empfohlen|geraten|genannt|erklart
        |gegeben)\s+hast|dein(?:e|en|em)?\s+(?:vorschlag|vorschlage|rat|tipp|tipps|antwort|empfehlung
        |empfehlungen))"""
    ),
    overview=_pattern(
        r"""was\s+(?:ist|war)\s+(?:\p{L}+\s+){0,6}?(?:passiert|los|geschehen)
        |was\s+habe?\s+ich\s+(?:\p{L}+\s+){0,5}?(?:gemacht|erzahlt|getan)
        |(?:fass\p{L}*\s+[^.?!]{0,60}?zusammen)|zusammenfassung|uberblick|verlauf
        |in\s+welcher\s+reihenfolge|wie\s+hat\s+sich\s+[^.?!]{0,60}?(?:entwickelt|verandert)"""
    ),
    all_of_it=_pattern(r"wie\s?viele|welche\s+\p{L}+(?:en|er|s)|alle[srn]?|samtliche|liste|insgesamt|beide"),
    update=_pattern(
        r"jetzt|inzwischen|mittlerweile|aktuell\p{L}*|derzeit|momentan|zurzeit|noch|neueste[rnsm]?"
    ),
    advice=_pattern(
        r"""soll(?:te)?n?\s+(?:ich|wir)|(?:kann|darf)\s+ich|(?:konnen|durfen)\s+wir|was\s+(?:kann|konnte)
        |empfiehl|empfehl\p{L}*|schlag\p{L}*|vorschlag\p{L}*|ideen?|tipps?|rat(?:e|en|schlag\p{L}*)?
        |gib|suche?n?|planen?|buchen?|bestellen?|kochen?|backen?|(?:plan|buch|bestell|koch|back)\s+(?:mir|uns)
        |welche[srn]?\s+\p{L}+\s+(?:ware|passt)|hilf|rezept\p{L}*|wo\s+kann|schreib\p{L}*|entwirf
        |erklar\p{L}*"""
    ),
    looks_back=_pattern(
        r"""habe?n?\s+(?:ich|wir)|hast\s+du|haben\s+sie|hatte(?:st)?|hab\s+ich|was\s+war|wann\s+(?:war
        |habe?)|wie\s+viele?|du\s+[^.?!]{0,60}\s+hast"""
    ),
)
SPANISH = Asking(
    of_assistant=_pattern(
        r"""me\s+(?:diste|dijiste|recomendaste|sugeriste|aconsejaste|propusiste|explicaste|contaste)
        |(?:que|cual|cuanto)\s+(?:\p{L}+\s+){0,3}?(?:dijiste|recomendaste|sugeriste|propusiste)
        |tus?\s+(?:consejos?|sugerencias?|propuestas?|respuestas?|recomendaci\p{L}+)"""
    ),
    overview=_pattern(
        r"""que\s+(?:ha\s+)?(?:paso|pasado|sucedio|ocurrio)|que\s+(?:hice|he\s+hecho|te\s+conte)
        |resum\p{L}*|en\s+que\s+orden|cronolog\p{L}*|como\s+(?:ha\s+)?(?:evoluciono|evolucionado
        |cambiado)"""
    ),
    all_of_it=_pattern(rf"cuant[oa]s|tod[oa]s|lista|que\s+{_NO_NOUN}\p{{L}}+s|cuales|en\s+total|amb[oa]s"),
    update=_pattern(
        r"ahora|actualmente|actual|hoy\s+en\s+dia|todavia|aun|sigo|en\s+este\s+momento|ultim[oa]"
    ),
    advice=_pattern(
        r"""recomiend\p{L}*|sugier\p{L}*|ideas?|consej\p{L}*|que\s+(?:\p{L}+\s+)?(?:puedo|podemos|podria
        |deberia|hago|cocino|preparo)|puedo|podemos|deberia|dame|pasame|damos|busca\p{L}*|planea\p{L}*
        |planifica\p{L}*|(?<!\b(?:la|mi|una|de|a|minha|uma|da)\s)reserva\p{L}*
        |prepara\p{L}*|ayudame|me\s+conviene|seria\s+(?:bueno|mejor)|escribe\p{L}*|explica\p{L}*"""
    ),
    looks_back=_pattern(
        r"""me\s+(?:diste|dijiste|recomendaste|sugeriste|aconsejaste|propusiste)|te\s+(?:dije|conte
        |pregunte)|que\s+(?:hice|dije|paso)|cuant[oa]s?|cuando\s+(?:fue|era)|he\s+(?:dicho|contado)"""
    ),
)
FRENCH = Asking(
    of_assistant=_pattern(
        r"""tu\s+(?:m'|m')?\s?(?:as|avais)\s+(?:\p{L}+\s+){0,2}?(?:dit|propose|recommande|conseille
        |suggere|donne|explique|cite)|m'as-tu\s+(?:dit|propose|recommande|conseille|donne)|as-tu\s+(?:dit
        |propose|recommande|conseille|suggere|donne)|tes\s+(?:conseils?|suggestions?|propositions?
        |reponses?)"""
    ),
    overview=_pattern(
        r"""que\s+s'est-il\s+passe|qu'est-ce\s+qui\s+s'est\s+passe|qu'est-ce\s+que\s+j'ai\s+(?:fait
        |raconte)|qu'ai-je\s+fait|resum\p{L}*|dans\s+quel\s+ordre|chronolog\p{L}*|comment\s+a\s+(?:evolue
        |change)"""
    ),
    all_of_it=_pattern(r"combien\s+d\p{L}*|tous|toutes|liste|quel(?:le)?s\s+\p{L}+|au\s+total|les\s+deux"),
    update=_pattern(
        r"""maintenant|actuellement|actuel(?:le)?|desormais|en\s+ce\s+moment|encore|aujourd'hui|dernier
        |derniere"""
    ),
    advice=_pattern(
        r"""recommand\p{L}*|sugger\p{L}*|(?<!\ba\s)propos\p{L}*|idees?|conseil\p{L}*|que\s+(?:puis|peut|faire
        |cuisiner|manger|prendre)|puis-je|je\s+peux|on\s+peut|dois-je|donne\p{L}*|trouve\p{L}*
        |planifie\p{L}*|reserve\p{L}*|prepare\p{L}*|aide\p{L}*
        |quel(?:le)?\s+\p{L}+\s+(?:prendre|choisir)|ecris\p{L}*|explique\p{L}*"""
    ),
    looks_back=_pattern(
        r"tu\s+(?:m'\s?)?as|m'as-tu|as-tu|j'ai\s+(?:dit|fait)|ai-je|combien|quand\s+(?:etait|ai)"
    ),
)
PORTUGUESE = Asking(
    of_assistant=_pattern(
        r"""me\s+(?:deste|disse|disseste|deu|recomendaste|recomendou|sugeriste|sugeriu|aconselhaste
        |aconselhou|explicaste|explicou)|(?:que|qual)\s+(?:\p{L}+\s+){0,3}?(?:disseste|sugeriste
        |recomendaste)|(?:teus?|tuas?|seus?|suas?)\s+(?:conselhos?|sugest\p{L}+|respostas?
        |recomendac\p{L}+)"""
    ),
    overview=_pattern(
        r"""o\s+que\s+(?:e\s+que\s+)?(?:aconteceu|se\s+passou)|o\s+que\s+(?:e\s+que\s+)?(?:eu\s+)?fiz
        |resum\p{L}*|em\s+que\s+ordem|cronolog\p{L}*|como\s+(?:evoluiu|mudou)"""
    ),
    all_of_it=_pattern(rf"quant[oa]s|tod[oa]s|lista|que\s+{_NO_NOUN}\p{{L}}+s|quais|no\s+total|amb[oa]s"),
    update=_pattern(r"agora|atualmente|atual|neste\s+momento|hoje\s+em\s+dia|ainda|continuo|ultim[oa]"),
    advice=_pattern(
        r"""recomend[ae]\p{L}*|sug[ei]r\p{L}*|ideias?|conselh\p{L}*|o\s+que\s+(?:posso|podemos|devo
        |cozinho|faco)|posso|podemos|devo|da-me|me\s+de|procura\p{L}*|planeia\p{L}*|planeja\p{L}*
        |(?<!\b(?:la|mi|una|de|a|minha|uma|da)\s)reserva\p{L}*|prepara\p{L}*|ajuda\p{L}*|escrev\p{L}*|explica\p{L}*"""
    ),
    looks_back=_pattern(
        r"""me\s+(?:deste|disse|disseste|deu)|que\s+(?:deste|disseste|eu\s+disse)|quant[oa]s?
        |quando\s+(?:foi|era)"""
    ),
)
# What a question word asks for, in all of them.
_ASKED_FOR: dict[AskedFor, regex.Pattern[str]] = {
    "when": _pattern(
        r"""wann|seit\s+wann|wie\s+lange|welche[rsnm]?\s+(?:tag|datum|monat|jahr|uhrzeit)|cuando
        |que\s+(?:dia|fecha|mes|ano)|cuanto\s+tiempo|quand
        |quel(?:le)?\s+(?:jour|date|mois|annee|heure)|combien\s+de\s+temps|quando|que\s+data|quanto\s+tempo"""
    ),
    "where": _pattern(r"""wo|wohin|woher|a?donde|d'?ou|onde|aonde|quelle\s+ville|que\s+(?:ciudad|cidade)
        |welche[rnm]?\s+(?:stadt|ort|land)"""),
    "number": _pattern(
        r"""wie\s?viele?|wie\s+(?:hoch|alt|gross|lange|oft|weit)|cuant[oa]s?|combien|quant[oa]s?
        |quel\s+(?:age|prix)"""
    ),
}
LANGUAGES = (GERMAN, SPANISH, FRENCH, PORTUGUESE)


def asks_elsewhere(what: AskedFor, question: str) -> bool:
    """Whether a question that is not in English asks for a time, a place or a number."""
    return bool(_ASKED_FOR[what].search(unaccented(question)))


def wants_advice(question: str) -> bool:
    """Whether it wants new words, and not what was said."""
    text = unaccented(question)
    return any(asking.advice.search(text) and not asking.looks_back.search(text) for asking in LANGUAGES)
