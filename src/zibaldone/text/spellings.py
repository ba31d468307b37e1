"""Base forms of English verbs that no stemmer joins: "took" as "take"."""

from __future__ import annotations

from typing import Final

# A verb's base and its forms that no stemmer joins.
_IRREGULAR: Final = {
    form: base
    for base, *forms in map(
        str.split,
        """become became|begin began begun|break broke broken|bring brought|build built|buy bought
        catch caught|choose chose chosen|come came|do does doing done did|draw drew drawn|drink drank drunk
        drive drove driven|eat ate eaten|fall fell fallen|feel felt|fight fought|find found|fly flew flown
        forget forgot forgotten|forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given
        go goes going went gone|grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept
        know knew known|lead led|leave left|lend lent|lose lost|make made making makes|mean meant
        meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran running|sell sold|send sent
        shake shook shaken|shoot shot|show shown|sing sang sung|sit sat|sleep slept|speak spoke spoken
        spend spent|stand stood|steal stole stolen|stick stuck|swim swam swum|take took taken|teach taught
        tear tore torn|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn
        win won|write wrote written""".replace("\n", "|").split("|"),
    )
    for form in forms
}


def base_form(word: str) -> str:
    """Return the base form of an irregular verb in lower case; any other word unchanged."""
    return _IRREGULAR.get(word, word)
