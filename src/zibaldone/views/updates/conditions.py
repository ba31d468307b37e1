"""What somebody is one way or the other: single or with somebody, with work or without, eating meat or not.

No value is given and no word is shared: "I'm single again" ends "I'm married to Dario", since nobody is both.
English, and of the plainest forms German, French and Spanish.
"""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.views.updates.clauses import StatedClause

_FLAGS = regex.VERBOSE  # names are known by their capital letters
_SO = r"(?:(?:just|finally|now|still|also|currently|officially|actually|recently|both|happily|already)\s+)*"
_AM = rf"(?:\b[Ii](?:['’]m|\s+am)|^\W*(?:so\s+|and\s+)?[Ww]e(?:['’]re|\s+are))\s+{_SO}"
_I = rf"\b(?:[Ii]|[Ww]e)(?:['’]ve|\s+have)?\s+{_SO}"
_LASTLY = r"""(?=\W*$|,|\s+(?:(?:again|now|and|but|since|for|at(?!\s+(?:the(?!\s+(?:moment|end))
|an?|my|our)\b)|last|this|yesterday|after|because|so|with|on)\b|in\s+\p{Lu}|a\s+(?:week|month)))"""
_NAMED = r"\p{Lu}\p{Ll}+"
_LOVER = r"(?:boyfriend|girlfriend|husband|wife|fianc[eé]e?|partner|bf|gf)"
_NO_ERRAND = (
    r"(?!\s+(?:about|regarding|from|at|to|in|for\s+(?!\p{N}|a\b|some\b|\p{L}+\s+(?:weeks|months|years)\b)))"
)
_KIN = (
    r"(?:parents?|mum|mom|mother|dad|father|sisters?|brothers?|family|friends?|cousins?|aunt|uncle|grand\p{L}+|sons?"
    r"|daughters?|kids|children|boyfriend|girlfriend|husband|wife|fianc[eé]e?|partner|(?:flat|room|house)mates?|in-laws)"
)
_MEAT = r"(?:meat|chicken|beef|pork|steaks?|ham|bacon|burgers|sausages?|Fleisch|(?:de\s+la\s+)?viande|carne)"
_VEG = r"(?:vegetarian|vegan|pescatarian)"
# Who is one of them is none of the others; not who is so for a week, nor a vegan chef.
_DIETS = rf"""(?:{_AM}(?:an?\s+)?(?:(?:strict|strictly|fully)\s+)?|{_I}been\s+(?:an?\s+)?
|{_I}(?:went|gone|go|turned|became|become)\s+(?:(?:fully|back\s+to|an?)\s+)*|^\W*(?:(?:[Ss]o|[Aa]nd|[Ww]ell|[Yy]eah|[Bb]ut),?\s+){{0,2}}(?=\p{{L}}+\s+(?:now(?!\s+and)|again|these\s+days)\b))(?i:%s)
(?=\W*$|\s*[,;:.!()–—]|\s+(?:now(?!\s+and)|again|these|and|but|or|since|for(?!\s+(?:now|Lent|an?|one|two|three|the|\d+)\b(?!\s+(?:long|years?|decades?)\b))
|because|so|too|as|by|at|though|although|in(?!\s+(?:the|this|my|a)\b)|on|last|until|who|with|myself|btw|lol|actually|anyway|[Ii])\b)
(?!.*\b(?:once|tonight|today|this\s+(?:week|month|evening)|(?:week|month)-?long)\b)"""
_AGAIN = r"(?:(?:à|de)\s+nouveau)"

