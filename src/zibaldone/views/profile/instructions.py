"""What an assistant is told to do from now on, and for which questions it is meant."""

from __future__ import annotations

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.words import STOP_WORDS, terms, words
from zibaldone.views.profile.clauses import FLAGS, Reading, first_phrase
from zibaldone.views.profile.governed import outside_texts

# What an assistant can be asked to do; in their base form they open imperatives.
_VERBS = frozenset(
    """include provide give use format answer reply respond write explain show list mention highlight confirm
    ask tell remind keep avoid start end finish add call cite check convert translate address assume speak
    talk suggest recommend offer put summarize summarise make be do consider compare state say describe
    break return send reference note refer treat quote present limit begin structure ensure double-check
    verify specify spell round number bold tag label order sort link focus stick skip omit exclude emphasize
    emphasise point detail warn alert let help share stop repeat follow report calculate display illustrate
    outline clarify define discuss indicate identify prioritize prioritise propose quantify rank rate recap
    reword phrase rephrase respect review save simplify stay substitute support test track type update walk
    abbreviate adjust apply attach base bring capitalize change choose clear code comment count default
    draft acknowledge account advise analyze annotate append begin express factor flag estimate evaluate
    prepend print name lead preface prefix pick plan praise print push read reveal switch take think try
    turn wrap leave drop sign mark remove search find
    touch edit commit merge deploy delete install rebase execute modify overwrite refactor rename generate
    validate document publish upload""".split()
)
_NEVER_BASE = lazy_pattern(r".*(?:ed|ing|ly)$")
_BASE_IN_ED = frozenset("embed need feed proceed exceed succeed bring reply apply".split())
_LEAD = r"""^\W*(?:(?:also|and|but|so|oh|btw|by\s+the\s+way|okay|ok|hey|just|hi|hello|remember|note
|important|one\s+more\s+thing|actually|
thanks|great|got\s+it|yes|no|perfect|lastly|finally)\b[,:!.\s–—-]*)*"""
_LASTS = lazy_pattern(
    r"""\b(?:always|never|from\s+now\s+on|from\s+here\s+on|going\s+forward|moving\s+forward
    |in\s+(?:the\s+)?future|by\s+default|every\s+time|each\s+time
    |any\s?time|whenever|(?:when|if)\s+I(?:['’]m|\s+am)?\s+(?:ever\s+)?(?:ask|talk|mention|request|inquir
    |bring\s+up|discuss|say|tell|want|need|send|share|writ|look|plan|quer)\w*
    |until\s+I\s+say|unless\s+I\s+(?:ask|say|tell)|ever\s+again|anymore|any\s+more|(?:in|with)\s+(?:all|any
    |every)\b|for\s+(?:all|any|every|future)\b|as\s+a\s+rule|at\s+all\s+times)\b""",
    FLAGS,
)
_ONCE = lazy_pattern(
    r"""\b(?:this\s+(?:time|one|once|email|e-mail|letter|essay|draft|text|message|code|document|paragraph
    |section|case|function|week|morning|report|list|version|story|chapter|question|answer|reply|response|task
    |request|summary|translation|poem|exercise|afternoon|evening|part|step)
    |for\s+now|right\s+now|today|tonight|tomorrow|just\s+(?:this\s+)?once|the\s+(?:above|following)|yet)\b""",
    FLAGS,
)
# One text, which only "always" makes all of them: "no jargon in the summary", "in the answer"
_IN_ONE = lazy_pattern(
    r"""\b(?:in|for|of|from|to)\s+(?:the|my|your|that|our)\s+(?:next\s+|final\s+|first\s+|last\s+|above\s+)?(?:summary|essay|email|e-mail|letter
    |question|text|answer|reply|response|draft|report|story|poem|post|article|speech|translation|paragraph|introduction|conclusion
    |outline|table|list|caption|abstract|message|presentation|script|song|cover\s+letter)\b""",
    FLAGS,
)
# What a thing is asked to be, or to be about: "a boy who never sleeps", "a song called Always"
_OF_ITS_CONTENT = lazy_pattern(
    r"""(?<!\b(?:so|sure|remember|know|note)\s)\b(?:who|whom|whose|which|that|where|in\s+which)\s+(?!(?:I|we|you|is|are|apply|follow)\b)
    |\blike\s+(?:I|we)\s+(?!(?:said|told|asked|mentioned|do|did|always\s+say)\b)|\b(?:called|titled|entitled|named|saying|starring|featuring)\s|\b(?:stor(?:y|ies)|novel|tale|poem|song|essay|scene|film|joke|riddle|rule|sign|note)\s+
    (?:about|of|for|on|with|where|to)\s""",
    FLAGS,
)
_ASKED = r"""(?P<cue>(?:when(?:ever)?|if|every\s+time|each\s+time|any\s?time|in\s+case)\s+(?:I|we)(?:['’]m
|['’]re|\s+am|\s+are)?\s+(?:ever\s+)?
(?:ask(?:ing)?|talk(?:ing)?|mention(?:ing)?|request(?:ing)?|inquir\w+|bring(?:ing)?\s+up|discuss(?:ing)?
|say(?:ing)?|want(?:ing)?|need(?:ing)?|send(?:ing)?|shar\w+|writ\w+|
look(?:ing)?|plan(?:ning)?|tell(?:ing)?|query\w*|work(?:ing)?|have|seek\w*|get|raise|refer\w*|post|paste)\b)
(?P<tie>(?:\s+(?:you|about|for|on|regarding|concerning|to|of|with|into|questions?|advice|help|something
|anything|recommendations?\s+on|details\s+on|your|an?|the|any|some)\b)*)\s*
(?P<topic>[^,;.!?–—]*)"""
_CONDITION = lazy_pattern(_ASKED, FLAGS)
_CONDITION_FIRST = lazy_pattern(rf"{_LEAD}(?:please\s+)?{_ASKED}\s*[,–—-]\s*(?P<main>.+)", FLAGS)
_FOR_TOPIC = lazy_pattern(
    r"""\b(?:for|in|with|about|on|regarding)\s+(?:all|any|every|future|my)\s+(?:of\s+)?(?:my\s+|your\s+
    |future\s+)*(?P<topic>[^,;.!?]+?)(?=\s+(?:from\s+now|going\s+forward|please|always)\b|[,;.!?]|$)""",
    FLAGS,
)
_FRAME = r"""(?:(?:please|kindly)[,\s]+|(?:from\s+now\s+on|from\s+here\s+on(?:\s+out)?|going\s+forward
|moving\s+forward|in\s+(?:the\s+)?future|by\s+default|as\s+a\s+rule|in\s+general)[,\s]+|
(?:I|we)(?:['’]d|\s+would)?\s+(?:really\s+)?(?:want|like|need|expect|prefer)\s+(?:for\s+)?you\s+to\s+
|you\s+(?:should|must|have\s+to|need\s+to|can|may)\s+|(?:make|be)\s+sure\s+(?:to\s+|that\s+you\s+|you\s+
|that\s+)|
remember\s+to\s+|(?:can|could|would)\s+you\s+)*"""
_IMPERATIVE = lazy_pattern(
    rf"""{_LEAD}(?P<frame>{_FRAME})(?P<lasting>(?:always|never|only|just|please|ever|do\s+not|don['’]?t|not
    |also|no\s+longer)\s+)*
    (?P<frame2>(?:(?:make|be)\s+sure\s+(?:to\s+|you\s+|that\s+you\s+)|remember\s+to\s+
    |try\s+to\s+)?)(?P<verb>[\p{{L}}-]+)\b\s*(?P<rest>.*)""",
    FLAGS,
)
_RELEASE = lazy_pattern(
    r"""\byou\s+(?:don['’]?t|do\s+not|no\s+longer)\s+(?:need
    |have)\s+to\s+(?P<verb>[\p{L}-]+)\b\s*(?P<rest>.*)|^\W*(?:please\s+)?stop\s+(?P<gerund>[\p{L}-]+ing)\b\s*(?P<rest2>.*)""",
    FLAGS,
)
_NEGATIVE = lazy_pattern(
    r"\b(?:never|not|don['’]?t|avoid|stop|no\s+longer|skip|omit|exclude)\b", regex.IGNORECASE
)
# What says that a rule follows
_RULE = lazy_pattern(
    rf"""{_LEAD}(?:(?:(?:my|the)\s+(?=rule\s+for\s+you)|an?\s+|one\s+|another\s+)?(?:(?:new|other|house|general|basic|simple|
    standing|hard|firm|last|more)\s+)*rule)(?:\s+(?:for\s+you|from\s+now\s+on|going\s+forward))?\s*[:,–—-]\s*(?P<main>.+)""",
    FLAGS,
)
# What an act waits for: whoever is told it is the one who acts
_WAITS_FOR = lazy_pattern(
    r"""\b(?:before|until|unless|without|after)\s+(?:you(?:['’](?:re|ve)|\s+are|\s+have)?\s+(?:done|finished|say|tell|answer|reply
    |respond|report|claim|declare|finish|commit|merge|push|deploy|send|post|mark|suggest|recommend|hand|submit|change|delete|close|call)\b
    |(?:first\s+)?(?:asking|telling|checking\s+with|consulting|warning|showing)
    \s+(?:me|us)\b|(?:my|our)\s+(?:ok|okay|approval|permission|consent|go-ahead|say-so|confirmation)\b
    |I\s+(?:say|ask|tell|ok|okay|confirm|approve|agree|sign)\b)
    |\b(?:ask|tell|check\s+with|warn|show)\s+me\s+(?:first|before)\b""",
    FLAGS,
)
# Forms of the past, which open a sentence that leaves "I" out: "never met you before"
_PAST = frozenset(
    """ate became been began bit blew broke brought built bought came caught chose cost cut did done
    drank drawn drew driven drove drunk eaten fallen fell felt fought flew flown forgave forgot
    forgotten found froze gave given gone got gotten grew grown had hated heard held hit hurt kept knew
    known laid lay led left lent liked lost loved made meant met owned paid put quit ran ridden risen
    rode rose said sang sat saw seen sent shot shut slept sold spent spoke spoken stole stood stuck sung
    swam sworn swore taken taught thought thrown threw told took understood used wanted was went were
    woke won wore worn written wrote""".split()
)
_WRITTEN = r"""(?:prices?|costs?|amounts?|totals?|dates?|times|numbers?|figures?|units?|distances?|weights?
|temperatures?|measurements?|currenc(?:y|ies)|answers?|repl(?:y|ies)|responses?|explanations?
|summar(?:y|ies)|translations?|lists?|tables?|code|snippets?|comments?|examples?|quotes?|quotations?
|citations?|sources?|links?|headings?|headlines?|titles?|names?|recipes?|e-?mails?|letters?
|messages?|docstrings?|variables?|functions?|queries|commands?|paths?|percentages?|ingredients?
|quantities|translations?|spelling|captions?|subject\s+lines?)"""
# A thing that an assistant writes, and how, without a verb: "prices always with VAT included"
_WRITTEN_SO = lazy_pattern(
    rf"""{_LEAD}(?P<lasting>from\s+now\s+on[,:]?\s+)?(?:(?:all|any|the|your)\s+)?
    (?P<thing>(?:[\p{{L}}-]+\s+){{0,2}}{_WRITTEN})\s+(?P<always>always\s+|only\s+ever\s+|only\s+)?
    (?P<how>(?:in\s+(?!(?:an?|the|my|our|his|her|their)\s+(?!(?:present|past|first|second|third|same|active|passive|imperative)\b))
    |as\s+(?!\S+\s+as\b)|with(?:out)?\s+(?!(?:me|us|him|her|them|you|my|our|his|their)\b|(?-i:\p{{Lu}}\p{{Ll}}))
    |(?:for|to)\s+(?:\d+|one|two|three|four|five|six|the\s+nearest)\b).+)""",
    FLAGS,
)
_FORM_NOUN = r"""(?:emojis?|emoticons?|semicolons?|exclamation\s+(?:marks?|points?)|bullet\s+points?|bullets
|jargon|slang|syntax|intros?|introductions?|preambles?|outros?|filler|fluff|disclaimers?|apolog(?:y|ies)
|abbreviations?|acronyms?|markdown|tables|headings|headers|hashtags|em[\s-]dashes|dashes|clich[eé]s
|metaphors|small\s+talk|flattery|compliments|platitudes|placeholders?|type\s+hints|globals
|pseudocode|walls?\s+of\s+text|follow-?up\s+questions|passive\s+voice|long\s+(?:answers|replies
|explanations))"""
# What an assistant's words are to be without: "no emojis please", "no bash syntax pls"
_WITHOUT = lazy_pattern(
    rf"""(?:{_LEAD}|^.*[,;]\s*)(?P<request>(?:please|pls|plz)[,\s]+)?(?:no|zero)\s+(?:more\s+)?
    (?P<what>(?:(?!for\b|in\b|on\b)[\p{{L}}-]+\s+){{0,2}}?{_FORM_NOUN})
    (?:\s+in\s+(?:(?:your|the|any|my)\s+)?(?:[\p{{L}}-]+\s+)?{_WRITTEN})?
    (?P<request>(?:[\s,]+(?:please|pls|plz|thanks|ever|anywhere|from\s+now\s+on|at\s+all|again|btw))*)\W*$""",
    FLAGS,
)
_FORM = lazy_pattern(
    r"""\b(?:your|all)\s+(?:answers?|repl(?:y|ies)|responses?|explanations?|messages|output|tone
    |language|writing|wording)\b|^(?:call|address)\s+me\b
    |^(?:answer|reply|respond|speak|talk)\s+(?:to\s+me\s+)?(?:only\s+)?(?:in|with|briefly|concisely
    |formally|informally|casually|politely|like)\b
    |^write\s+(?:to\s+me\s+)?(?:only\s+)?in\s+(?-i:\p{Lu}\p{Ll}+)(?:\s+language)?[.!]?$
    |^use\b(?!\s+(?:the|that|this)\s+same).*\b(?:units?|spelling|notation|pronouns?|emojis?|emoticons?
    |measurements?|clock|bullet\s+points?|markdown|jargon|slang|abbreviations?|tone|language)\b
    |\bemojis?\b""",
    FLAGS,
)
_PREPOSITION = lazy_pattern(
    r"\b(?:in|as|with|for|to|by|at|on|from|when|whenever|if|unless|instead|rather|every|each|using|and|so"
    r"|because|like|that|which)\b|[\"“(,;.!?]",
    regex.IGNORECASE,
)
_CHOOSES_FORM = frozenset(
    terms("use write format answer reply respond speak talk keep call address spell make")
)


