"""What a sentence states: its clauses, with the values that they give and the words that say of what.

Offline, and English. A clause that asks or supposes states nothing; what is said after "since", "now that" or
"considering" is stated even inside a question, since it is taken for granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from zibaldone.text.date_words import MONTHS, SHORT_MONTHS, WEEKDAYS
from zibaldone.text.foreign_dates import MONTH_NAMES_ELSEWHERE
from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.sentences import sentences
from zibaldone.text.unaccented import unaccented
from zibaldone.text.words import (
    FOREIGN_FUNCTION_WORDS,
    STOP_WORDS,
    has_foreign_function_words,
    term_of,
    words,
)

_LONGEST_SENTENCE = 600  # characters; beyond, it is a table, a log or code
_MOST_SENTENCES = 40  # of one message that are read

# Formulas, code and tables state nothing of the kind.
_FORMULA = lazy_pattern(r"[=^²³√∑∫∂π≡≠≤≥{}\\\\|<>`_]|\bmod\s\d|\*\*|\d\s*[×*/]\s*\d|\w\(\w")

_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty""".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "hundred": "100"}
_ORDINAL_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1
    )
}
_ARTICLES = {"a": "1", "an": "1"}  # "an hour"
_LARGE = {"k": "000", "thousand": "000", "million": "000000", "m": "000000", "billion": "000000000"}
_MONEY = frozenset("dollar dollars euro euros pound pounds usd eur gbp bucks".split())
_MEASURES = frozenset(
    """ms s sec second seconds minute minutes min mins hour hours hr hrs h day days night nights week
    weeks month months year years km kilometer kilometers kilometre kilometres m meter meters mile
    miles cm mm kg kilo kilos kilogram kilograms g gram grams mg lb lbs pound pounds liter liters
    litre litres ml mbit gbit mb gb tb degrees degree points point steps calories kcal page pages
    word words""".split()
)
_NO_UNITS = frozenset("last next this now today tomorrow yesterday instead again".split())
_NO_UNITS_ELSEWHERE = frozenset("statt anstatt en em au und y et e zwei".split())
_MONTH = "|".join((*MONTHS, *SHORT_MONTHS))
_DAY = lazy_pattern(
    rf"""\b(?:(?P<weekday>{"|".join(WEEKDAYS)})s?
    |(?:the\s+)?(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<m1>{_MONTH})\b\.?(?:,?\s+(?P<y1>\d{{4}}))?
    |(?P<m2>{_MONTH})\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:])(?:\s*[-–]\s*\d{{1,2}})?(?:,?\s+(?P<y2>\d{{4}}))?
    |(?<=\b(?:in|until|till|to|by|from|is|not|before)\s+(?:(?:early|mid|late)[\s-]+)?)(?P<m3>{_MONTH})(?:\s+(?P<y3>\d{{4}}))?
    |the\s+(?P<d4>\d{{1,2}})(?:st|nd|rd|th)\b)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_CLOCK = lazy_pattern(
    r"""\b(?P<h>\d{1,2})[:.](?P<m>[0-5]\d)(?!\d|[.,]?\d|\s?(?:%|ms|km|kg|kilos|g|million|k)\b)\s*(?P<ap>[ap]\.?m\b\.?)?
    |\b(?P<h2>\d{1,2})\s*(?P<ap2>[ap]\.?m\b\.?)
    |(?<=\b(?:at|until|till|by)\s)(?P<h3>1?\d|2[0-4]|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|noon)
      (?=\s*(?:$|[.,;!?)]|\s(?:on|in|and|or|sharp|now|then|instead|today|tonight|tomorrow)\b|\so'clock))""",
    regex.IGNORECASE | regex.VERBOSE,
)
_TIME_FOLLOWS = lazy_pattern(r"\b(?:at|from|until|till|around)\s+$", regex.IGNORECASE)
_AMOUNT = lazy_pattern(
    r"""(?<![\p{L}\p{N}.])(?P<sign>[$€£]\s?)?(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<large>\s?(?:k|m|thousand|million|billion)\b)?
    (?P<percent>\s?(?:%|percent\b|per\s+cent\b))?(?P<after>(?:[\s-](?:of\s+(?:the|my|our)\s+)?\p{L}[\p{L}-]*){0,3})""",
    regex.VERBOSE | regex.IGNORECASE,
)
_SPELT_WORDS = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_SPELT = lazy_pattern(
    rf"(?<![\p{{L}}-])(?P<digits>an?(?=\s(?:hour|minute|week|month)\b)|{_SPELT_WORDS}"
    rf"|(?:{'|'.join(_ORDINAL_WORDS)})(?=\s+grade))"
    r"(?P<large>\s(?:hundred|thousand|million|billion)\b)?(?P<percent>\s?percent\b)?"
    r"(?P<after>(?:[\s-](?:of\s+(?:the|my|our)\s+)?\p{L}[\p{L}-]*){0,3})(?![\p{L}])",
    regex.IGNORECASE,
)
_NOUN_BEFORE = lazy_pattern(
    r"\b(season|episode|chapter|platform|version|level|grade|room|page|gate|phase|round|stage|step|floor)\s+$",
    regex.I,
)
_OF_THE = lazy_pattern(r"\sof\s+(?:the|my|our)\b", regex.I)
_ADDRESS = lazy_pattern(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = lazy_pattern(r"(?<!\w)\+?\d{2,4}(?:[-\s/]\d{2,4}){1,4}(?!\w)")
_NAME = lazy_pattern(
    r"\p{Lu}[\p{L}\p{M}\p{N}'’.]*(?:[ -](?:(?:of|de|von|van|the)[ -])?[\p{Lu}\p{N}][\p{L}\p{M}\p{N}'’]*)*"
)
# A name that ends in a number ("Postgres 16"): not one of what follows it.
_NUMBERED = lazy_pattern(
    rf"""(?<=\S\s)(?!(?i:{_MONTH}|{"|".join(WEEKDAYS)})\b)\p{{Lu}}\p{{L}}+\s\d+(?:\.\d+)*
    (?=\W*$|[,;!?]|\s(?:and|or|with|in|on|at|for|from|to|now|last|because|since|which|that|instead|is)\b)""",
    regex.VERBOSE,
)
_CODE = lazy_pattern(r"(?<!\w)(?=\w*\d)(?=\w*\p{Ll}{3})\w{6,}(?!\w)")  # a password
_TITLES = lazy_pattern(r"\b(?:Dr|Mr|Mrs|Ms|Prof)\.?\s+")
_WORD = lazy_pattern(r"[\p{L}\p{M}\p{N}]+")
_NOT_THAT = lazy_pattern(
    r"(?<=\w\w),\s+(?:no|not|never|without)\b[^,]*$", regex.IGNORECASE
)  # "two sugars, no milk"
_SHORT_NOT = lazy_pattern(r"(?<=\p{L})n['’]t\b", regex.IGNORECASE)

_STARTS = (
    r"(?:i|we|it|they|he|she|you|my|our|can|could|should|would|will|do|does|did|is|are|what|how|which|why|who|where"
    r"|when|let|please|so|and|but|or|because|since|as|while|although|though|if|now\s+that|considering|especially"
    r"|given)"
)
_FINITE = (
    r"(?:(?:is|are|was|were|has|have|had|will|can|could|do|does|did)(?:n['’]t)?|needs?|wants?|works?|says?|said|got|starts?|goes|takes?"
    r"|costs?|leaves?|closes?|opens?|seems?|broke|died)\b"
)
_BORDER = lazy_pattern(
    rf",\s+(?=(?:the|that|this|his|her|their)\s+(?:[\p{{L}}-]+\s+){{0,3}}?{_FINITE})|,\s+(?=(?-i:\p{{Lu}})\p{{L}}+\s+{_FINITE})|\s*(?:[;—–]|\s-\s|\.\.\.|…)\s*|:\s+(?=(?:the|my|our|it|i|we|they)\b)|\s+(?=and\s+(?:i|we|my|our|it|they|he|she)\b)|,\s+(?={_STARTS}\b)|\s+(?=(?:but|although|though|whereas|while|because|since|now\s+that|given\s+that|so|which)\s)",
    regex.IGNORECASE,
)
_ASKS = lazy_pattern(
    r"""(?:and|so|but|or|hey|hi|ok|okay|also|then)?,?\s*(?:what|how|which|why|who|whom|whose|where|when|can|could|should|would|will|do
    |does|did|is|are|am|was|were|has|have|any|shall|may)(?:['’]s|n['’]t)?\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ASKS_ON = lazy_pattern(
    r"(?:and|so|but|or)?\s*(?:what|how|why|can|could|should|would|will|do|does|did|is|are|any|shall)(?:['’]s|n['’]t)?\b",
    regex.I,
)
_AHEAD = lazy_pattern(r"\s*(?:since|because|after|due\s+to|now\s+that|given|thanks\s+to)\b", regex.I)
_GRANTED = lazy_pattern(r"(?:since|now\s+that|because|considering|given\s+that)\b", regex.IGNORECASE)
# "It's at nine now, I think" and "it's at nine now I think" are the same.
_SUPPOSED = lazy_pattern(
    r"""\b(?:if|i\s+(?:think|guess)(?!\W*$)|would|could|should|might|maybe|perhaps|wish|wishing|hope|hoping|suppose|imagine|unless|whether|ever
    |(?:want|wants|wanted|plan|plans|planning|hoping|trying|need|needs|like|love)\s+to\s+(?:get|be|go|have|move|become|cut|reduce|increase|change|switch|push|extend)
    |rumou?r|kidding|joking|jk|dream(?:ed|t|ing)?|pretend)\b|['’]d\b(?!\s+rather)""",
    regex.IGNORECASE | regex.VERBOSE,
)
_SUPPOSED_ON = lazy_pattern(r"\W*(?:if|suppose|imagine|what\s+if|when\s+i)\b", regex.IGNORECASE)
_LEANS = lazy_pattern(
    r"(?:and\s+|but\s+|so\s+|which\s+)?(?:it|they|that|this|he|she|which)\b", regex.IGNORECASE
)
_OWN = lazy_pattern(r"\b(?:i|we|me|us|my|our|mine|ours|i['’]m|i['’]ve|we['’]re)\b", regex.IGNORECASE)
_NOT = frozenset(
    "not never no nor neither none nothing without cannot dont doesnt didnt isnt wasnt havent cant".split()
)
# Of German, Spanish, French and Portuguese.
_NOT_ELSEWHERE = frozenset(
    "nicht kein keine keinen keiner nie niemals nunca jamás ni ne pas jamais sans não sem".split()
)
_ALSO_ELSEWHERE = lazy_pattern(
    r"\b(?:auch|zusätzlich|außerdem|noch\s+eine?n?|también|además|otr[oa]|aussi|en\s+plus|encore\s+une?|também|além|outr[oa])\b",
    regex.I,
)
_PAST_ELSEWHERE = lazy_pattern(
    r"\b(?:war|waren|hatten?|gestern|früher|damals|era|eran|fue|fueron|ayer|antes|était|étaient|hier|avant|foi|foram|ontem)\b",
    regex.I,
)
_SUPPOSED_ELSEWHERE = lazy_pattern(
    r"""\b(?:wenn|falls|würden?|könnten?|vielleicht|wären?|hätten?|hoffe\p{L}*|möchten?|glaube|wünsch\p{L}*|quizás?|podría\p{L}*
    |quisiera|ojalá|creo|sería|peut-être|pourrait|voudrais|serait|crois|talvez|poderia|gostaria|acho|seria)\b""",
    regex.I | regex.VERBOSE,
)
_MONTHS_ELSEWHERE = "|".join(sorted(MONTH_NAMES_ELSEWHERE, key=len, reverse=True))
_DAY_ELSEWHERE = lazy_pattern(
    rf"""\b(?P<d>\d{{1,2}})(?:\.|er)?\s+(?:de\s+)?(?P<m1>{_MONTHS_ELSEWHERE})\b
    |(?<=\b(?:im|in|auf|bis|ab|en|a|hasta|au|jusqu'en|em|para|ate|desde|de)\s+(?:den\s+)?)(?P<m2>{_MONTHS_ELSEWHERE})\b(?P<d>)?""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ALSO = lazy_pattern(
    r"\b(?:also|too(?=\W*$|\s*[,.;])|as\s+well|additionally|another|a\s+second|besides|on\s+top)\b", regex.I
)
_PAST = lazy_pattern(
    r"""\b(?:was|were|had(?!\s+to\b)|used\s+to|yesterday|ago|last\s+(?:week|month|year|night|time|term|summer|winter|spring|fall
    |monday|tuesday|wednesday|thursday|friday|saturday|sunday)|once(?!\s+(?:an?|per|every|in)\b)|back\s+(?:then|when|in)|previously|formerly|originally)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
# Whose it is, where it is not the speaker's: of another person nothing is carried over.
PEOPLE = frozenset(
    """brother sister mother father mum mom dad mama papa wife husband son daughter friend friends
    neighbour neighbor neighbours neighbors boss colleague colleagues parents cousin aunt uncle
    niece nephew girlfriend boyfriend partner roommate flatmate kid kids child children grandma
    grandpa grandmother grandfather grandson granddaughter coworker competitor competitors
    accountant client customer somebody someone everyone""".split()
)
_OF_BEFORE = lazy_pattern(r"\bof\s+(?:my\s+|our\s+|the\s+)?$", regex.IGNORECASE)
_POSSESSED = lazy_pattern(rf"['’]s\s+(?!(?:{'|'.join(sorted(STOP_WORDS))})\b)", regex.IGNORECASE)
_APOSTROPHES = ("'", "’")
_NAME_FOLLOWS = lazy_pattern(r"\s\p{Lu}\p{Ll}")  # "Sister Maguire"
_PLACE_BEFORE = lazy_pattern(r"\b(?:at|to|from|by)\s+$", regex.IGNORECASE)
_POSSESSOR = {"his": "he", "her": "she", "your": "you"}
_OF_OTHERS = lazy_pattern(
    r"\W*(?:(?:and|but|so|since|because|now|oh)\W+)*(he|she|his|her|their|you|your)\b", regex.IGNORECASE
)
# Words that say little of what a value is of.
_LIGHT_WORDS = frozenset(
    """be have has had get got getting make made making take taking do go going gone plan planning
    try trying want wanted need needed like set sets just really still currently current about only
    please new old actual actually instead anymore longer already change changed changes move moved
    update updated total start started starting wait sorry correction scratch turns turn turned out
    now today tomorrow tonight yesterday exactly around approximately almost nearly roughly use used
    know think say said tell told let lets way well okay ok yes no yeah hey hi oh finally recently
    lately days week month year time thing things lot lots bit kind kinda sort keep kept put come
    came becoming become became increase increased raise raised extend extended adjust adjusted
    reschedule rescheduled postpone postponed push pushed lower lowered reduce reduced cut decrease
    decreased grow grew grown improve improved switch switched rename renamed expand expanded up
    down back forward brought revise revised renew renewed upgrade upgraded bump bumped upped
    dropped drop shift shifted went hit reach reached gonna wanna worried weigh weighs weighed help
    stuff extension correction aiming aim
    decided decide run runs look looking finalized finalize allocate allocated
    schedule scheduled agree agreed manage managed per monthly weekly daily each every
    ugh argh haha lol sigh""".split()
)
_LIGHT = frozenset(term for word in _LIGHT_WORDS for _, term in term_of(word))
_WHO_DOES = ("er", "ers", "or", "ors")  # a manager is not what is managed


@dataclass(frozen=True, slots=True)
class Value:
    """One value: what kind of thing it is, and what can be compared with another of its kind."""

    kind: str  # "money", "percent", "clock", "day", "address", "phone", "name", "number", or "of <unit>"
    norm: str
    start: int  # in the clause's text
    end: int


@dataclass(frozen=True, slots=True)
class StatedClause:
    """What one clause states."""

    start: int  # of the sentence in the message: message.content[start:end]
    end: int
    text: str
    values: tuple[Value, ...]
    terms: frozenset[str]  # of its content, values and light words left out
    value_terms: frozenset[str]  # of its values
    names: frozenset[str]  # terms that are written as names
    owners: frozenset[str]  # whose it is, where not the speaker's
    asks: bool
    supposes: bool
    denies: bool
    adds: bool  # "also", "another"
    past: bool
    lead: frozenset[str] = frozenset()  # terms of the clause that it leans on ("it leaves at 9:15")
    is_own: bool = False  # it says "I", "we", "my" or "our"
    before: str = ""  # the clause before it, in the same sentence
    sentence: str = ""
    context: frozenset[str] = frozenset()  # terms of the whole sentence
    is_foreign: bool = False  # it is German, Spanish, French or Portuguese


def clauses(content: str) -> Iterator[StatedClause]:
    """The clauses of a text, in order, questions among them."""
    for start, end in sentences(content)[:_MOST_SENTENCES]:
        if end - start <= _LONGEST_SENTENCE and not _FORMULA.search(content, start, end):
            yield from _of_sentence(content[start:end], start, end)


def clauses_of_sentence(content: str, start: int, end: int) -> Iterator[StatedClause]:
    """The clauses of one sentence, content[start:end]."""
    return _of_sentence(content[start:end], start, end)


def _of_sentence(sentence: str, start: int, end: int) -> Iterator[StatedClause]:
    question = sentence.rstrip().endswith(("?", "？"))
    supposes_on = False
    asking = False
    foreign = has_foreign_function_words(words(sentence))
    context = meaning(sentence)
    before: StatedClause | None = None
    parts = [part for part in _split(sentence) if part.strip()]
    for place, part in enumerate(parts):
        granted = _GRANTED.match(part)
        if (_ASKS if not place else _ASKS_ON).match(part):
            asking = question
        elif granted:
            asking = False
        elif question and place == len(parts) - 1 and len(parts) == 1:
            asking = True
        supposes = supposes_on or bool(_SUPPOSED.search(part))
        supposes_on = supposes_on or bool(_SUPPOSED_ON.match(part))
        leans_on = before if before and _LEANS.match(part) else None
        clause = _clause(
            part,
            start,
            end,
            asks=asking,
            supposes=supposes,
            leans_on=leans_on,
            before=before.text if before else "",
            sentence=sentence,
            context=context,
            foreign=foreign,
        )
        yield clause
        before = clause


def _split(sentence: str) -> Iterator[str]:
    for part in _BORDER.split(sentence):
        ahead, comma, rest = part.partition(", ")
        if comma and _AHEAD.match(part) and not part[len(ahead) - 1].isdigit():
            yield ahead
            yield rest
        else:
            yield part


def _clause(
    text: str,
    start: int,
    end: int,
    *,
    asks: bool,
    supposes: bool,
    leans_on: StatedClause | None,
    before: str,
    sentence: str,
    context: frozenset[str],
    foreign: bool,
) -> StatedClause:
    values = tuple(_values(text, foreign=foreign))
    taken = [
        (value.start, value.end)
        for value in values
        if not value.kind.startswith("of ") or value.kind[3:] in _UNITS
    ]
    numbers = [(value.start, value.end) for value in values]
    spelled = _SHORT_NOT.sub(" not", _NOT_THAT.sub("", text))
    own: set[str] = set()
    of_values: set[str] = set()
    owners: set[str] = set()
    name_terms: set[str] = set()
    name_spans = [(value.start, value.end) for value in values if value.kind == "name"]
    for match in _WORD.finditer(text):
        low = match[0].casefold()
        possessed = (
            text.startswith(_APOSTROPHES, match.end())
            and bool(_POSSESSED.match(text, match.end()))
            and match[0] != "It"
        )
        if low in PEOPLE and (possessed or not _OF_BEFORE.search(text, 0, match.start())):
            titles = match.start() and match[0][0].isupper() and _NAME_FOLLOWS.match(text, match.end())
            if not titles:
                owners.add(low)
        if (
            possessed
            and low not in STOP_WORDS
            and low not in PEOPLE
            and match[0][0].isupper()
            and not _PLACE_BEFORE.search(text, 0, match.start())  # "at Katrien's" is a place
        ):
            owners.add(low)
        if low in STOP_WORDS or low in _NUMBER_WORDS or (foreign and low in FOREIGN_FUNCTION_WORDS):
            continue
        within = any(a <= match.start() < b for a, b in taken)
        number = low[0].isdigit() and any(a <= match.start() < b for a, b in numbers)
        for _, term in term_of(low):
            if any(a <= match.start() < b for a, b in name_spans):
                name_terms.add(term)
            if within or number:
                of_values.add(term)
            elif not is_light(low, term):
                own.add(term)
    of_values |= {value.norm for value in values if value.norm.isdecimal()}
    said_words = {match[0].casefold() for match in _WORD.finditer(spelled)}
    if whose := _OF_OTHERS.match(text):
        owners.add(_POSSESSOR.get(whose[1].casefold(), whose[1].casefold()))
    return StatedClause(
        start,
        end,
        text,
        values,
        frozenset(own),
        frozenset(of_values),
        frozenset(name_terms),
        frozenset(owners),
        asks,
        supposes or (foreign and bool(_SUPPOSED_ELSEWHERE.search(text))),
        not (_NOT | _NOT_ELSEWHERE if foreign else _NOT).isdisjoint(said_words),
        bool(_ALSO.search(text)) or (foreign and bool(_ALSO_ELSEWHERE.search(text))),
        bool(_PAST.search(text)) or (foreign and bool(_PAST_ELSEWHERE.search(text))),
        (leans_on.terms | leans_on.names | leans_on.lead) if leans_on else frozenset(),
        bool(_OWN.search(text)),
        before,
        sentence,
        context,
        is_foreign=foreign,
    )


def _values(text: str, *, foreign: bool) -> Iterator[Value]:
    taken: list[tuple[int, int]] = []

    def free(a: int, b: int) -> bool:
        return all(b <= x or a >= y for x, y in taken)

    values: list[Value] = []
    has_digit = any(letter.isdigit() for letter in text)

    def add(kind: str, norm: str, a: int, b: int) -> None:
        if free(a, b):
            taken.append((a, b))
            values.append(Value(kind, norm, a, b))

    if foreign:
        for match in _DAY_ELSEWHERE.finditer(unaccented(text)):
            month = MONTH_NAMES_ELSEWHERE[(match["m1"] or match["m2"]).casefold()]
            add("day", f"{month[:3]} {(match['d'] or '').lstrip('0')}".strip(), *match.span())
    if "@" in text:
        for match in _ADDRESS.finditer(text):
            add("address", match[0].lower(), *match.span())
    for match in _DAY.finditer(text):
        add("day", _day(match), *match.span())
    if has_digit:
        for match in _PHONE.finditer(text):
            digits = "".join(letter for letter in match[0] if letter.isdecimal())
            if 7 <= len(digits) <= 14:
                add("phone", digits, *match.span())
    for match in _CLOCK.finditer(text):
        dotted = "." in match[0].rstrip(".") and not (match["ap"] or match["ap2"])
        if dotted and not _TIME_FOLLOWS.search(text, 0, match.start()):
            continue  # 24.50 is an amount
        add("clock", _clock(match), *match.span())
    for match in _NUMBERED.finditer(text) if has_digit else ():
        add("name", " ".join(_WORD.findall(match[0].casefold())), *match.span())
    for pattern in (_AMOUNT, _SPELT):
        if pattern is _AMOUNT and not has_digit:
            continue
        for match in pattern.finditer(text):
            kind, norm, end = _amount(match)
            add(
                kind, norm, match.start("digits") if not match.groupdict().get("sign") else match.start(), end
            )
    for match in _CODE.finditer(text) if has_digit else ():
        add("code", match[0], *match.span())
    for match in _NAME.finditer(text):
        begins = not _WORD.search(text, 0, match.start())
        name = match[0]
        a = match.start()
        low = [word.casefold() for word in _WORD.findall(name)]
        if begins and len(low) >= 1 and not _TITLES.match(name):
            head = _WORD.match(name)
            assert head
            if low[0] in STOP_WORDS or len(low) == 1 or name[head.end() : head.end() + 1] != " ":
                continue
        if not low or all(word in STOP_WORDS or word in _NOT_NAMES for word in low):
            continue
        add("name", " ".join(low), a, match.end())
    yield from sorted(values, key=lambda value: value.start)


_NOT_NAMES = frozenset((*WEEKDAYS, *MONTHS, "i", "ok", "pm", "am", "hi", "hey"))


def _day(match: regex.Match[str]) -> str:
    if match["weekday"]:
        return match["weekday"].casefold()
    month = match["m1"] or match["m2"] or match["m3"] or ""
    day = match["d1"] or match["d2"] or match["d4"] or ""
    year = match["y1"] or match["y2"] or match["y3"] or ""
    return " ".join(part for part in (month[:3].casefold(), day.lstrip("0"), year) if part)


def _clock(match: regex.Match[str]) -> str:
    hour = match["h"] or match["h2"] or match["h3"] or ""
    hour = _NUMBER_WORDS.get(hour.casefold(), hour)
    if hour.casefold() == "noon":
        return "12:00"
    after = (match["ap"] or match["ap2"] or "").casefold()
    at = int(hour) + (12 if after.startswith("p") and int(hour) < 12 else 0)
    return f"{at}:{match['m'] or '00'}"


def _amount(match: regex.Match[str]) -> tuple[str, str, int]:
    """(kind, norm, end) of a number with what stands behind it."""
    groups = match.groupdict()
    digits = groups["digits"].casefold()
    norm = (
        _NUMBER_WORDS.get(digits) or _ORDINAL_WORDS.get(digits) or _ARTICLES.get(digits) or digits
    ).replace(",", "")
    end = match.end("digits")
    if groups.get("large"):
        large = groups["large"].strip().casefold()
        norm, end = norm + _LARGE.get(large, "00"), match.end("large")
    if groups.get("sign"):
        return "money", norm, end
    if groups.get("percent"):
        return "percent", norm, match.end("percent")
    after = list(_WORD.finditer(groups["after"] or ""))
    if before := _NOUN_BEFORE.search(match.string, 0, match.start("digits")):
        return f"at {_unit(before[1])}", norm, end  # "season 5", "platform 7"
    if after and after[0][0].casefold() == "of" and not _OF_THE.match(groups["after"]):
        return "number", norm, end
    words = [word for word in after if word[0].casefold() not in {"of", "the", "my", "our"}]
    words = [] if words and words[0][0].casefold() in _NO_UNITS else words
    shift = match.start("after")
    if (
        not words
        or words[0][0].casefold() in STOP_WORDS
        or words[0][0].casefold() in _NO_UNITS_ELSEWHERE
        or words[0][0].casefold() in ("per", "each", "every")
    ):
        return "number", norm, end
    unit = words[0]
    if unit[0].casefold() in _MONEY:
        return "money", norm, shift + unit.end()
    if unit[0].casefold() in _MEASURES:
        return f"of {_unit(unit[0])}", norm, shift + unit.end()
    for word in words:
        if word[0].casefold() in STOP_WORDS:
            break
        unit = word
        if word[0].casefold().endswith("s") or word[0].casefold() in ("people", "men", "women", "children"):
            break
    else:
        unit = words[0] if not words[-1][0].endswith("s") else words[-1]
    if unit[0].casefold() in STOP_WORDS or unit[0].casefold().endswith(("ly",)):
        return "number", norm, end
    return f"of {_unit(unit[0])}", norm, end


_SHORT_UNITS = {
    short: unit
    for unit, words in {
        "minute": "min mins minutes",
        "hour": "h hr hrs hours",
        "second": "s sec seconds",
        "kg": "kilo kilos kilogram kilograms",
        "g": "gram grams",
        "km": "kilometers kilometres",
    }.items()
    for short in words.split()
}


@remembered(10_000)
def _unit(word: str) -> str:
    word = word.casefold()
    return _SHORT_UNITS.get(word) or term_of(word)[0][1]


_UNITS = frozenset(_unit(word) for word in _MEASURES)


def light(term: str) -> bool:
    """Whether a term says little of what a value is of."""
    return term in _LIGHT


def is_light(word: str, term: str) -> bool:
    """Whether a word in lower case, whose term this is, says little of what a value is of."""
    return term in _LIGHT and (word in _LIGHT_WORDS or not word.endswith(_WHO_DOES))


def meaning(text: str) -> frozenset[str]:
    """Terms of a text that say what it is of."""
    spoken = words(text)
    idle = STOP_WORDS | FOREIGN_FUNCTION_WORDS if has_foreign_function_words(spoken) else STOP_WORDS
    return frozenset(
        term
        for word in spoken
        if word not in idle
        for _, term in term_of(word)
        if not is_light(word, term) and not term.isdecimal()
    )


def is_measure(unit: str) -> bool:
    """Whether a unit measures something else, as kilometres do; chairs are themselves what is counted."""
    return unit in _UNITS
