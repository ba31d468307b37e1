"""Clauses of a first person that its speaker does not state of themselves: reported, supposed, made up.

English; `languages` have patterns of whole statements. What governs a clause stands in front of it, and of
what is joined to it by "and": "she says I'm vain and I hate mirrors". A "but" or a full stop ends that; a
comma ends a condition ("if it helps, I live in Tromsø"). What a doctor says of somebody they believe.
"""

from __future__ import annotations

from zibaldone.text.patterns import lazy_pattern
from zibaldone.views.profile.clauses import FLAGS

_MADE = r"""(?:stor(?:y|ies)|novels?|novella|tales?|books?|poems?|haiku|limerick|sonnet|songs?|lyrics?
|verse|riddles?
|jokes?|anecdotes?|fable|legend|essay|sketch|skit|(?:school\s+)?play|drama|film|movie|episode|musical
|script|screenplay
|scene|monologue|dialogue|role-?play|(?:video\s+|board\s+)?game|campaign|chorus|fanfic|comic|sitcom|opera)"""
_WRITTEN = rf"""(?:{_MADE}|speech|toast|tagline|slogan|motto|caption|tweet|bio|profile|horoscope|quiz|sign
|poster|template
|(?:system\s+)?prompt|mantra|affirmations?|testimonial|translation|(?:cover\s+)?letter|e-?mail|sentences?
|phrases?|quotes?)"""
_WRITERS = r"""(?:character|narrator|hero(?:ine)?|protagonist|villain|speaker|author|singer|poet|actor
|avatar|persona
|bot|chatbot|app|robot)"""
_SAYING = r"""(?:says?|said|saying|tells?|told|telling|thinks?|thought|thinking|claims?|claimed|claiming
|believes?|believed
|reckons?|reckoned|swears?|swore|insists?|insisted|jokes?|joked|writes?|wrote|reads?|states?|stated
|suggests?|suggested|implies|implied|assumes?|assumed|accused?|pretends?|pretended|shouts?|shouted
|whispers?|whispered|sings?|goes|argues?|argued|guess(?:es|ed)|complains?|complained|teases?|teased
|keeps?\s+(?:saying|telling)|keep\s+(?:saying|telling))"""
_DOCTOR = r"""(?:doctors?|gp|physician|dentist|nurse|midwife|cardiologist|dermatologist|allergist
|neurologist|specialist
|consultant|optician|psychiatrist|pa?ediatrician|vet|surgeon|tests?\s+(?:show|confirm)\p{L}*|hospital
|clinic)"""
_WITH_WHOM = (
    r"(?:\s+(?:me|us|him|her|them|you|everyone|everybody|people|my\s+\p{L}+|his\s+\p{L}+|the\s+\p{L}+))?"
)
# Somebody's words; a first person's are their own ("I said I hate it", "as I told you").
_REPORT = lazy_pattern(
    rf"""(?:(?<!\b(?:I|we|as)(?:['’](?:ve|d|ll))?(?:\s+\p{{L}}+)?)\s(?P<saying>{_SAYING}){_WITH_WHOM}(?:\s+that)?(?=\s+(?:I|we|my|our)\b)
    |\baccording\s+to\s+(?!my\s+{_DOCTOR})(?:(?:my|the|this|that|his|her|our|some)\s+)?\p{{L}}+,?
    |\bI\s+(?:once\s+|always\s+)?(?:thought|believed|assumed|imagined|dreamt|dreamed|was\s+(?:told
|convinced)|pretend(?:ed)?|claimed|lied)\b
    |\b(?:(?:could|might)(?:\s+have)?|(?:would|['’]d)\s+have)\s+(?:say|said|claimed?|told
|tell){_WITH_WHOM}(?:\s+that)?(?=\s+(?:I|we|my|our)\b)
    |\b(?:if|when|because)\s+(?:I|you)\s+(?:told|said|say|tell|wrote)\b
    |\b(?:not|n['’]t)\s+(?:like|that|as\s+(?:if|though)|because|mean\s+that|say\s+that
|saying\s+that)(?=\s+(?:I|we)\b)
    |\b(?:feels?|felt|feeling|seems?|seemed|looks?|looked|sounds?|sounded|acts?|acting)\s+(?:like
|as\s+(?:if|though))(?=\s+(?:I|we)\b)
    |\b(?:that|which|people\s+who)\s+(?:says?|saying|reads?|states?|mentions?)\s+(?:that\s+)?)""",
    FLAGS,
)
_BELIEVED = lazy_pattern(
    rf"\b{_DOCTOR}(?:\s+(?:just|also|now|finally|then|always|has|have|who\s+\p{{L}}+))*$", FLAGS
)
_END_OF_REPORT = lazy_pattern(
    r"""[;!?–—]|\.(?!\p{N})|,?\s+\b(?:but|yet|although|though|except|however|anyway|actually|so|because|since)\b
    |,\s+and\s+(?=(?:I|we)\b)|,\s+(?=(?:I|we)(?:['’]\p{L}+)?\s+(?:really|do|actually|am|honestly|guess)\b)""",
    FLAGS,
)
_CONDITION = lazy_pattern(
    r"""\b(?:if|unless|whether|suppos(?:e|ing)|assum(?:e|ing)|provided|providing|imagin(?:e|ing)|pretend(?:ing)?
    |let['’]?s\s+(?:say|pretend|imagine|assume|suppose)|what\s+if|in\s+case|as\s+(?:if|though)
|say(?=\s+(?:I|we)\s+(?:have|had|live|am|buy|get))
    |hypothetically(?:\s+speaking)?,?|by\s+the\s+time|until|lest)(?=\W)""",
    FLAGS,
)
_END_OF_CONDITION = lazy_pattern(r"[,;!?–—]|\.(?!\p{N})|\b(?:but|then)\b", FLAGS)
_SPOKEN_OF = lazy_pattern(
    r"^\W*(?:suppos|assum|imagin|pretend|let['’]?s\s|what\s+if|say\b|hypothetical)", FLAGS
)
# A text, a dream or a part that somebody plays, and what is said there.
_MADE_UP = lazy_pattern(
    rf"""(?:^\W*|[,;]\s*|\b(?:and|but|so|because|that)\s+)in\s+(?:my|the|an?|this|that|his|her|our|one)\s+
    (?:[\p{{L}}\p{{N}}'’-]+\s+){{0,3}}?{_MADE}\b[^.;!?:]*?(?<=,|\b{_MADE}|\bwriting)\s+(?:I|we|my|our)(?=['’\s])
    |\bin\s+(?:my|a|the|his|her)\s+(?:dreams?|nightmare|fantasy|imagination|last\s+life|past\s+life
|previous\s+life)\b""",
    FLAGS,
)
_PLAYED = r"""\b(?:play(?:s|ed|ing)?|act(?:s|ed|ing)?\s+as|pretend\p{L}*|dress(?:ed)?\s+up\s+as)\s+(?:an?
|the)\s+\p{L}+"""
# "the poem goes:", "translate:", "a sign that says:", and then it is that text
_INTRODUCES = lazy_pattern(
    rf"""(?:(?:^\W*|\b(?:please|you|and|then|also|to)\s+)(?:write|draft|compose|translate|proofread|rewrite|rephrase|paraphrase
    |reword|edit|polish|repeat|recite|sing|type|quote|practi[cs]e)\b
    |(?<!\b(?:I|we|I['’]ve|as)(?:\s+\p{{L}}+)?\s)\b(?:says?|said|reads?|goes|begins?|starts?|opens?|repeat
|titled|called|along\s+the\s+lines\s+of)\b
    |\b(?:{_WRITTEN}|{_WRITERS})\b|{_PLAYED})[^:.!?;]*:(?=\s)|\bsuch\s+as:?""",
    FLAGS,
)
_OWN_LEAD = lazy_pattern(
    r"^\W*(?:(?:please|also|and|so)\W+)*(?:note|remember|important|fyi|context|background|about\s+me)\b",
    FLAGS,
)
# A decision that is asked about was made: "I wonder if my decision to decline was right".
_PRONOUN = lazy_pattern(
    r"(?<![\p{L}_'’])(?:I|we|(?:my|our)(?!\s+(?:final\s+)?(?:decision|preference)\b)|me|us)(?![\p{L}_])",
    FLAGS,
)