# Of each condition its two sides: whoever is on one is not on the other.
_SIDES: dict[str, tuple[str, str]] = {
    "partner": (
        rf"""{_AM}(?:married|engaged)(?:\s+to\s+{_NAMED}|(?!\s+(?:in|with)\b){_LASTLY})|{_AM}dating\s+{_NAMED}
        |{_AM}(?:dating|seeing|going\s+out\s+with)\s+(?:someone|somebody|an?\s+(?:guy|girl|woman|man)\b){_NO_ERRAND}
        |{_AM}in\s+a\s+relationship\b|{_I}have\s+an?\s+(?:new\s+)?{_LOVER}\b{_NO_ERRAND}
        |{_I}got\s+(?:married|engaged)(?!\s+(?:in|with)\b){_LASTLY}
        |^\W*[Mm]y\s+{_LOVER},?\s+{_NAMED}(?:,|\s+(?:is|has|works|lives)\b)
        |^\W*[Mm]y\s+{_LOVER}(?:['’]s|\s+is)\s+(?:called\s+)?{_NAMED}\W*$""",
        rf"""{_AM}(?:single|divorced|separated){_LASTLY}
        |\b(?:[Ww]e|(?:{_NAMED}|[Mm]y\s+{_LOVER})\s+and\s+(?:I|me)|(?:I|[Mm]e)\s+and\s+{_NAMED})(?:['’]ve|\s+have)?\s+{_SO}
        (?:(?:broken?|split)\s+up|separated|got(?:ten)?\s+(?:a\s+divorce|divorced|separated)){_LASTLY}
        |{_I}(?:broke|broken|split)\s+up\s+with\s+(?:{_NAMED}|my\s+{_LOVER})
        |(?:{_NAMED}|[Mm]y\s+{_LOVER})\s+{_SO}(?:broke\s+up\s+with|dumped)\s+me{_LASTLY}
        |\b[Ii]ch\s+bin\s+(?:jetzt\s+|wieder\s+)+Single\b|\b[Ww]ir\s+haben\s+uns\s+getrennt\b
        |\b[Jj]e\s+suis\s+{_AGAIN}\s+célibataire\b|\b(?:[Oo]n\s+s['’]est|[Nn]ous\s+nous\s+sommes)\s+séparés\b
        |\b[Ee]stoy\s+(?:de\s+nuevo\s+solter[oa]|solter[oa]\s+otra\s+vez)\b""",
    ),
    "meat": (
        rf"""{_I}eat\s+(?:(?:some|a\s+little)\s+)?{_MEAT}\s+(?:again|now|these\s+days|once\s+more)\b
        |{_I}started\s+eating\s+(?:some\s+)?{_MEAT}(?:\s+again)?{_LASTLY}
        |{_AM}(?:not\s+(?:an?\s+)?{_VEG}\s+any\s?more|no\s+longer\s+(?:an?\s+)?{_VEG})\b
        |\b[Ii]ch\s+esse\s+(?:jetzt\s+)?wieder\s+{_MEAT}
        |\b[Ii]ch\s+bin\s+(?:keine?\s+Vegetarier(?:in)?\s+mehr|nicht\s+mehr\s+ve(?:getarisch|gan))\b
        |\b[Jj]e\s+(?:remange|mange\s+{_AGAIN})\s+{_MEAT}|\b[Jj]e\s+ne\s+suis\s+plus\s+v[eé]g\p{{L}}+
        |\b(?:[Vv]uelvo\s+a\s+comer|(?:[Oo]tra\s+vez|[Dd]e\s+nuevo)\s+como)\s+{_MEAT}|\b[Yy]a\s+no\s+soy\s+veg\p{{L}}+""",
        rf"""{_DIETS % _VEG}
        |\b(?:I|[Ww]e)\s+(?:do\s+not|don['’]?t)\s+eat\s+(?:any\s+)?meat\b
        |\b[Ii]ch\s+(?:bin\s+(?:Vegetarier(?:in)?|vegetarisch|vegan|Veganer(?:in)?)|esse\s+kein\s+Fleisch)\b
        |\b[Jj]e\s+suis\s+v[eé]g(?:étarien(?:ne)?|an|ane)\b|\b[Ss]oy\s+veg(?:etarian[oa]|an[oa])\b""",
    ),
    "fish": (_DIETS % "pescatarian", _DIETS % "(?:vegetarian|vegan)"),
    "milk": (_DIETS % "(?:vegetarian|pescatarian)", _DIETS % "vegan"),
    "work": (
        rf"""{_I}(?:got|found|landed)\s+(?:a|the|my)\s+(?:new\s+|first\s+|dream\s+|full-time\s+|part-time\s+)*job\b
        (?!\s+(?:done|offer|interview|description|posting|title|for\s+(?:my|our|her|him|them|\p{{Lu}})))
        |\b[Ii]\s+{_SO}work\s+(?:at|for|as)\s+(?:an?\s+|the\s+)?\p{{L}}+|{_I}started\s+(?:a|my)\s+new\s+job\b""",
        rf"""{_AM}(?:unemployed|out\s+of\s+work|between\s+jobs|jobless){_LASTLY}
        |\b[Ii]\s+{_SO}lost\s+my\s+job{_LASTLY}
        |\b[Ii](?:\s+was|\s+got|['’]ve\s+been|\s+have\s+been)\s+{_SO}(?:laid\s+off|fired|made\s+redundant){_LASTLY}""",
    ),
    "household": (
        rf"""\b(?:I|[Ww]e)(?:['’](?:m|re))?\s+{_SO}liv(?:e|ing)\s+with\s+(?:(?:(?:my|our)\s+(?:\p{{L}}+\s+)?{_KIN}\b|{_NAMED}\b(?!['’]))
        (?!\s+every\b)|\p{{L}}+\s+(?:flat|room|house)mates?|an?\s+(?:friend|flatmate|roommate))|\bI\s+{_SO}moved\s+in\s+with\s+(?:my|\p{{Lu}})""",
        rf"\b[Ii](?:['’]m)?\s+{_SO}liv(?:e|ing)\s+(?:alone|by\s+myself|on\s+my\s+own)\b(?!\s+(?:with|terms))",
    ),
    "smoking": (
        rf"""\b[Ii]\s+{_SO}smoke(?=\W*$|,|\s+(?:again|about|around|half|a\s+(?:pack|lot|few)|\d|\p{{L}}+\s+(?:cigarettes|packs?)))
        |{_I}started\s+smoking(?:\s+again)?\W*$""",
        rf"""{_I}(?:quit|stopped|gave\s+up|given\s+up)\s+smoking\b(?!\s+(?:meat|fish|salmon|brisket|ribs|weed|pot|cannabis|cigars|in)\b)
        |\b[Ii]\s+(?:do\s+not|don['’]?t|no\s+longer)\s+smoke(?:\s+any\s?more)?\W*$""",
    ),
}
_PATTERNS = {name: tuple(lazy_pattern(side, _FLAGS) for side in sides) for name, sides in _SIDES.items()}
_BY_NAME_OF_WORK = lazy_pattern(r"\bwork\s+(?:at|for|as)\b")
_AND_I = lazy_pattern(r"\W*and\s+I\b")
_WHO = lazy_pattern(
    rf"(?:^|[,;:.]\s+|\b(?:[Ss]o|[Aa]nd|[Bb]ut|[Ss]adly)\s+)(?P<who>{_NAMED}|[Mm]y\s+{_LOVER})\W*$"
)
# Said of no life of one's own: a part in a play, a dream, a joke.
_UNREAL = lazy_pattern(
    r"""\b(?:in\s+(?:the|a|this|my)\s+(?:play|game|novel|story|film|movie|show|dreams?|head)|as\s+a\s+joke|joking|kidding
    |pretend\p{L}*|according\s+to|in\s+theory)\b""",
    regex.VERBOSE | regex.IGNORECASE,
)
_HINT = lazy_pattern(
    r"""\b(?:married|engaged|dating|seeing|going|relationship|boyfriend|girlfriend|husband|wife|fianc\p{L}+|partner|bf|gf|single
    |divorced?|separated|up|dumped|eat|eating|v[eé]g\p{L}+|pescatarian|job|jobs|work|unemployed|jobless|laid|fired|redundant|liv(?:e|ing)
    |moved|smok(?:e|ing)|esse|getrennt|célibataire|séparés|solter[oa]|r?e?mange|comer|como)\b""",
    regex.VERBOSE | regex.IGNORECASE,
)


def condition_of(clause: StatedClause) -> dict[str, int]:
    """By condition the side, 0 or 1, on which a clause says that its speaker is; empty where it says none."""
    if clause.asks or clause.supposes or not _HINT.search(clause.text) or _UNREAL.search(clause.sentence):
        return {}
    text = f"{clause.before} {clause.text}" if beside_me(clause) else clause.text
    matched = {name: [bool(side.search(text)) for side in sides] for name, sides in _PATTERNS.items()}
    return {name: sides.index(True) for name, sides in matched.items() if sum(sides) == 1}


def beside_me(clause: StatedClause) -> str:
    """Who the clause before it names, where this one only goes on: "Dario" of "and I broke up"; else ""."""
    together = _AND_I.match(clause.text) and _WHO.search(clause.before)
    return together["who"] if together else ""


def turned_to(clause: StatedClause) -> dict[str, int]:
    """As `condition_of`, where the clause may end what was: one may work somewhere without a job."""
    sides = condition_of(clause)
    if sides.get("work") == 0 and _BY_NAME_OF_WORK.search(clause.text):
        del sides["work"]
    return sides


def key_of_condition(name: str, side: int) -> str:
    """By which a clause that is on that side is looked up."""
    return f"~{name} {side}"
