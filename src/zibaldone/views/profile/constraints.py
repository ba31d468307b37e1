"""What somebody can't do or must not have: allergies, diets, medicines, disabilities; and what they bear on.

A constraint holds whether or not anybody asks for it. So it is matched by the *areas* of life that it bears
on and not by its own words: "I'm allergic to peanuts" has no word in common with "what should I cook?".
English. Precise before complete: "allergic to meetings" and "I can't eat another bite" bear on nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS
from zibaldone.views.profile.clauses import ADVERBS, BEFORE, FLAGS, SUBJECT, Area

# What questions of an area speak of, a few phrases each.
AREAS: dict[Area, tuple[str, ...]] = {
    "food": (
        "cook dinner meal",
        "breakfast brunch lunch snack",
        "restaurant takeaway cuisine",
        "recipe bake dessert cake",
        "soup curry noodles pasta pizza",
        "groceries supermarket ingredients",
        "cheese milk bread cereal",
        "vegetables fruit meat fish",
        "food eat hungry",
    ),
    "alcohol": ("alcohol wine beer", "cocktail whisky gin", "drinks pub"),
    "medicine": (
        "medicine medication pills",
        "painkiller antibiotic",
        "supplement vitamin herbal remedy",
        "headache cold flu pain insomnia",
        "pharmacy doctor",
    ),
    "exercise": (
        "workout gym fitness",
        "jogging sport training",
        "stretching yoga muscles",
        "get fit lose weight",
    ),
    "travel": (
        "hotel trip vacation",
        "sightseeing excursion museum castle",
        "holiday beach city break",
        "apartment flat house to rent",
        "airport train station transport",
        "walk hike tour",
    ),
    "hearing": (
        "concert loud audio",
        "headphones podcast",
        "phone call conversation",
        "theatre cinema seats",
    ),
    "sight": ("eyesight font display", "colour chart visual"),
    "animals": (
        "pet cat dog",
        "kitten puppy animal shelter",
        "farm horses zoo",
        "pollen meadow garden flowers",
    ),
}

_FOOD = r"""(?:(?:pea|wal|hazel|cashew\s*|tree\s*|pine\s*)?nuts?|almonds?|cashews?|pistachios?|pecans?
|milk|dairy|lactose|eggs?
|wheat|gluten|soya?|fish|shellfish|shrimps?|prawns?|crabs?|lobster|seafood|sesame|mustard|celery|lupins?
|sul(?:ph|f)ites?
|strawberr(?:y|ies)|kiwis?|apples?|bananas?|tomato(?:es)?|avocados?|mango(?:es)?|citrus|honey|corn|garlic
|onions?|pork
|mushrooms?|chocolate|peach(?:es)?|pineapples?|fructose|yeast|oats|legumes|beans|lentils|peppers?
|cinnamon|coconut|beef|meat
|cheese|histamine|caffeine|alcohol|oranges?|cherr(?:y|ies)|carrots?|oysters?|mussels?|clams?|casein
|whey)\b"""
_DRUG = r"""(?:penicillin|antibiotics?|aspirin|ibuprofen|sulfa|codeine|morphine|paracetamol|insulin
|lithium|steroids?
|(?:blood\s+)?thinners?|anticoagulants?|antidepressants?|beta[\s-]?blockers?|statins?|immunosuppressants?
|antihistamines?
|chemo(?:therapy)?|(?:blood[\s-]pressure|heart|thyroid)\s+(?:medication|medicine|meds|pills?|tablets?)
|SSRIs?|opioids?
|\p{L}{2,}(?:statin|pril|sartan|olol|prazole|cillin|mycin|formin|zepam|zolam|parin|farin|xaban|oxetine
|raline|apine|idone
|thyroxine|nisone|nisolone|triptan|profen|pram|dipine|mab)|(?:medication|medicine|meds|tablets
|pills)\s+for\s+my\s+\p{L}+
|\d+(?:[.,]\d+)?\s?(?:mg|mcg|µg))\b"""
_CREATURE = r"""(?:cats?|dogs?|pets?|fur|pollen|dust(?:\s+mites?)?|grass(?:es)?|horses?|feathers?|bees?
|wasps?|rabbits?
|animals?)\b"""
_BLOOD_SUGAR = r"(?:(?:type\s+(?:1|2|one|two)|gestational)\s+)?diabetes\b"
_GUT = r"(?:(?:celiac|coeliac|crohn['’]?s)(?:\s+disease)?|gout|IBS|acid\s+reflux)\b"
_CONDITION = r"""(?:asthma|epilepsy|high\s+blood\s+pressure|hypertension|(?:a\s+)?(?:heart|kidney|liver
|lung)\s+(?:condition|disease
|failure)|ha?emophilia|a\s+pacemaker|arthritis|osteoporosis|COPD|multiple\s+sclerosis|fibromyalgia
|(?:a\s+)?(?:herniated|slipped)\s+dis[ck])\b"""
_JOINT = r"(?:an?\s+)?(?:bad|torn|weak|injured)\s+(?:knee|back|hip|shoulder|ankle)s?\b"
_AID = r"""(?:an?\s+|my\s+)?(?:wheelchair|walker|crutches|walking\s+(?:stick|frame)|prosthe(?:sis|tic\s+leg)
|mobility\s+scooter)\b(?<!walker(?=\s+(?:for|from|who)\b))"""
# "to cow's milk", "to all kinds of nuts", "to figs, kiwis and eggs"; not "to people who eat fish"
_ALLERGIC = r"""(?:(?:very|severely|highly|deathly|badly|mildly|slightly|terribly|super)\s+)?(?:allergic
|intolerant|sensitive)\s+to
\s+(?:(?:all|most|some|many|certain|any|several|both|raw|cooked|fresh|tree|kinds?|sorts?|types?|forms?|of|the
|and|or|\p{L}+['’]s(?=\s+(?:milk|cheese|eggs?)\b)|\p{L}+(?=,|\s+(?:and|or)\b)),?\s+){0,5}?"""
_SEVERE = r"(?:an?\s+)?(?:(?:severe|bad|serious|mild|strong|terrible)\s+)?"
_SOME = r"(?:(?:an?|some|my|the|daily|regular|strong|low-dose)\s+)*"
_NO_FOOD = r"""(?!(?:out|at|before|after|much|enough|well|like|here|there|in|with|it|that|this|them
|another|any\s?more|more|all|an?
|the|so|as|too|very|properly|until|when|if|and|or|breakfast|lunch|dinner|alone|together|late|early|fast|often
|because|since|while|enough|regularly|slowly|quickly|healthily)\b)"""

# A diet that ends by itself constrains nobody for long.
FOR_A_WHILE = r"""[^.;!?]*\b(?:once|tonight|today|this\s+(?:week|month|evening)
|for\s+(?:now|Lent|(?:an?|one|two|three|the|\d+)\s+(?:\p{L}+\s+)?(?:day|week|month|while|meal|challenge)s?))\b"""

# What is stated of whom: "be" ("I'm ..."), "have", "do" ("I take ...") or "not" ("I can't ...").
_Form = Literal["be", "have", "do", "not"]
_STATED: tuple[tuple[tuple[Area, ...], _Form, str], ...] = (
    (
        ("food",),
        "be",
        rf"""(?:an?\s+)?(?:strict(?:ly)?\s+|lifelong\s+)?(?:(?:vegetarian|vegan|pescatarian|keto)\b(?!{FOR_A_WHILE})
|celiac|coeliac|kosher|halal
        |(?:gluten|lactose|fructose|dairy|histamine)[\s-]+(?:intolerant|free)|plant-based)\b
|{_ALLERGIC}{_FOOD}""",
    ),
    (
        ("food",),
        "have",
        rf"""{_SEVERE}(?:{_FOOD}\s+(?:allerg(?:y|ies)|intolerance)|(?:allerg(?:y|ies)
|intolerance)\s+to\s+{_FOOD})|{_GUT}
        |been\s+(?:vegetarian|vegan|pescatarian)\b""",
    ),
    (
        ("food",),
        "do",
        r"""(?:keeps?|eats?|follows?|observes?|only\s+eats?)\s+(?:an?\s+|strictly\s+|only\s+)*(?:kosher
|halal|vegan|vegetarian
        |gluten-free|plant-based|(?:keto|ketogenic|low-\p{L}+)\s+diet)\b""",
    ),
    (
        ("food",),
        "not",
        rf"""(?:eat|digest|tolerate|handle)\s+(?:any\s+)?{_FOOD}|eat\s+{_NO_FOOD}(?:any\s+)?\p{{L}}+
        |drink\s+(?:any\s+)?(?:milk|coffee|caffeine)\b""",
    ),
    (("food", "alcohol"), "not", r"drink(?:\s+(?:any\s+)?(?:alcohol|wine|beer)\b|(?=\W*$))"),
    (("food", "alcohol", "medicine"), "have", _BLOOD_SUGAR),
    (("food", "alcohol", "medicine"), "be", r"(?:an?\s+)?(?:pre-?|type\s+(?:1|2|one|two)\s+)?diabetic\b"),
    (
        ("food", "alcohol", "medicine", "exercise", "travel"),
        "be",
        r"(?:[\p{L}\p{N}]+\s+(?:weeks|months)\s+)?pregnant\b",
    ),
    (("medicine",), "be", rf"{_ALLERGIC}(?:{_DRUG}|latex\b)"),
    (("medicine", "alcohol"), "be", rf"(?:on|taking|prescribed)\s+{_SOME}{_DRUG}"),
    (("medicine",), "have", rf"{_SEVERE}(?:{_DRUG}|latex\b)\s+allergy\b"),
    (("medicine", "alcohol"), "have", rf"been\s+(?:on|taking|prescribed)\s+{_SOME}{_DRUG}"),
    (("medicine", "alcohol"), "do", rf"(?:takes?|uses?|injects?)\s+{_SOME}{_DRUG}"),
    (("medicine",), "not", rf"(?:take|have)\s+(?:any\s+)?{_DRUG}"),
    (("medicine", "exercise"), "have", _CONDITION),
    (("exercise",), "have", _JOINT),
    (("exercise", "medicine"), "be", r"(?:an?\s+)?(?:asthmatic|epileptic)\b"),
    (
        ("travel", "exercise"),
        "be",
        (
            rf"(?:in|using|on|with)\s+{_AID}|(?:an?\s+)?(?:wheelchair\s+user|paraplegic|amputee)\b"
            r"|unable\s+to\s+walk\b"
        ),
    ),
    (("travel", "exercise"), "do", rf"(?:uses?|needs?|walks?\s+with)\s+{_AID}"),
    (
        ("travel", "exercise"),
        "not",
        r"(?:walk\s+(?:far|long|more(?!\s+than\s+\p{L}+\s+dogs?\b))|(?:climb|manage|do)\s+stairs)\b",
    ),
    (("hearing",), "be", r"(?:an?\s+)?(?:deaf|hard[\s-]of[\s-]hearing|hearing[\s-]impaired)\b"),
    (("hearing",), "have", r"(?:hearing\s+(?:loss|aids?)|an?\s+cochlear\s+implant|tinnitus)\b"),
    (("hearing",), "do", r"(?:uses?|wears?)\s+(?:an?\s+)?hearing\s+aids?\b"),
    (
        ("sight",),
        "be",
        (
            r"(?:an?\s+)?(?:(?:legally|partially)\s+(?:blind|sighted)|(?:colou?r[\s-]?)?blind|visually\s+impaired)\b"
            r"(?!\s+to\b)"
        ),
    ),
    (("sight",), "have", r"(?:low\s+vision|glaucoma|macular\s+degeneration)\b"),
    (("sight",), "do", r"uses?\s+a\s+screen\s+reader\b"),
    (("animals",), "be", rf"{_ALLERGIC}{_CREATURE}"),
    (
        ("animals",),
        "have",
        rf"{_SEVERE}(?:{_CREATURE}\s+allergy|allergy\s+to\s+{_CREATURE}|hay\s?fever\b)",
    ),
)
_PATTERNS = tuple((areas, form, lazy_pattern(pattern, FLAGS)) for areas, form, pattern in _STATED)
# Without one of these there is nothing to look for.
_ANY = lazy_pattern(
    rf"""vegetarian|vegan|pescatarian|celiac|coeliac|keto|kosher|halal|intoleran|gluten|plant-based
|allerg|sensitive|diet|\beat\b
    |drink|digest|tolerate|handle|{_GUT}|diabet|pregnant|asthma|epilep|{_CONDITION}|{_JOINT}|wheelchair
|walk|crutch|prosthe|scooter
    |paraplegic|amputee|stairs|deaf|hearing|cochlear|tinnitus|blind|vision|sight|glaucoma|macular
|screen\s+reader|hay\s?fever
    |{_DRUG}""",
    FLAGS,
)
_VERB = rf"""(?:\s*(?:(?P<not>can['’]?t|cannot|can\s+not|don['’]?t|do\s+not|doesn['’]?t|does\s+not|never
|must(?:\s+not|n['’]t)
|(?:am|are|is|['’]m|['’]re|['’]s)\s+not\s+(?:allowed|able|supposed)\s+to)|(?P<have>['’]ve(?:\s+got)?
|have(?:\s+got)?|has(?:\s+got)?)
|(?P<be>['’]?m|['’]re|['’]s|am|are|is))(?=\s))?\s*{ADVERBS}"""
_KIN = r"(?:son|daughter|kids?|child|children|wife|husband|partner|boyfriend|girlfriend|baby|toddler|twins)"
_OWN = tuple(
    lazy_pattern(rf"{subject}{_VERB}", FLAGS)
    for subject in (
        SUBJECT,
        rf"{BEFORE}(?:my|our)\s+(?:(?!ex\b|former\b)\p{{L}}+\s+)?{_KIN}(?:,?\s+(?-i:\p{{Lu}})\p{{L}}+,?)?",
    )
)
# A program's notes of its user leave out who it is, and often the verb: "User is vegetarian".
_TOLD = (
    lazy_pattern(
        rf"""(?:(?:^\W*|[,;:.]\s*)(?:(?:(?:the\s+)?user(?:['’]s\s+{_KIN})?|they|he|she
|(?-i:\p{{Lu}})\p{{L}}+(?=\s+(?:is|has|does|can|keeps|takes|uses|eats|follows)))
        (?=\W))?|\b(?:and|but|who|i|we)(?=\W)){_VERB}""",
        FLAGS,
    ),
)
_PASSING = lazy_pattern(
    r"""\b(?:tonight|today|right\s+now|at\s+the\s+moment|this\s+(?:week|morning|evening)|for\s+now
|used\s+to|no\s+longer|any\s?more
    |(?<!\bsince\s)last\s+(?:year|month|week|spring|summer|autumn|fall|winter|time)|in\s+theory
    |if|maybe|perhaps|might|pretend\w*|imagine|joking|kidding|hypothetical\w*|formerly|previously)\b""",
    FLAGS,
)
# Where it only qualifies what is meant: "my wife's vegan friend", "diabetes patients", "deaf to it".
_GOES_ON = lazy_pattern(
    r"""-\p{L}|\s+(?!(?:and|or|but|so|because|since|for|as|which|who|that|with|without|at|in|on|of|after|before
|during|until|when|whenever|while|where|unless|by|from|under|due|thanks|though|tho|although|except|like|than
|is|are|has|have|can|will|would|needs?|makes?|means|now|again|too|also|myself|ourselves|himself|herself
|themselves|every|each|daily|twice|once|one|two|three|four|all|most|both|these|this|my|our|her|his|their|the|an?
|per|right|long|full|type|only|ever|already|still|yet|sometimes|often|always|last|instead|here|there|btw|lol|haha
|remember|you|please|yes|fyi|sorry|tablets?|pills?|injections?|shots?|treatment|therapy|medication|medicine
|spray|inhalers?|food|meals?|stuff|things|cooking|diet|pain|problems?|issues?|attacks?|symptoms?|trouble
|injur(?:y|ies)|i|we|you|he|she|they|it|(?!friendly)\p{L}+ly
|to\s+(?:manage|control|treat|keep|stay|help|prevent|lower|sleep|deal|calm|reduce|cope))
\b)\p{L}""",
    FLAGS,
)
_ALLERGY = lazy_pattern(r"\b(?:allerg|intoleran|sensitive)", FLAGS)


def areas_of(statement: str, *, noted: bool = False) -> frozenset[Area]:
    """What a constraint that a statement tells of its speaker or their family bears on; none: it tells none.

    `noted`: it is a program's note of its user, whoever it names.
    """
    if not _ANY.search(statement) or _PASSING.search(statement):
        return frozenset()
    return frozenset(area for areas in _stated(statement, noted=noted) for area in areas)


def constrained_person(statement: str) -> str:
    """The name of another person whom a statement says a constraint of: "Joelle is allergic to nuts"; or "".

    What opens a sentence may be no name: "Seitan is vegan".
    """
    if not _ANY.search(statement) or _PASSING.search(statement):
        return ""
    for claim in _OF_ANOTHER.finditer(statement, overlapped=True):
        who = claim["who"]
        form = next((name for name in ("be", "have", "not") if claim[name]), "do")
        if form == "do" or who.casefold() in STOP_WORDS or who.casefold() in _NOBODY:
            continue
        for _, needed, pattern in _PATTERNS:
            if needed != form or not (constraint := pattern.match(statement, claim.end())):
                continue
            opens = not statement[: claim.start("who")].strip()
            if form == "be" and opens and not _OF_PEOPLE.match(constraint[0]):
                continue
            if form == "not" or _ALLERGY.search(constraint[0]) or not qualifies(statement, constraint.end()):
                return str(who)
    return ""


_OF_ANOTHER = lazy_pattern(
    rf"""(?:^\W*|[,;:.!()–—]\s*|\b(?:and|but|so|because|since|cause|as|that|though|although|while|also|plus|btw|oh)\s+)
    (?P<who>(?!(?:also|plus|btw|oh|and|but|so)\b)(?-i:\p{{Lu}}\p{{Ll}}+))(?=['’\s]){_VERB}""",
    FLAGS,
)
_NOBODY = frozenset("everyone everybody nobody somebody someone anyone anybody people today tomorrow".split())
_OF_PEOPLE = lazy_pattern(
    rf"an?\s|{_ALLERGIC}|.*(?:diabetic|pregnant|asthmatic|epileptic|wheelchair|deaf)", FLAGS
)


def qualifies(statement: str, end: int) -> bool:
    """Whether what ends there in the statement only qualifies what follows: "a vegan chef"."""
    return bool(_GOES_ON.match(statement, end))


def _stated(statement: str, *, noted: bool) -> Iterator[tuple[Area, ...]]:
    for subject in _TOLD + _OWN if noted else _OWN:
        for claim in subject.finditer(statement, overlapped=True):
            form = next((name for name in ("be", "have", "not") if claim[name]), "do")
            wanted = {form, "be", "have"} if noted and form == "do" else {form}
            for areas, needed, pattern in _PATTERNS:
                if needed not in wanted or not (constraint := pattern.match(statement, claim.end())):
                    continue
                if (
                    form == "not"
                    or _ALLERGY.search(constraint[0])
                    or not qualifies(statement, constraint.end())
                ):
                    yield areas