def stated(sentence: str) -> str:
    """As long as it was; the first persons of clauses that its speaker does not state are left out."""
    kept = _without_first_persons(sentence, *_span_of_text(sentence))
    if _MADE_UP.search(sentence):
        return _without_first_persons(kept, 0, len(sentence))
    for match in _REPORT.finditer(sentence):
        if match["saying"] and _BELIEVED.search(sentence[: match.start("saying")].rstrip()):
            continue
        end = _END_OF_REPORT.search(sentence, match.end())
        kept = _without_first_persons(kept, match.end(), end.start() if end else len(sentence))
    for match in _CONDITION.finditer(sentence):
        # What is supposed at the outset holds for all that is joined to it.
        ends = _END_OF_REPORT if _SPOKEN_OF.match(sentence) and match.start() <= 2 else _END_OF_CONDITION
        end = ends.search(sentence, match.end())
        kept = _without_first_persons(kept, match.end(), end.start() if end else len(sentence))
    return kept


def outside_texts(sentence: str) -> str:
    """Up to where it goes over into a text that somebody wrote or is to write."""
    return sentence[: _span_of_text(sentence)[0]]


def _span_of_text(sentence: str) -> tuple[int, int]:
    introduced = _INTRODUCES.search(sentence)
    if introduced is None or _OWN_LEAD.match(sentence):
        return len(sentence), len(sentence)
    return introduced.end(), len(sentence)


def _without_first_persons(sentence: str, start: int, end: int) -> str:
    inside = _PRONOUN.sub(lambda match: "_" * len(match.group()), sentence[start:end])
    return sentence[:start] + inside + sentence[end:]