def instruction(statement: str, *, among_people: bool) -> Reading | None:
    """What an assistant is to do, or to do without, from now on, with what it is meant for."""
    rule = _RULE.match(statement)
    if reading := _imperative(statement, rule, among_people=among_people):
        return reading
    return (
        None if among_people else _without_a_verb(rule["main"] if rule else statement, rule=rule is not None)
    )


def _imperative(statement: str, rule: regex.Match[str] | None, *, among_people: bool) -> Reading | None:
    """An imperative that lasts."""
    condition = _CONDITION.search(statement)
    if released := _RELEASE.search(statement):
        act = (released["verb"] or released["gerund"] or "").casefold()
        rest = released["rest"] or released["rest2"] or ""
        if (
            (act in _VERBS or released["gerund"])
            and (released["gerund"] is None or not _ONCE.search(rest))
            and not among_people
        ):
            return _instructing(act, rest, condition, negative=True)
    first = None if rule else _CONDITION_FIRST.match(statement)
    main = (rule or first or {"main": statement})["main"]
    match = _IMPERATIVE.match(main)
    if match is None:
        return None
    act, rest = match["verb"].casefold(), match["rest"]
    begins = len(statement) - len(main) + match.start("verb")
    content = _OF_ITS_CONTENT.search(statement, begins)
    outside = outside_texts(statement[: content.start()] if content else statement)
    lasts = rule is not None or bool(_LASTS.search(f"{outside} {condition['cue'] if condition else ''}"))
    if act not in _VERBS and not (
        _may_be_base(act)
        and lasts
        and ((condition and not first) or _lasts_for_assistant(match, rest, rule=rule is not None))
    ):
        return None
    if among_people and condition is None and "from now on" not in statement.casefold():
        return None
    if not rest.strip(" .!") or rest[0] in ",;:":  # "hmm, so if I need to ..."
        return None
    lasting = (match.captures("lasting") or []) + [match["frame"] or ""]
    polite = "please" in " ".join(lasting).casefold()
    refuses = bool(_NEGATIVE.search(" ".join(match.captures("lasting")))) or act in ("avoid", "stop")
    of_form = bool(_FORM.search(f"{act} {outside[begins + len(act) :].strip()}"))
    if not lasts and _IN_ONE.search(statement):
        return None
    if not (lasts or of_form or (polite and refuses)) or (_ONCE.search(statement) and condition is None):
        return None
    if (
        condition is not None
        and first is None
        and match.start("verb") > condition.start() + (len(statement) - len(main))
    ):
        return None  # the verb that was found stands inside of the condition
    if not _addresses_assistant(act, rest, match, condition, lasts=lasts, of_form=of_form):
        return None
    return _instructing(act, rest, condition, negative=refuses)


