"""The words by which people say that something changed: English."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import terms

FLAGS = regex.IGNORECASE | regex.VERBOSE
CHANGE = lazy_pattern(
    r"""\b(?:moved|changed|rescheduled|postponed|delayed|shifted|extended|prolonged|shortened|increased|raised|upped
    |bumped|lowered|reduced|decreased|adjusted|updated|upgraded|downgraded|renamed|switched|revised|corrected|grown
    |grew|improved|expanded|climbed|risen|rose|fallen|fell|dropped|went|cut|turned|renewed|reset|pushed|brought
    |(?<=\b(?:had|have|decided)\s+to\s+)(?:push|move|change|delay|postpone|shift|raise|lower|cut|reduce|extend|switch|increase)
    |hit|reached|transferred|relocated|down|up|converted)\b""",
    FLAGS,
)
TOWARDS = lazy_pattern(
    r"""(?P<np>.{0,80}?)\b(?:(?:from\s+(?P<from>.{1,40}?)\s+)?(?:up\s+|down\s+|back\s+|forward\s+|over\s+|out\s+|now\s+)*(?:to|at|until)
    |(?<=hit|reached))\s+(?:just\s+|only\s+|about\s+|around\s+|the\s+|next\s+|this\s+|a\s+|an\s+|early\s+|late\s+|mid-?\s*|almost\s+|over\s+|platform\s+)*""",
    FLAGS,
)
HIT = lazy_pattern(r"\s*(?:about\s+|over\s+|almost\s+|the\s+)*", FLAGS)
NOW = lazy_pattern(
    r"""(?<!\bright\s)\bnow\b(?!\s+that\b)|\bthese\s+days\b|\bnowadays\b|\bfrom\s+(?:now|today|this\s+\w+|tomorrow|next\s+\w+)(?:\s+on)?\b
    |\bas\s+of\s+(?:today|now|this\s+\w+)\b|\binstead\b(?!\s+of)|\bcorrection\b|\bturns\s+out\b|\bat\s+the\s+moment\b|\bfor\s+now\b|\balready\b|\b(?:that|which)\s+makes\b""",
    FLAGS,
)
BARE_IMPERATIVE_NOW = lazy_pattern(
    r"\W*(?:and\s+|ok\s+|okay\s+)?now\s*,?\s+(?!(?:i|we|my|our|the|it|they|there|he|she|that)\b)", FLAGS
)
NEW = lazy_pattern(
    r"""\b(?:new|increased|updated|extended|adjusted|revised|reduced|lowered|raised|higher|lower|improved|rescheduled)\s+
    (?P<np>(?:[\p{L}-]+\s+){0,6}?[\p{L}-]+)\s*(?:,|:|\s+(?:is|are|of|will\s+be|to)\b)\s*(?:just\s+|now\s+|the\s+|an?\s+|at\s+|on\s+)*""",
    FLAGS,
)
IS = lazy_pattern(
    r"""(?:\b(?:is|are|am|has|have|got|weighs?|costs?|takes?|starts?|begins?|leaves?|runs?|lasts?|meets?|earns?|pay|expires?|comes?
    |arrives?|goes|call\s+me|use|be|live|drive|valid\s+for)\b|['’](?:s|re|m)\b)\s*
    (?:(?:me|us|now|currently|already|at|on|in|the|an?|about|around|only|just|down|up|back|to|for|from|platform|under|until|called|named|due|held|set|every)\s+)*$""",
    FLAGS,
)
DURATION = frozenset("of day|of night|of week|of month|of year|of hour|of minute|of second".split("|"))
SPAN_BEFORE = lazy_pattern(
    r"\b(?:for|in|after|past|last|within|since|another|every|about|over|than|ago|by|next|first)\s+(?:the\s+|just\s+|about\s+|over\s+|almost\s+|past\s+|last\s+)*$",
    FLAGS,
)
CONTRAST = (
    lazy_pattern(
        r"(?<!\b(?:is|was|are|'m|am|or|if|why|do|did|does|have|has|had|could|would|should|can|will)\s)(?:,\s*|\band\s+|\bbut\s+)not\s+(?!only\b|just\b|to\b|so\b|sure\b|yet\b|even\b|because\b|that\b|really\b|too\b|as\b)(?:the\s+|a\s+|an\s+|in\s+|on\s+|at\s+)*(?P<old>(?:[^,.;!?]|[.,](?=\d)){1,40})",
        FLAGS,
    ),
    lazy_pattern(
        r"\binstead\s+of\s+(?:taking\s+|using\s+|the\s+|our\s+|my\s+|a\s+|an\s+|in\s+|on\s+|at\s+)*(?P<old>(?:[^,.;:!?]|[.,:](?=\d)){1,40})",
        FLAGS,
    ),
    lazy_pattern(
        r"\b(?:moved|switched|changed|renamed|migrated|went|rescheduled|transferred|relocated|converted|increased|raised|reduced|lowered|extended|cut)\b[^.;!?]{0,60}?\bfrom\s+(?:the\s+|my\s+|our\s+)?(?P<old>(?:[^,.;:!?]|[.,:](?=\d)|(?<=\b(?:dr|mr|mrs|ms|st))\.){1,40}?)\s+(?:over\s+)?to\s+(?:the\s+)?(?P<new>\S+)",
        FLAGS,
    ),
)
ENDED = lazy_pattern(
    r"""\b(?:(?P<never>no\s+longer)
    |(?:(?:i|we|(?P<who>(?-i:\p{Lu}\p{Ll}+(?:\s\p{Lu}\p{Ll}+)?)))(?:['’](?:ve|s)|\s+ha(?:ve|s))?\s+
      (?:just\s+|finally\s+|actually\s+|already\s+|decided\s+to\s+|had\s+to\s+)*|^\W*|\band\s+|\bso\s+)
     (?P<verb>cancell?(?:ed)?|called\s+off|gave\s+up(?:\s+on)?|given\s+up(?:\s+on)?|give\s+up|sold|sell|abandoned|quit|ditched|scrapped
     |got\s+rid\s+of|get\s+rid\s+of|left|stopped|dropped\s+out\s+of|dropped|deleted|uninstalled|gone\s+off|threw\s+(?:out|away)
     |gave\s+away|given\s+away|returned|resigned\s+(?:from|as)|unsubscribed\s+from|let)\b)""",
    FLAGS,
)
ANYMORE = lazy_pattern(r"\b(?:any\s?more|any\s+longer)\b", FLAGS)
OBJECT = lazy_pattern(
    r"\s+(?P<object>[^,.;:!?]{2,60}?)(?=\s+(?:and|because|since|after|so|but|last|this|for|in|on|yesterday|today|to|due|when|as|with|at)\b|[,.;:!?]|$)",
    FLAGS,
)
OFF = lazy_pattern(
    r"\bthe\s+(?P<object>[\p{L}\s-]{2,40}?)\s+(?:is|was|got|has\s+been)\s+(?:off|cancell?ed|called\s+off)\b",
    FLAGS,
)
BACK = lazy_pattern(r"\b(?:again|after\s+all|any\s?more|no\s+longer|any\s+longer|back\s+to)\b", FLAGS)
TALLY = lazy_pattern(
    r"""\b(?:i|we)(?:['’]ve|\s+have)\s+(?:now\s+|already\s+|successfully\s+|just\s+|only\s+|so\s+far\s+)*(?P<verb>[\p{L}]{3,12}(?:ed|en|d|t|ne))\s+
    (?:about\s+|around\s+|over\s+|all\s+|a\s+total\s+of\s+|only\s+|almost\s+|up\s+to\s+)*$""",
    FLAGS,
)
SLOT = lazy_pattern(
    r"^\W*(?:so|and|but|well|also|ok|okay|by\s+the\s+way|btw)?,?\s*(?:my|our)\s+(?P<np>(?:[\p{L}-]+\s+){0,3}?[\p{L}-]+)\s+(?:is|are)\s+(?:at\s+|about\s+|around\s+)?$",
    FLAGS,
)
AMENDED = lazy_pattern(
    r"""^\W*(?:(?:oh|ah|no|hm+|ok|okay|sorry|wait|actually|scratch\s+that|correction|my\s+(?:bad|mistake)|oops|i\s+mean(?:t)?|on\s+second\s+thought|hold\s+on|forget\s+that|let['’]?s|no\s+wait|and|but|please)\W+)*
    (?:(?P<make>(?:make|let['’]?s\s+make|can\s+you\s+make|better\s+make)\s+(?:that|it))|(?P<sorry>(?:no\s+wait|wait|actually|scratch\s+that|correction|sorry|oops|i\s+meant|i\s+mean|no|on\s+second\s+thought)\b))""",
    FLAGS,
)
AS_NAME = lazy_pattern(
    r"\b(?:is|it['’]s|that['’]s|call|called|named|at|in|to|with|meant|mean|make)\s+(?:me\s+|it\s+|that\s+|the\s+)*$",
    FLAGS,
)
BETTER = lazy_pattern(
    r"^\W*(?:(?:actually|hm+|sorry|oh|wait|no)\W+)*(?:.{0,20}?)\b(?:works?|is|would\s+be|suits?)\s+better\b",
    FLAGS,
)
FROM = lazy_pattern(
    r"\bfrom\s+(?:the\s+|about\s+|just\s+)*(?:[$€£]?\d|\w+day\b)[^,;]{0,30}?\s(?:up\s+|down\s+)?to\s+(?:just\s+|only\s+|about\s+)*$",
    FLAGS,
)
RISES = lazy_pattern(
    r"\b(?:increased?|raised?|upped|extended|prolonged|grow\w*|grew|risen|rose|climbed|higher"
    r"|up\s+to)\b",
    FLAGS,
)
FALLS = lazy_pattern(
    r"\b(?:lowered|reduced|decreased|cut|shortened|fallen|fell|down\s+to|lower|dropped)\b", FLAGS
)
AIMS = lazy_pattern(
    r"\b(?:goals?|targets?|deadline|aim(?:ing|s|ed)?|hoping|objective|limit|cap|max(?:imum)?"
    r"|minimum)\b",
    FLAGS,
)
OF_WHAT = lazy_pattern(
    r"\s+(?:for|on)\s+(?P<what>(?!me\b|now\b|us\b)[^,.;:!?]{2,50}?)(?=\s+(?:by|from|until|starting|due|in|at)\b|[,.;:!?]|$)",
    FLAGS,
)
SAYS_AGAIN = lazy_pattern(r"\bstill\b|\bas\s+planned\b|\bremains?\b|\bsame\b|\bnot\s+changed\b", FLAGS)
FORMER = lazy_pattern(
    r"\b(?:used\s+to|formerly|previously|originally|in\s+the\s+past|back\s+then|until\s+recently"
    r"|once(?!\s+(?:an?|per|every|in)\b))\b",
    FLAGS,
)
# A clause after one of these tells what came of it: "we changed the carrier, shipping takes 3 days".
NEWS = lazy_pattern(
    r"""\b(?:changed?|moved|reschedule[ds]?|postponed|extension|renewed|switched|corrected|correction|misread|misheard
    |upgraded|dropped\s+out|update\s+on|turns\s+out|doubled?|halved?|raise|promotion|promoted|re-?org\w*|brought\s+forward|delayed)\b""",
    FLAGS,
)
HINT = lazy_pattern(
    r"""\b(?:any\s?more|instead|actually|not|quit|left|new|again|back|already|finally|decided|cancel\w*|sold
    |stopped)\b|n['’]t\b""",
    FLAGS,
)
# Words of change that change nothing here.
IDLE = lazy_pattern(
    r"""\b(?:(?:can(?:['’]t|not)|couldn['’]t)\s+(?:wait|believe|deny|imagine|help|agree)\b
    |(?:don['’]t|do\s+not)\s+(?:forget|worry|mention)\b|not\s+(?:only|just|sure)\b
    |(?:keep|keeps|kept|what['’]s|cheer\w*|growing|grew|grow|speak\w*|spoke|sign\w*|end\w*|check\w*|catch\w*|met|meet\w*
    |look\w*|show\w*|wake|woke|set\w*|made|make\w*|pick\w*|lift\w*|fir(?:e|ed|ing)|sum\w*|stand\w*|stood)\s+(?:\w+\s+){0,2}?up\b
    |(?:hear|chat|talk|see|meet|speak)\s+(?:from\s+|to\s+|with\s+)?(?:you\s+)?again\b)""",
    FLAGS,
)
WRONGLY = lazy_pattern(
    r"\b(?:wrong(?:ly)?|mistaken(?:ly)?|mistake|error|mis(?!s\b"
    r"|sed\b)\p{L}{4,})\b",
    FLAGS,
)
MISTAKEN = lazy_pattern(r"\b(?:misread|misheard|mistyped|sorry|wait|my\s+mistake|i\s+was\s+wrong)\b", FLAGS)
# What one has one of at a time: how it is told, and how a new one is taken up. A name follows.
BEFORE_NAME = r"(?:the\s+|a\s+|an\s+|my\s+|our\s+)?$"
_WORDS_OF_NOW = (
    # German, French, Spanish, Portuguese
    "jetzt|nun|inzwischen|mittlerweile|maintenant|désormais|ahora|actualmente|agora"
)
NOW_ELSEWHERE = lazy_pattern(rf"\b(?:{_WORDS_OF_NOW})\b", FLAGS)
_NOW_ELSEWHERE = rf"(?:(?:{_WORDS_OF_NOW})\s+)*"
OWN_ELSEWHERE = frozenset(
    terms(f"ich wir mein meine j je nous mon ma mes yo nosotros mi mis {_WORDS_OF_NOW.replace('|', ' ')}")
)
STATES = {
    "~home": lazy_pattern(
        rf"""\b(?:(?:liv(?:e|es|ing)|based|stay(?:ing|s)?)\s+(?:in|at)|(?:wohn|leb)(?:e|t|en)\s+{_NOW_ELSEWHERE}in
        |habit(?:e|ons|ent)\s+{_NOW_ELSEWHERE}(?:à|en|au)|viv(?:o|e|imos)\s+{_NOW_ELSEWHERE}en)\s+{BEFORE_NAME}""",
        FLAGS,
    ),
    "~job": lazy_pattern(
        rf"""\b(?:(?:work(?:s|ing)?|job|employed)\s+(?:at|for|with)|arbeite(?:n|t)?\s+{_NOW_ELSEWHERE}(?:bei|für)
        |travaill(?:e|ons|ent)\s+{_NOW_ELSEWHERE}(?:chez|pour)|trabaj(?:o|a|amos)\s+{_NOW_ELSEWHERE}(?:en|para))\s+{BEFORE_NAME}""",
        FLAGS,
    ),
    "~car": lazy_pattern(r"\bdriv(?:e|es|ing)\s+(?:an?|my|our)\s+(?:old\s+|new\s+)?$", FLAGS),
    "~school": lazy_pattern(
        rf"\b(?:goes\s+to|go\s+to|attend(?:s|ing)?|stud(?:y|ies|ying)\s+at|enrolled\s+(?:at|in))\s+{BEFORE_NAME}",
        FLAGS,
    ),
}
TAKEN_UP = {
    "~home": lazy_pattern(rf"\b(?:moved|relocated)\s+(?:back\s+|over\s+|in\s+)?to\s+{BEFORE_NAME}", FLAGS),
    "~job": lazy_pattern(
        rf"\b(?:joined|(?:started|starting)\s+(?:work(?:ing)?\s+|a\s+job\s+|a\s+new\s+job\s+)?(?:at|with)"
        rf"|(?:a|my)\s+new\s+job\s+(?:at|with)|got\s+(?:a|the)\s+job\s+(?:at|with)|got\s+hired\s+(?:at|by))\s+{BEFORE_NAME}",
        FLAGS,
    ),
    "~school": lazy_pattern(rf"\b(?:switched|transferred|changed\s+schools?)\s+to\s+{BEFORE_NAME}", FLAGS),
}
# Where a thing or another person is, which ends when it is moved.
PLACES = {"~home": lazy_pattern(rf"\b(?:is|are)\s+(?:located\s+)?(?:in|at)\s+{BEFORE_NAME}", FLAGS)}
_A_PLAN = r"""(?!(?:in|out|to|on|up|back|it|that|this|them|from|house|here|there)\b)(?:the\s+|our\s+|my\s+)?
[\p{L}'’-]+(?:\s+[\p{L}'’-]+){0,2}?"""
# What was put off, where the new time comes behind it: "we moved Lisbon: now we fly in March".
PUT_OFF = lazy_pattern(
    rf"""\b(?:moved|postponed|rescheduled|pushed(?:\s+back)?|delayed|brought\s+forward)\s+(?P<np>{_A_PLAN})\s*(?:[:,;—–]|\s-\s|$)
    |^\W*(?P<who>{_A_PLAN})\s+(?:got|was|is|has\s+been|had\s+to\s+be)\s+(?:moved|postponed|rescheduled|pushed(?:\s+back)?|delayed
    |brought\s+forward)\s*(?:[:,;—–]|\s-\s|$)""",
    FLAGS,
)
PAYS = lazy_pattern(
    r"""\b(?:from|starting(?:\s+(?:in|from|with))?|as\s+of)\s+(?:now(?:\s+on)?|next\s+(?:month|year|week)|this\s+month
    |(?:january|february|march|april|may|june|july|august|september|october|november|december)(?:\s+\d{4})?)(?:\s+on)?,?\s+
    (?:i|we)(?:['’]ll|['’]m|['’]re|\s+will|\s+am|\s+are|\s+have\s+to)?\s+(?:be\s+)?pay(?:ing)?\s+$""",
    FLAGS,
)
ROLE = lazy_pattern(
    r"\bi(?:['’]m|\s+am)?\s+(?:now\s+|currently\s+)*work(?:ing)?\s+(?:now\s+)?as\s+an?\s+(?!(?:team|group|couple|family|whole)\b)"
    r"(?P<role>[\p{L}-]+(?:\s+[\p{L}-]+){0,3}?)(?=\s+(?:now|these|at|for|in|since|and|on)\b|[^\p{L}\s]|$)",
    FLAGS,
)
# Work that takes a part of one's time, and ends no other.
BESIDE = lazy_pattern(
    r"""\b(?:on\s+(?:the\s+side|top|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:the\s+)?weekends?)|at\s+(?:the\s+)?(?:weekends?|night)
    |(?:in|over|during|for)\s+(?:the\s+|my\s+)?(?:mornings?|evenings?|nights?|summers?|winters?|spring|autumn|holidays?|vacations?|season
    |(?:spare|free)\s+time|weekends?)
    |part[\s-]?time|side\s+(?:job|gig|hustle)|second\s+job|volunteer\p{L}*|for\s+fun|occasional(?:ly)?|sometimes|seasonal(?:ly)?
    |every\s+(?:(?:second|other)\s+)?(?:day|evening|week|weekend|month|(?:mon|tues|wednes|thurs|fri|satur|sun)day)
    |(?:once|twice|\p{L}+\s+(?:days?|evenings?|hours?|times?))\s+(?:a|per)\s+(?:week|month|year)
    |also|besides|as\s+well|too)\b""",
    FLAGS,
)
SLOT_BEHIND = lazy_pattern(
    r"\s+is\s+(?:now\s+)?(?:my|our)\s+(?:new\s+)?(?P<np>(?:[\p{L}-]+\s+){0,2}?[\p{L}-]+)(?:\s+now)?\s*(?:[,.;!]|$)",
    FLAGS,
)
MEANS = frozenset(terms("number phone cell mobile email mail address dead old"))
CONTACTS = frozenset(("phone", "address"))
CONTACT = lazy_pattern(r"\b(?:new|changed?|use|instead|old|switched|update)\b", FLAGS)
# How somebody says to have or use what a name stands for; and to belong where one can leave.
USES = lazy_pattern(
    r"\b(?:use|uses|using|in|on|with|via|have|got|is|are|am|run|runs|drive|prefer|see|seeing)\s+(?:the\s+|an?\s+|my\s+|our\s+)?$",
    FLAGS,
)
WORKS = lazy_pattern(
    r"\b(?:work(?:s|ing)?|job|employed|member|belongs?|plays?\s+(?:for|in)|goes\s+to|attends?|studies|studying|trains?|volunteers?"
    r"|(?:it['’]s|is|are)\s+(?:me|i|us)\b)",
    FLAGS,
)
HAS_OF = lazy_pattern(
    r"\b(?:has|have|had|with|set|is|needs?)\s+(?:an?|the)\s+(?:[\p{L}-]+\s+){1,2}of\s+$", FLAGS
)
MIND = lazy_pattern(
    r"\bchanged\s+(?:my|our)\s+minds?\s+(?:about|on)\s+(?:the\s+|my\s+|our\s+)?(?P<object>[^,.;:!?]{2,40}?)(?=\s+(?:and|so|but|because|now)\b|[,.;:!?]|$)",
    FLAGS,
)
INTENDS = lazy_pattern(
    r"\b(?:want(?:s|ed)?|decided|plan(?:s|ned|ning)?|going\s+to|will|chose|chosen|prefer|picked|settled\s+on|go(?:ing)?\s+(?:with|for)|book(?:ed)?|order(?:ed)?)\b|['’]ll\b",
    FLAGS,
)

# The same in German, Spanish, French and Portuguese.
CONTRAST_ELSEWHERE = lazy_pattern(
    r"""\b(?:(?:an)?statt|anstelle\s+von|en\s+vez\s+d(?:el?)|en\s+lugar\s+d(?:el?)|au\s+lieu\s+d(?:e|u)|em\s+vez\s+d[eoa])\s+
    (?:(?:der|die|das|den|dem|ein|eine|einen|einer|im|am|in|la|el|los|las|le|les|l'|un|una|une|um|uma|o|a|os|as|em|en)\s+)*
    (?P<old>[^,.;:!?]{1,40}?)(?=\s+(?:gebaut|genommen|gemacht|bestellt|\p{L}+en|para|por|pour|y|et|e|und|pero|mais|mas|aber|porque|parce|weil)\b
    |[,.;:!?]|\s*$)""",
    FLAGS,
)
CHANGE_ELSEWHERE = lazy_pattern(
    r"""\b(?:verschieb\p{L}*|verschoben|verleg\p{L}+|vorgezogen|vertagt|geändert|erhöht|gesenkt|verlängert|verkürzt|cambiad[oa]s?|movid[oa]s?|pasad[oa]s?
    |aplazad[oa]s?|adelantad[oa]s?|retrasad[oa]s?|reprogramad[oa]s?|subido|bajado|reportée?s?|repoussée?s?|décalée?s?|avancée?s?|déplacée?s?|augmentée?s?|baissée?s?
    |adiad[oa]s?|mudad[oa]s?|antecipad[oa]s?|remarcad[oa]s?)\b""",
    FLAGS,
)
TOWARDS_ELSEWHERE = lazy_pattern(
    r"\b(?:auf|bis|a|al|hasta|para|au|à|jusqu['’]au|ao?|até)\s+(?:(?:den|die|das|el|la|las|los|le|les|o|os|as)\s+)?$",
    FLAGS,
)
IS_ELSEWHERE = lazy_pattern(
    rf"""\b(?:ist|sind|kostet|kosten|beträgt|dauert|beginnt|es|son|cuesta|cuestan|dura|empieza|est|sont|coûte|coûtent|dure|commence|é|são|custa|custam|começa)\s+
    (?:(?:{_WORDS_OF_NOW}|am|um|bei|der|die|das|den|el|la|las|los|le|les|o|a|à|al|de|seulement|nur|solo)\s+)*$""",
    FLAGS,
)
ANYMORE_ELSEWHERE = lazy_pattern(
    r"\bnicht\s+mehr\b|\bkeine?n?\s+\p{L}+\s+mehr\b|\bya\s+no\b|\b(?:ne\s+|n['’])\p{L}+\s+plus\b|\bjá\s+não\b|\bnão\s+[^.;!?]{1,40}?\s+mais\b",
    FLAGS,
)
