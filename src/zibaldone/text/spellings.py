"""Normalised English spellings: "gonna" as "going to", "took" as "take"."""

from __future__ import annotations

from typing import Final

import regex

from zibaldone.text.patterns import late

# Colloquial words, and what they stand for. Both sides of a comparison are spelled alike.
_SHORT: Final = dict(
    pair.split("=")
    for line in (
        "gonna=going to|wanna=want to|gotta=got to|kinda=kind of|sorta=sort of|cuz=because|fav=favorite",
        "fave=favorite|faves=favorites|fam=family|edu=education|comp=competition|comps=competitions",
        "biz=business|pic=picture|pics=pictures|photo=picture|photos=pictures|photograph=picture",
        "photography=picture|info=information|bday=birthday|mom=mother|mum=mother|dad=father",
        "grandma=grandmother|grandpa=grandfather|apt=apartment|convo=conversation|rec=recommendation",
        "recs=recommendations|mon=monday|tue=tuesday|tues=tuesday|thu=thursday|thurs=thursday|fri=friday",
        "cannot=can not|dr=doctor|prof=professor|bf=boyfriend|gf=girlfriend|hubby=husband",
        "granny=grandmother|granddad=grandfather|mommy=mother|mummy=mother|daddy=father|sis=sister",
        "bro=brother|appt=appointment|dept=department|uni=university|tel=telephone|phone=telephone",
        "tmrw=tomorrow|wknd=weekend|hr=hour|hrs=hours|mins=minutes|yrs=years|k8s=kubernetes",
        "postgres=postgresql|repo=repository|config=configuration|auth=authentication",
    )
    for pair in line.split("|")
)
_SHORT_WORD = late(rf"\b(?:{'|'.join(_SHORT)})\b", regex.IGNORECASE)
# What says that something is not sure: a statement with it says less. The month is written "May".
_UNSURE = late(
    r"\b(?:might|maybe|perhaps|possibly)\b"
    r"|(?<!\b(?:in|of|on|by|since|until|last|next|this|early|late) )\bmay\b(?! \d)"
)
_BRITISH = late(r"\b(colo|favo|humo|neighbo|labo|hono|behavio|flavo|rumo)u(r)", regex.IGNORECASE)

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

# Simple past forms, which never stand after "did not"; participles among them do no harm.
PAST_FORMS: Final = tuple(form for form in _IRREGULAR if not form.endswith(("ing", "s")) and form != "shot")


def spelled(text: str) -> str:
    """Write out shortened words, use American spelling, and drop "may" and "perhaps"."""
    text = _SHORT_WORD.sub(lambda short: _SHORT[short[0].lower()], _UNSURE.sub("", text))
    return _BRITISH.sub(r"\1\2", text)


def base_form(word: str) -> str:
    """Return the base form of an irregular verb in lower case; any other word unchanged."""
    return _IRREGULAR.get(word, word)