def _without_a_verb(statement: str, *, rule: bool) -> Reading | None:
    """How something is to be written, or without what: "dates always as dd.mm.yyyy", "no emojis please"."""
    if _ONCE.search(statement) or _IN_ONE.search(statement):
        return None
    if (so := _WRITTEN_SO.match(statement)) and (so["always"] or so["lasting"] or rule):
        return _instructing("write", f"{so['thing']} {so['how']}", None, negative=False)
    if (without := _WITHOUT.match(statement)) and ("".join(without.captures("request")) or rule):
        return _instructing("use", without["what"], None, negative=True)
    return None


def _lasts_for_assistant(match: regex.Match[str], rest: str, *, rule: bool) -> bool:
    """Whether "always" or "never" stands before an act, which is a rule or waits for somebody here."""
    lasting = {word.strip().casefold() for word in match.captures("lasting") or []}
    return not lasting.isdisjoint({"always", "never"}) and (rule or bool(_WAITS_FOR.search(rest)))


def _addresses_assistant(
    act: str,
    rest: str,
    match: regex.Match[str],
    condition: regex.Match[str] | None,
    *,
    lasts: bool,
    of_form: bool,
) -> bool:
    """Not a saying ("never say never", "always be kind"), nor advice to oneself."""
    if condition is not None or of_form:
        return True
    if act in ("be", "do", "try", "think", "let", "take", "stay", "follow") and not match["frame"].strip():
        return False
    return not (set(words(rest)) & {"myself", "yourself", "i", "im"} and not lasts)


