"""What people ask about themselves, and seldom told in the words of the question: a name, an age, a home.

"Where do I live?" is answered by "moved to Ghent last week", "how old am I?" by "Frieda here, 71", and no
word is shared. An attribute knows how it is asked for and how it is told: English, and the first few of them
German, Spanish, French, Portuguese, Italian and Dutch. What tells may be told of somebody else: it says where
to look, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.remembered import remembered
from zibaldone.text.unaccented import unaccented
from zibaldone.text.words import words

_FLAGS = regex.IGNORECASE | regex.VERBOSE
_LONGEST = 300  # characters of a question that is read for an attribute
# A clause of a first person, with or without its "I": "just moved to Ghent".
_OPENS = r"(?:^|[.!?,;:\n(–—-]|\b(?:and|but|so|because|since|cos|as|hi|hey|hello|yes|yeah|well|ok|btw)\b)\W*"
_FILLERS = (
    r"(?:(?:now|just|finally|recently|currently|only|still|also|both|already|nearly|almost|actually)\s+)*"
)
_AM = r"\b(?:i\s*'?m|i\s+am|we\s*'?re|we\s+are)\s+"
_SUBJECT = r"\b(?:i|we)(?:\s*'(?:ve|re|m|d)|m|ve|\s+(?:have|had|am|are|was|were))?\s+"
_I = rf"{_SUBJECT}{_FILLERS}"
_ME = rf"(?:{_OPENS}|{_SUBJECT}){_FILLERS}"
_MY = r"\b(?:my|our)\s+(?:\p{L}+[\s-]+){0,2}?"
_OURS = (
    (lazy_pattern(r"\b(what|who|where|when) s\b"), r"\1s"),
    (lazy_pattern(r"\bi(?:\s+i)+\b"), "i"),  # a first name and a last one
    (lazy_pattern(r"\bi\s+s\b"), "my"),
    (lazy_pattern(r"\bis\s+i\b"), "am i"),
    (lazy_pattern(r"\bdoes\s+i\b"), "do i"),
    (lazy_pattern(r"\bhas\s+i\b"), "have i"),
)
_CALLED = r"(?-i:\p{Lu}\p{Ll}+)"


@dataclass(frozen=True, slots=True)
class Attribute:
    """One thing to know of a person."""

    name: str
    question: regex.Pattern[str]  # in a question of a first person, without accents
    statement: regex.Pattern[str]  # in what a person says, without accents
    words: tuple[str, ...]  # that often stand where it is told: a long memory is looked through by these

    def is_told(self, text: str) -> bool:
        """Whether a text may tell it."""
        return self.statement.search(unaccented(text)) is not None


def _attribute(name: str, words_: str, question: str, statement: str) -> Attribute:
    return Attribute(
        name,
        lazy_pattern(rf"\b(?:{question})", _FLAGS),
        lazy_pattern(statement, _FLAGS),
        tuple(words_.split()),
    )


_ATTRIBUTES = (
    _attribute(
        "name",
        "name called call nickname heisse heiße nombre llamo appelle nome chamo chiamo naam heet",
        r"""what(?:'?s|\s+is|\s+was)\s+my\s+(?:first\s+|full\s+|last\s+|nick)?name\b|who\s+am\s+i\b|my\s+name\s*\?
        |(?:know|remember)\s+(?:my\s+name|who\s+i\s+am)\b|what\s+am\s+i\s+called|what\s+(?:do|should)\s+you\s+call\s+me
        |wie\s+hei(?:ss|ß)e\s+ich|(?:wie|was)\s+ist\s+mein\s+name|wer\s+bin\s+ich
        |como\s+me\s+llamo|mi\s+nombre|quien\s+soy|comment\s+(?:est-ce\s+que\s+)?je\s+m'appelle|je\s+m'appelle\s+comment
        |mon\s+(?:pre)?nom|qui\s+suis-je|como\s+(?:e\s+que\s+)?(?:eu\s+)?me\s+chamo|meu\s+nome|quem\s+sou
        |come\s+mi\s+chiamo|mio\s+nome|chi\s+sono|hoe\s+heet\s+ik|mijn\s+naam|wie\s+ben\s+ik""",
        rf"""\bmy\s+(?:\p{{L}}+\s+)?name(?:'?s)?\b|\bname(?:'s|s)\s|\bi(?:'?m|\s+am)\s+called\b|\b(?:call|calls)\s+me\b|\bgo\s+by\b|\bnickname
        |(?:^|[.!?,\n]\W*|\b(?:hi|hey|hello|ola|hallo|bonjour|hola|ciao|hoi|dag)\W+)(?:i\s*'?m|i\s+am|this\s+is|it'?s)\s+{_CALLED}(?!\s+\p{{Lu}}?(?:in|on|at)\b)
        |^\W*(?:(?:hi|hey|hello|good\s+\p{{L}}+)[\s,!.]+(?:\p{{L}}+[\s,!.]+)?)(?:i\s*'?m|i\s+am|its|it'?s|this\s+is)\s+(?!an?\b|the\b|so\b|not\b|in\b|\p{{L}}+ing\b)\p{{L}}+\s*(?:[,.!(;]|$|\band\b|\bfrom\b|\d)
        |^\W*(?:(?:hi|hey|hello|good\s+\p{{L}}+)[\s,!.]+(?:\p{{L}}+[\s,!.]+)?)?(?!(?:new|first|over|right|still|back|out|around|not|am|i'?m|from|in|up)\b)\p{{L}}+\s+here\b
        |(?:^|[.!\n])[-–—\s]*(?:regards|thanks|cheers|love|best|yours)?[,\s]*\n?[-–—\s]*{_CALLED}\s*$
        |\bich\s+(?:heisse|heiße|bin\s+(?:die\s+|der\s+)?{_CALLED})|\bmein\s+name\b|\bme\s+llamo\b|\bsoy\s+{_CALLED}|\bmi\s+nombre\b
        |\bje\s+m'appelle|\bje\s+suis\s+{_CALLED}|\bmoi\s+c'est\b|\bme\s+chamo|\bchamo-me|\bsou\s+(?:[oa]\s+)?{_CALLED}|\bmeu\s+nome\b
        |\bmi\s+chiamo|\bsono\s+{_CALLED}|\bmio\s+nome\b|\bik\s+(?:heet|ben\s+{_CALLED})|\bmijn\s+naam\b|\b(?:hier|aqui|ici|qui|met)\s+{_CALLED}
        |{_CALLED}\s+hier\b""",
    ),
    _attribute(
        "age",
        "old age aged years year turned turn turning birthday born yo jahre alt anos edad ans age anni jaar",
        r"""how\s+old\s+(?:am|was)\s+i\b|my\s+age\b|(?:what|which)\s+year\s+was\s+i\s+born|how\s+old\s+i\s+am
        |wie\s+alt\s+bin\s+ich|mein\s+alter|cuantos\s+anos\s+tengo|que\s+edad\s+tengo|mi\s+edad|quel\s+age\s+(?:ai-je|j'ai)|j'ai\s+quel\s+age
        |mon\s+age|quantos\s+anos\s+(?:e\s+que\s+)?(?:eu\s+)?tenho|minha\s+idade|quanti\s+anni\s+ho|mia\s+eta|hoe\s+oud\s+ben\s+ik|mijn\s+leeftijd""",
        rf"""(?:{_AM}|\bim\s+)(?:\p{{L}}+\s*,\s*)?(?:(?:now|nearly|almost|only|just|already|turning|about|around|gonna\s+be|going\s+on|a)\s+)*
            \d{{1,2}}(?![\p{{N}}:/%]|[.,]\p{{N}}|\s*(?:%|k\b|km|kg|kilos?|lbs?|pounds|stone|st\b|min|mins|minutes|hours?|hrs?|days?|weeks?|months?|miles?|points?|st\b|th\b|am\b|pm\b|pages|words|in\s+debt))
        |\b\d{{1,2}}[\s-]*(?:years?|yrs?)[\s-]*old\b|\b\d{{1,2}}\s*y\.?/?o\b|\bturn(?:ed|ing|s)?\s+\d{{1,2}}\b|\baged?:?\s+\d{{1,2}}\b|\bborn\s+in\s+(?:'|\d)
        |\b(?:here|{_CALLED})\s*[,(]\s*\d{{2}}\b(?![\p{{N}}:/%]|[.,]\p{{N}})|\b\d{{2}}\s*[mf]\b|\bin\s+my\s+(?:early|late|mid)?[\s-]*(?:\d0'?s|teens|twenties|thirties|forties|fifties|sixties|seventies|eighties)
        |\bmy\s+\d{{1,2}}(?:st|nd|rd|th)\b|\b\d{{2}}\s+(?:in|this|next|on)\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|year|month|week|spring|summer|autumn|fall|winter)
        |\bat\s+(?:my\s+age|\d{{2}}\s+(?:i|you|my)\b)|\bas\s+an?\s+\d{{2}}
        |\bich\s+(?:bin|werde)\s+(?:\p{{L}}+,?\s+){{0,2}}\d{{1,2}}\b|\b\d{{1,2}}\s+(?:jahre|anos|ans|anni|jaar)\b|\bik\s+(?:ben|word)\s+(?:\p{{L}}+\s+)?\d{{2}}\b
        |\b(?:tengo|cumplo|cumpli|tenho|fiz|faco|ho)\s+\d{{2}}\b|\bgeboren\s+\d|\bjahrgang\b|\bne\s+en\s+\d|\bnaci\s+en\b|\bnasci\s+em\b""",
    ),
    _attribute(
        "home",
        """live living lives moved move moving based flat house apartment place home address city town
        village from wohne wohnen gezogen umgezogen vivo vivimos mudado mudamos habite habitons vis moro
        mora abito vivo woon wonen verhuisd""",
        r"""where\s+(?:do|did|does|am|are|was)\s+(?:i|we)\s+(?:currently\s+|now\s+)?(?:(?:live|living|based|reside|come\s+from|from)\b|move(?:\s+to)?\s*\?*\s*$)
        |where(?:'?s|\s+is)\s+(?:my|our)\s+(?:home|house|flat|apartment|place)\b|(?:what|which)\s+(?:city|town|country|village|neighbou?rhood|state|street|part\s+of\s+\p{L}+)\s+(?:do|did|am|are)\s+(?:i|we)\s+(?:live|living|in|from|based|grow)\b
        |(?:what(?:'?s|\s+is)\s+)?my\s+(?:home\s+|new\s+)?(?:address|hometown|home\s+town)\b|where\s+i\s+live
        |wo(?:her|hin)?\s+(?:wohnen?|leben?|komme|kommen|bin|sind)\s+(?:ich|wir)|in\s+welche[rmn]\s+(?:stadt|ort|land|dorf)|donde\s+(?:vivo|vivimos|soy)|(?:en\s+)?que\s+(?:ciudad|barrio|pueblo)
        |ou\s+(?:est-ce\s+que\s+)?(?:j'habite|je\s+vis|nous\s+habitons|on\s+habite|habite-t-on|habitons|je\s+suis\s+ne)|j'habite\s+ou|quelle\s+ville|onde\s+(?:e\s+que\s+)?(?:eu\s+|nos\s+|a\s+gente\s+)?(?:moro|vivo|moramos|mora|vivemos)|(?:em\s+)?que\s+cidade
        |dove\s+(?:abito|abitiamo|vivo|viviamo)|in\s+che\s+citta|di\s+dove\s+sono|waar\s+(?:woon|wonen|kom)|welke\s+(?:stad|plaats)""",
        rf"""{_ME}(?:live|living|moved?|moving|relocat\p{{L}}+|settled|based|staying|rent|renting|grew\s+up|born|originally)\b[^.!?\n]{{0,30}}?\b(?:in|into|to|near|at|on|outside|by|from|above|with|next|over)\b
        |{_MY}(?:address|flat|house|apartment|place|home|street|town|village|city|neighbou?rhood|hometown|postcode|studio|cottage|farm|dorm|landlord|landlady)\b
        |(?:{_AM}|\bim\s+)(?:\p{{L}}+\s+)?(?:in|from|near|based)\s|\b(?:here|back|over|up|down|out)\s+in\s+\p{{L}}|(?:^|[.!?,;(\n]\s*|\bi\s+(?:come|came|am)\s+)from\s+\p{{L}}
        |\bnew\s+(?:flat|place|house|home|apartment|city|town)\b|\b(?:flat|house|place|apartment|room|cottage|farm|home)\s+(?:is\s+)?(?:in|near|on|at|outside)\s
        |\bwohn\p{{L}}*|\b(?:um)?gezogen\b|\bumzug\b|\blebe[n]?\s+(?:in|auf|bei)\b|\bkomme?\s+aus\b|\b(?:ich|wir)\s+[^.!?]{{0,20}}\baus\s+{_CALLED}
        |\bviv(?:o|imos|iendo)\b|\bmud(?:e|ado|amos|ando|ei|ar)\b|\bsoy\s+de\b|\bsomos\s+de\b|\b(?:mi|nuestr[oa])\s+(?:piso|casa|barrio|pueblo|ciudad)
        |\bhabit(?:e|ons|ait)\b|\bj'habite|\bdemenag\p{{L}}*|\bje\s+(?:vis|viens\s+de|suis\s+de)\b|\bmor(?:o|amos|ando|ar)\b|\bsou\s+d[eoa]\b|\b(?:minha|nossa)\s+(?:casa|cidade|rua)
        |\babit(?:o|iamo)\b|\btrasferit\p{{L}}*|\bsono\s+di\b|\bvengo\s+da\b|\bwoon\b|\bwonen\b|\bverhuis\p{{L}}*|\bkom\s+uit\b""",
    ),
    _attribute(
        "work",
        """work working works job shift shifts shop boss office salon teach nurse driver retired unemployed
        engineer manager arbeite arbeit beruf trabajo trabajando travaille boulot metier trabalho lavoro
        werk baan""",
        r"""what\s+(?:do|did)\s+i\s+do(?:\s+for\s+(?:a\s+living|work|money)|\s+(?:as\s+a\s+job|professionally)|\s*\?*\s*$)|what(?:'?s|\s+is|\s+was)\s+my\s+(?:\p{L}+\s+)?(?:job|occupation|profession|work|trade|employer|company|role)\b
        |where\s+(?:do|did|am)\s+i\s+work|(?:what|who)\s+do\s+i\s+work\s+(?:as|for|in|with)|what\s+kind\s+of\s+(?:work|job)|(?:do|have)\s+i\s+(?:have|got)\s+a\s+job|am\s+i\s+(?:employed|retired|working|self-employed)\b
        |my\s+(?:job|profession|occupation)\s*\?
        |was\s+(?:mache|arbeite|bin)\s+ich\s+(?:beruflich|von\s+beruf|arbeit)|wo\s+arbeite\s+ich|mein\s+(?:beruf|job)\b|als\s+was\s+arbeite|was\s+arbeite\s+ich
        |(?:en|de)\s+que\s+trabajo|donde\s+trabajo|cual\s+es\s+mi\s+(?:trabajo|profesion|oficio)|a\s+que\s+me\s+dedico|ou\s+(?:est-ce\s+que\s+)?je\s+(?:travaille|bosse)|je\s+(?:travaille|bosse)\s+ou|mon\s+(?:metier|travail|boulot|job)\b|dans\s+la\s+vie
        |(?:em|no|com|de)\s+que\s+(?:e\s+que\s+)?(?:eu\s+)?trabalho|onde\s+(?:e\s+que\s+)?(?:eu\s+)?trabalho|(?:meu\s+trabalho|minha\s+profissao)\b|che\s+lavoro\s+faccio|dove\s+lavoro|(?:qual\s+e|com'e)\s+il\s+mio\s+lavoro
        |wat\s+(?:doe\s+ik|is\s+mijn)\s+(?:voor\s+)?(?:werk|baan|beroep)|waar\s+werk\s+ik|wat\s+voor\s+werk""",
        rf"""(?:{_AM}|\bim\s+)(?:(?:now|currently|just|also|only|still|actually|basically|mainly|mostly)\s+)*(?:working\s+as\s+|training\s+(?:to\s+be|as)\s+)?an?\s+(?!bit\b|little\b|lot\b|few\b|huge\b|big\b)\p{{L}}
        |{_I}(?:work|working|teach|teaching|drive|driving|run|running|manage|own|fix|sell|selling|clean|cut|bake|build|design|code|retired|got\s+(?:a|the|my)\s+(?:new\s+)?job|started\s+(?:at|as|a\s+new\s+job|work)|quit|joined)\b
        |\bwork(?:ing|ed)?\s+(?:at|for|as|in|nights?|shifts?|part|full|from|with)\b|{_MY}(?:job|shop|shifts?|salon|boss|office|company|business|practice|studio|colleagues?|coworkers?|clients?|customers?|patients?|pupils?|students|class|classroom|crew|ward|surgery|firm|employer|depot|restaurant|bakery|garage|lab|workshop)\b
        |\b(?:on|after|before|between|from)\s+(?:my\s+|a\s+|the\s+)?(?:night\s+|early\s+|late\s+|double\s+)?(?:shifts?|nights)\b|\bat\s+the\s+(?:salon|office|ward|hospital|garage|bakery|site|warehouse|school|clinic|shop|restaurant|lab|depot|factory|firm|bank|station|studio|pub|bar|library|nursery|farm|surgery|plant)\b
        |(?:^|[.!?,;(\n]|\bas)\s*(?:an?\s+|ex-?\s*)?(?:\p{{L}}+\s+){{0,2}}?(?:nurse|teacher|engineer|driver|plumber|electrician|carpenter|chef|cook|waiter|waitress|baker|farmer|student|developer|designer|lawyer|doctor|vet|dentist|accountant|mechanic|barber|hairdresser|cleaner|builder|translator|writer|paramedic|postie|postman|librarian|architect|pilot|welder|gardener|bartender|barista|cashier|security\s+guard|firefighter|fisherman|potter|tailor|midwife|carer|researcher|scientist|programmer|freelancer|consultant|manager)\b
        |\b(?:retired|unemployed|self-employed|freelance|redundant|between\s+jobs|laid\s+off|stay-at-home)\b
        |\barbeit\p{{L}}*|\bberuf\p{{L}}*|\bich\s+bin\s+(?:\p{{L}}+\s+)?(?-i:\p{{Lu}})\p{{L}}+(?:er|erin|in|ist|istin|arzt|pfleger|mann|frau|wirt|koch)\b|\b(?:schicht|nachtdienst|fruhdienst|spatdienst|dienst|kollegen|kolleginnen|werkstatt|baustelle|betrieb|praxis|rente|rentner\p{{L}}*|pensioniert)\b
        |\btrabaj(?:o|ando|amos)\b|\bcurro\b|\bjubilad[oa]|\bturno\b|\bmi\s+(?:jef[ea]|empresa|oficina|taller|tienda)|\bsoy\s+(?!de\b)\p{{L}}+|\btravaill\p{{L}}*|\bboulot\b|\bbosse\b|\bje\s+suis\s+(?!de\b|en\b|a\b|tres\b|un\s+peu\b)\p{{L}}+|\bretraite\p{{L}}*|\bmon\s+(?:patron|chef|bureau|cabinet|metier)
        |\btrabalh\p{{L}}*|\baposentad[oa]|\breformad[oa]|\bsou\s+(?!d[eoa]\b)\p{{L}}+|\bmeu\s+chefe|\blavor(?:o|are|iamo)\b|\bpensionat[oa]|\bin\s+pensione|\bfaccio\s+(?:il|la|l')|\bsono\s+(?:un[oa']?\s*)?\p{{L}}+|\bwerk(?:en|te)?\b|\bgepensioneerd|\bik\s+ben\s+\p{{L}}+(?:er|ster|aar|ares|ist|iste)\b|\bpensioen""",
    ),
    _attribute(
        "children",
        "son daughter kids kid children twins baby toddler boy girl mum mom dad pregnant",
        r"""(?:do|did|have)\s+(?:i|we)\s+(?:have|got)\s+(?:any\s+|a\s+)?(?:kids?|children|child|son|daughter|bab(?:y|ies))\b|how\s+many\s+(?:kids|children|sons|daughters)\b[^?]{0,20}\b(?:i|we)\b|am\s+i\s+a\s+(?:parent|mum|mom|dad|mother|father)\b
        |my\s+(?:kids?|children|child)(?:'?s|s')?\s*(?:names?|called|\?)|(?:who|what)\s+are\s+(?:my|our)\s+(?:kids|children)|(?:what(?:'?s|\s+is|\s+are)|how\s+old(?:\s+is|\s+are))\s+(?:my|our)\s+(?:kids?|children|child|baby|son|daughter)\b""",
        r"""\b(?:my|our|the|two|three|four|five|\d|us\s+and)\s+(?:\p{L}+\s+){0,2}?(?:kids?|kiddos?|children|child|sons?|daughters?|twins|triplets|boys?|girls?|toddlers?|bab(?:y|ies)|newborn|little\s+(?:ones?|man|guy|girl|boy)|youngest|eldest|oldest|grand\p{L}+)\b
        |\b(?:mum|mom|mama|mother|dad|father|parent|daddy|mummy)\s+(?:of|to)\b|\bpregnant\b|\bexpecting\b|\bno\s+(?:kids|children)\b|\bchildless\b|\b\d{1,2}[\s-](?:year|month|yr|yo)s?[\s-]?(?:olds?)?\b|\bgave\s+birth\b|\bnappies\b|\bdiapers\b""",
    ),
    _attribute(
        "partner",
        """wife husband partner girlfriend boyfriend married divorced widow widowed single engaged fiance gf
        bf""",
        r"""(?:who(?:'?s|\s+is)|what(?:'?s|\s+is))\s+my\s+(?:wife|husband|partner|spouse|girlfriend|boyfriend|fiancee?)\b|am\s+i\s+(?:married|single|divorced|engaged|in\s+a\s+relationship|dating|seeing|widowed)\b
        |do\s+i\s+have\s+a\s+(?:partner|girlfriend|boyfriend|wife|husband|spouse)\b|my\s+(?:marital|relationship)\s+status|who\s+am\s+i\s+(?:married|dating|engaged|seeing|with)\b""",
        r"""\b(?:my|our|the)\s+(?:\p{L}+\s+)?(?:wife|wifey|husband|hubby|partner|girlfriend|boyfriend|fiancee?|gf|bf|missus|mrs|spouse|(?:other|better)\s+half|ex|ex-\p{L}+)\b|\b(?:married|divorced?|widow(?:ed|er)?|engaged|single|separated|dating)\b|\bmy\s+late\b|\banniversary\b""",
    ),
    _attribute(
        "birthday",
        "birthday born bday",
        r"when(?:'?s|\s+is|\s+was)\s+my\s+(?:birthday|bday|b-day)\b|when\s+was\s+i\s+born|my\s+(?:birthday|bday|date\s+of\s+birth|birth\s*date|dob)\b",
        r"""\b(?:birthday|b-?day|birth\s*date|born)\b|\bturn(?:ed|ing|s)?\s+\d{1,2}\b|\b\d{2}\s+(?:in|on|this|next)\s+(?:january|february|march|april|may|june|july|august|september|october|november|december|\p{L}+day|week|month)""",
    ),
    _attribute(
        "weight",
        "weigh weight kg kilos lbs pounds stone scale scales",
        r"(?:what|how\s+much)\s+(?:do|did|does)\s+i\s+weigh|my\s+(?:current\s+|body\s*)?weight\b|how\s+heavy\s+am\s+i",
        rf"""\bweigh\p{{L}}*|\bscales?\b|(?:{_AM}|\bim\s+|\bdown\s+to\s+|\bup\s+to\s+|\bat\s+|\bfrom\s+|^\W*)\d{{2,3}}(?:[.,]\d+)?\s*(?:kg|kgs|kilos?|lbs?|pounds|stone|st|pds)\b
        |^\W*\d{{2,3}}[.,]\d\s+(?:this\s+morning|today|now)\b|\b(?:lose|lost|gain|gained|put\s+on)\s+\d+[.,\d]*\s*(?:kg|kilos?|lbs?|pounds|stone)\b""",
    ),
    _attribute(
        "height",
        "tall height cm",
        r"how\s+tall\s+am\s+i|(?:what(?:'?s|\s+is)\s+)?my\s+height\b",
        rf"""\b(?:\d[.,]\d\d\s*m?|\d{{3}}\s*(?:cm)?|\d\s*(?:'|ft|foot|feet)\s*\d{{0,2}}(?:"|''|in)?)\s*tall\b|(?:{_AM}|\bim\s+)(?:only\s+|just\s+|about\s+)?(?:[12][.,]\d\d\b|1\d\d\s*(?:cm\b|$|[,.])|2\d\d\s*cm\b|\d\s*(?:'|ft|foot|feet)\s*\d{{0,2}})|\b1\d\d\s*cm\b|\b[12][.,]\d\d\s*m\b""",
    ),
    _attribute(
        "languages",
        "speak language languages native tongue bilingual",
        r"(?:what|which|how\s+many)\s+languages?\b[^?]{0,20}\bi\b|my\s+(?:native|first|mother)\s+(?:language|tongue)",
        r"\b(?:speak|speaking|spoke|fluent|bilingual|native|mother\s+tongue|first\s+language|learning|grew\s+up\s+(?:with|speaking))\b",
    ),
    _attribute(
        "car",
        "car drive drives driving van truck mot garage engine",
        r"(?:what|which)\s+(?:kind\s+of\s+|type\s+of\s+)?(?:car|vehicle|van|truck)\b[^?]{0,20}\b(?:i|we)\b|what\s+(?:do|am)\s+i\s+driv(?:e|ing)|what(?:'?s|\s+is)\s+my\s+car\b",
        rf"{_MY}(?:car|van|truck|motor|wheels|ride)\b|{_I}(?:drive|driving|bought|got|picked\s+up|lease|leasing)\s+(?:an?|my|the)\b|\bthe\s+(?:car|van|truck)\b|\b(?:MOT|mileage|odometer|diesel|petrol|hybrid|estate|hatchback)\b",
    ),
    _attribute(
        "health",
        """allergic allergy diabetes diabetic asthma pills tablets mg meds diagnosed knee heart pressure
        insulin""",
        r"""(?:what|which|any)\s+(?:\p{L}+\s+)?(?:health|medical|illness|illnesses|conditions?|diseases?|diagnos[ie]s)\b[^?]{0,30}\bi\b|have\s+i\s+(?:got\s+)?any\s+(?:health|medical|illness|illnesses|conditions?)|what(?:'?s|\s+is)\s+wrong\s+with\s+(?:me|my)|(?:what|which)\s+(?:meds|medications?|medicines?|pills|tablets|drugs)\b[^?]{0,20}\b(?:i|my)\b|am\s+i\s+(?:ill|sick|healthy|allergic|diabetic)\b|my\s+(?:health|medical)\s+(?:problems?|conditions?|issues?)|what\s+am\s+i\s+allergic|(?:do|have)\s+i\s+(?:have|got)\s+(?:any\s+)?(?:an?\s+)?allerg(?:y|ies)|my\s+allerg(?:y|ies)""",
        r"""\b(?:diabet\p{L}+|asthma\p{L}*|allerg\p{L}+|intoleran\p{L}+|coeliac|celiac|arthriti\p{L}+|migraines?|depress\p{L}+|anxiety|adhd|autis\p{L}+|epilep\p{L}+|cancer|chemo|pacemaker|thyroid|insulin|inhaler|epi-?pens?|blood\s+pressure|cholesterol|hypertension|hernia|slipped\s+disc|heart\s+attack|stroke|surgery|operation|diagnos\p{L}+|pills?|tablets?|meds|medication|\d+\s*mg)\b
        |\b(?:bad|dodgy|sore|broken|torn|new|my)\s+(?:left\s+|right\s+)?(?:knees?|hips?|back|shoulder|ankle|wrist|heart|lungs?)\b|\b(?:peanuts?|nuts|shellfish|lactose|gluten|pollen|penicillin)\b[^.!?\n]{0,40}\b(?:kill|hospital|rash|swell|swells|throat|cannot|can't|cant|react|reaction)""",
    ),
    _attribute(
        "diet",
        "vegan vegetarian meat eat gluten lactose dairy halal kosher",
        r"""what\s+(?:(?:can't|cant|cannot|don't|dont|shouldn't|mustn't)\s+(?:i|we)|(?:can|do|may|should|must)\s+(?:i|we)\s+not|(?:can|may)\s+i)\s+eat\b|am\s+i\s+(?:an?\s+)?(?:vegetarian|vegan|pescatarian)|my\s+diet\b|my\s+dietary""",
        r"""\b(?:vegans?|vegetarians?|veggie|pescatarian|gluten|lactose|dairy|halal|kosher|keto|low[\s-]carb|allerg\p{L}+|intoleran\p{L}+|coeliac|celiac)\b|\b(?:don't|dont|can't|cant|cannot|never|no|stopped|quit|off)\s+(?:eat(?:ing)?\s+)?(?:any\s+)?(?:meat|pork|beef|fish|nuts?|peanuts?|eggs?|milk|cheese|bread|sugar|seafood|shellfish)\b""",
    ),
    _attribute(
        "hobbies",
        "hobby hobbies play playing club climbing running choir knitting fishing chess love weekends",
        r"""(?:what(?:'?s|\s+is|\s+are)\s+)?my\s+(?:hobby|hobbies|interests|pastimes?)\b|what\s+do\s+i\s+(?:like\s+(?:to\s+do|doing)|(?:usually\s+)?do\s+(?:for\s+fun|in\s+my\s+(?:free|spare)\s+time|on\s+(?:the\s+)?weekends?|to\s+relax))|(?:what|which)\s+(?:sports?|instruments?|games?)\s+do\s+i\s+(?:do|play|like)""",
        rf"{_I}(?:love|enjoy|like|play|playing|collect|collecting|into|obsessed|addicted|fish|sing|singing|dance|dancing|climb|climbing|cycle|cycling|run|running|swim|swimming|knit|knitting|paint|painting|hike|hiking|garden|gardening|ski|skiing|surf|surfing|train|training)\b|\b(?:hobby|hobbies|club|choir|band|league|team|practice|rehearsals?|training|tournament|allotment|marathon|5k|10k)\b",
    ),
    _attribute(
        "studies",
        "study studying university uni degree college school major course exam thesis semester grade phd",
        r"what\s+(?:do|am|did)\s+i\s+(?:study|studying|majoring|learning)|(?:what(?:'?s|\s+is)\s+)?my\s+(?:major|degree|course|field|subject|school|university|uni|college)\b|where\s+(?:do|did|am)\s+i\s+(?:study|studying|go\s+to\s+(?:school|uni|university|college))|(?:what|which)\s+(?:school|university|uni|college|grade|class|year|course)\b[^?]{0,20}\bi\b",
        rf"\b(?:study|studying|studied|student|uni|university|degree|college|majoring|major|bachelor\p{{L}}*|master'?s|phd|thesis|dissertation|semester|freshman|sophomore|undergrad|apprentice\p{{L}}*|year\s+\d{{1,2}}|\d{{1,2}}(?:st|nd|rd|th)\s+(?:year|grade)|grade\s+\d|gcses?|a-?levels?|finals|exams?)\b|{_ME}learning\b",
    ),
    _attribute(
        "pay",
        "earn salary paid wage income",
        r"(?:how\s+much|what)\s+(?:do|did)\s+i\s+(?:earn|get\s+paid)|how\s+much\s+(?:do|did)\s+i\s+make|(?:what(?:'?s|\s+is)\s+)?my\s+(?:salary|income|wages?|pay|hourly\s+rate)\b",
        rf"\b(?:earn|earning|salary|wages?|paid|income|raise|take[\s-]home)\b|(?:{_AM}|\bim\s+|\bmake\s+)(?:on\s+|about\s+)?[£$€]?\d+\s*k?\b",
    ),
    _attribute(
        "budget",
        "budget spend max under afford",
        r"(?:what(?:'?s|\s+is|\s+was)\s+)?my\s+budget\b|how\s+much\s+(?:can|do|did|could)\s+(?:i|we)\s+(?:want\s+to\s+)?(?:spend|afford)",
        r"\b(?:budget|afford|spend)\b|\b(?:under|max(?:imum)?|up\s+to|at\s+most|no\s+more\s+than|less\s+than|below|around|about|within|not\s+over)\s+[£$€]?\s*\d|\d\s*(?:[£$€]|euros?|eur|pounds|quid|bucks|dollars|k)?\s+(?:max|tops|at\s+most|limit)\b",
    ),
    _attribute(
        "pets",
        "dog cat puppy kitten vet pet horse hamster rabbit",
        r"(?:do|have)\s+(?:i|we)\s+(?:have|got)\s+(?:any\s+|a\s+)?(?:pets?|animals?|dogs?|cats?)\b|(?:what(?:'?s|\s+is|\s+are)|who(?:'?s|\s+is))\s+(?:my|our)\s+(?:pet|dog|cat|puppy|kitten|horse|animal)s?\b",
        r"\b(?:dogs?|cats?|pupp(?:y|ies)|pup|kittens?|kitty|hamsters?|rabbits?|bunny|parrots?|horses?|pony|budgies?|tortoise|goldfish|snake|lizard|gecko|ferrets?|guinea\s+pigs?|chickens?|hens|goats?|terrier|labrador|lab|retriever|collie|spaniel|poodle|beagle|husky|dachshund|greyhound|lurcher|tabby|vet|vets|walkies|litter|paws?|pets?|rescue)\b",
    ),
)


@dataclass(frozen=True, slots=True)
class AskedAttribute:
    """What a question asks of a person."""

    attribute: Attribute
    words: frozenset[str]  # of the question, by which it does; and the attribute's name


@remembered(1_000)
def asked_attribute(question: str, person: str = "") -> AskedAttribute | None:
    """What a question asks about who asks, or about a person of that name; None: nothing of these."""
    text = unaccented(question[: _LONGEST + 1])
    if len(text) > _LONGEST:
        return None
    if person:
        text = _in_first_person(text, person)
    for attribute in _ATTRIBUTES:
        if match := attribute.question.search(text):
            return AskedAttribute(attribute, frozenset([*words(match[0]), attribute.name]))
    return None


def _in_first_person(text: str, person: str) -> str:
    """As the person would ask it: "where does Felix live" is "where do i live"."""
    names = frozenset(words(unaccented(person)))
    own = " ".join("i" if word in names else word for word in words(text))
    for theirs, ours in _OURS:
        own = theirs.sub(ours, own)
    return own
