"""What someone says of themselves, told of them by name: "I'm a nurse" -> "Bea is a nurse". English.

Only forms that are beyond doubt are rewritten; for any other sentence there is no rewriting, and the words
are quoted as they stand. "we" and "you" are never rewritten: who is meant is not in the sentence.
"""

from __future__ import annotations

import regex

from zibaldone.text.dated_text import IRREGULAR_PAST
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS

_OTHERS = lazy_pattern(
    r"\b(?:we|us|our|ours|ourselves|you|your|yours|yourself|ya|let['’]s)\b", regex.IGNORECASE
)
_UNSURE = lazy_pattern(r"\b(?:mine|myself|let me|i['’]d)\b", regex.IGNORECASE)
_WOULD = lazy_pattern(r"\bI['’]d(?=\s+(?:love|like|prefer|rather|be|say)\b)")
# With an "I", or opening with what the sentence is about: else its subject may have been left out.
_OPENS = lazy_pattern(r"\bI\b|^(?:My|(?:The|A|An|One|This|That|It|They|He|She)\b.*\b(?:my|me))\b")
_MENTIONS = 2  # of the speaker's name; more is no sentence that anybody would write
_FIRST = lazy_pattern(r"\b(?:I|me|my|im|ive)\b", regex.IGNORECASE)
_QUOTED = lazy_pattern(r"[\"“”«»]|(?<!\w)['‘’]\w")  # somebody else's "I" may stand inside
_ADVERBS = (
    r"(?P<adverbs>(?:(?:\w+ly|just|also|always|still|never|even|now|already|often|once|sometimes)\s+){0,2})"
)
_I = lazy_pattern(rf"\bI\s+{_ADVERBS}(?P<verb>[\w'’]+)")
_AS_IT_IS = frozenset(
    """can could will would should may might must had did can't couldn't won't wouldn't shouldn't hadn't
    didn't cannot wasn't""".split()
)
_CHANGED = {"am": "is", "was": "was", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't"}
_PRESENT = frozenset(
    """believe collect come cook dance enjoy feel find get give go grow hate help hope keep know learn like
    listen live look love make mean miss need own paint plan play prefer practice practise remember run see
    sing speak spend start study swim take teach think travel treasure try use volunteer walk want watch
    wear wish work write""".split()
)
# A second verb of the same subject would have to change too: "I knit and bake". Any bare word may be one.
_AND = lazy_pattern(rf"(?:\b(?:and|or|but|then)|,)\s+{_ADVERBS}(?P<next>[\w'’]+)", regex.IGNORECASE)
_NO_VERB = ("ing", "ed", "s", "ly")
_ENDINGS = ("ss", "sh", "ch", "x", "o", "z")


def third_person(sentence: str, speaker: str) -> str | None:
    """The sentence, told of its speaker by name; None where that cannot be done without doubt."""
    text = _WOULD.sub("I would", sentence)
    if not _OPENS.search(text) or any(one.search(text) for one in (_OTHERS, _UNSURE, _QUOTED)):
        return None
    text = regex.sub(r"\bI['’]m\b", "I am", text)
    text = regex.sub(r"\bI['’]ve\b", "I have", text)
    text = regex.sub(r"\bI['’]ll\b", "I will", text)
    pieces, at = [], 0
    for match in _I.finditer(text):
        verb = _of_third(match["verb"])
        if verb is None or (verb != match["verb"] and _may_go_on(text, match.end())):
            return None
        pieces += [text[at : match.start()], f"{speaker} {match['adverbs']}{verb}"]
        at = match.end()
    text = "".join([*pieces, text[at:]])
    text = regex.sub(r"\bmy\b", f"{speaker}'s", text, flags=regex.IGNORECASE)
    text = regex.sub(r"\bme\b(?!-)", speaker, text)
    if _FIRST.search(text.replace(speaker, "")) or text.count(speaker) - sentence.count(speaker) > _MENTIONS:
        return None
    return text[0].upper() + text[1:]


def _may_go_on(text: str, start: int) -> bool:
    """Whether another verb of the same subject may follow."""
    return any(
        match["next"].lower() not in STOP_WORDS - {"do", "have", "am"}
        and not match["next"].lower().endswith(_NO_VERB)
        and match["next"].islower()
        for match in _AND.finditer(text, start)
    )


def _of_third(verb: str) -> str | None:
    """The verb after "I" as it stands after a name."""
    plain = verb.replace("’", "'")
    if plain in _CHANGED:
        return _CHANGED[plain]
    if plain in _AS_IT_IS or plain in IRREGULAR_PAST or (plain.endswith("ed") and not plain.endswith("eed")):
        return verb
    if plain not in _PRESENT:
        return None
    if plain.endswith("y") and plain[-2] not in "aeiou":
        return plain[:-1] + "ies"
    return plain + ("es" if plain.endswith(_ENDINGS) else "s")