def _may_be_base(verb: str) -> bool:
    return verb in _BASE_IN_ED or not (_NEVER_BASE.match(verb) or verb in STOP_WORDS or verb in _PAST)


def _instructing(act: str, rest: str, condition: regex.Match[str] | None, *, negative: bool) -> Reading:
    topic, clause = "", f"{act} {rest}"
    if condition is not None:
        topic = _trimmed(condition["topic"])
    elif scope := _FOR_TOPIC.search(rest):
        topic = "" if _FORM.search(f"your {scope['topic']}") else _trimmed(scope["topic"])
    elif not _FORM.search(clause):
        topic = _trimmed(first_phrase(rest))
    done = _PREPOSITION.split(_before_condition(rest), maxsplit=1)[0]
    acted = terms(done)
    if acted and not _CHOOSES_FORM.isdisjoint(terms(act)):
        acted = acted[-1:]
    subject = " ".join(
        [*terms(act), *acted, "|", *sorted(set(terms(topic)) if condition is not None else ())]
    )
    return Reading(
        "instruction", topic, subject, frozenset({" ".join(words(rest)), "not" if negative else "do"})
    )


def _before_condition(rest: str) -> str:
    condition = _CONDITION.search(rest)
    return rest[: condition.start()] if condition else rest


def _trimmed(topic: str) -> str:
    return regex.sub(r"^(?:(?:any|some|the|an?|my|your)\s+)+", "", topic.strip(), flags=regex.IGNORECASE)
