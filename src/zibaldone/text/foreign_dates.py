"""The dates that a question in German, Spanish, French or Portuguese names, in the words of English.

`dates` reads English. In a question of another language its words for days are put in theirs, and the rest
stays as it is: "Was war zwischen Juli und Oktober?" is read as "Was war between july and october?".
"""

from __future__ import annotations

from collections.abc import Mapping

import regex

from zibaldone.text.date_words import MONTHS, WEEKDAYS
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.unaccented import unaccented

_MONTHS = (
    "januar februar marz april mai juni juli august september oktober november dezember",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
)
_WEEKDAYS = (
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "lunes martes miercoles jueves viernes sabado domingo",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "segunda-feira terca-feira quarta-feira quinta-feira sexta-feira sabado domingo",
)
MONTH_NAMES_ELSEWHERE: Mapping[str, str] = {  # without accents, and in English
    name: english for table in _MONTHS for name, english in zip(table.split(), MONTHS, strict=True)
}
_NAMES: Mapping[str, str] = {
    name: english
    for tables, wanted in ((_MONTHS, MONTHS), (_WEEKDAYS, WEEKDAYS))
    for table in tables
    for name, english in zip(table.split(), wanted, strict=True)
} | {"janner": "january", "feber": "february"}
_NAME = "|".join(sorted(_NAMES, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d\b"
_IN_THE_YEAR = r"im\s+jahre?|en\s+(?:el\s+ano|l'an(?:nee)?)|no\s+ano(?:\s+de)?"
_THE_YEAR = r"(?:dem\s+)?jahre?|el\s+ano|l'an(?:nee)?|o\s+ano(?:\s+de)?"
_DATE = (
    rf"(?:(?:(?:(?:der|den|dem|el|le|o|dia)\s+)?\d{{1,2}}\.?º?(?:er)?\s+(?:de\s+)?)?(?:{_NAME})"
    rf"(?:\s+(?:de\s+)?\d{{4}})?|(?:(?:{_THE_YEAR})\s+)?{_YEAR})"
)
# What binds a time into its question, in front of it.
_BOUND = (
    (rf"\b(?:zwischen|entre)\s+(?=(?:le\s+|el\s+|o\s+)?{_DATE})", "between "),
    (rf"(?<=between\s(?:[^?]{{1,40}}))\b(?:und|y|et|e)\s+(?=(?:le\s+|el\s+|o\s+)?{_DATE})", "and "),
    (rf"\b(?:von|vom|de|desde|du)\s+(?={_DATE}\s+(?:bis|a|hasta|au|ate)\b)", "from "),
    (rf"(?<=from\s(?:[^?]{{1,40}}))\b(?:bis|a|hasta|au|ate)\s+(?={_DATE})", "to "),
    (rf"\b(?:seit|ab|desde|depuis)\s+(?={_DATE})", "since "),
    (rf"\b(?:bis|hasta|jusqu'(?:en|au|a)|ate)\s+(?={_DATE})", "until "),
    (rf"\b(?:vor|antes\s+de|avant|antes\s+do)\s+(?={_DATE})", "before "),
    (rf"\b(?:nach|despues\s+de|apres|depois\s+de)\s+(?={_DATE})", "after "),
    (rf"\b(?:{_IN_THE_YEAR})\s+(?={_YEAR})", "in "),
    (rf"\b(?:{_THE_YEAR})\s+(?={_YEAR})", ""),
    (rf"\b(?:im|in|en|em|au\s+mois\s+de|en\s+el\s+mes\s+de)\s+(?={_DATE})", "in "),
    (rf"(?<=\b(?:ich|wir|habe|haben|war|waren|mir|uns)\s)(?={_YEAR})", "in "),  # German: "war ich 2019"
    (rf"\b(?:am|el|le|no\s+dia)\s+(?=\d{{1,2}}\.?\s+(?:de\s+)?(?:{_NAME}))", "on "),
)
_LAST_WEEK = (
    r"\b(?:(?:letzte|vergangene)\s+woche|la\s+semana\s+pasada|la\s+semaine\s+derniere"
    r"|n?a\s+semana\s+passada)\b"
)
_LAST_MONTH = (
    r"\b(?:(?:letzten|vergangenen)\s+monat|el\s+mes\s+pasado|le\s+mois\s+dernier"
    r"|n?o\s+mes\s+passado)\b"
)
_LAST_YEAR = (
    r"\b(?:(?:letztes|vergangenes)\s+jahr|el\s+ano\s+pasado|l'annee\s+derniere"
    r"|n?o\s+ano\s+passado)\b"
)
_PHRASES = (
    (_LAST_MONTH, "last month"),
    (_LAST_WEEK, "last week"),
    (_LAST_YEAR, "last year"),
    (r"\b(?:gestern|ayer|hier|ontem)\b", "yesterday"),
)
_RULES = tuple((lazy_pattern(piece, regex.IGNORECASE), english) for piece, english in (*_BOUND, *_PHRASES))
_DAY_OF_MONTH = lazy_pattern(rf"\b(\d{{1,2}})(?:\.|º|er)?\s+(?:de\s+)?(?=(?:{_NAME})\b)", regex.IGNORECASE)
_NAMED = lazy_pattern(rf"\b({_NAME})\b(?:\s+de(?=\s+\d{{4}}))?", regex.IGNORECASE)


@remembered(1000)
def with_english_dates(question: str) -> str:
    """A question that is not in English, with its dates in English."""
    text = unaccented(question)
    for rule, english in _RULES:
        text = rule.sub(english, text)
    text = _DAY_OF_MONTH.sub(r"\1 ", text)
    return str(_NAMED.sub(lambda match: _NAMES[match[1].casefold()], text))
