"""The clauses of a turn, and what each is worth in a line that tells of it; English, by form.

Words that bear on a subject count, names, numbers and what somebody does more than others. How a clause is
opened ("I'm trying to", "can you help me") is left out of it. What only asks is worth less than what is
stated. Left out are pleasantries, remarks on who is spoken to ("you've come a long way"), what is to be done
whenever something happens ("always ...": it happened at no time), code, captions, and what is quoted.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

import regex

from zibaldone.text.patterns import lazy_pattern
from zibaldone.text.salience import PHATIC
from zibaldone.text.sentences import sentences
from zibaldone.text.words import terms, words

LONGEST_READ = 4000  # characters of a message: behind these it is a text, not a turn
_LEAST_CLAUSE = 3  # words; fewer go with the clause before
_ASKED = 0.6  # of what a clause is worth, where it asks
_SPECIFIC = 0.5  # for each name or number, up to four
_DONE = 1.5  # for what somebody does
_FIRST_PERSON = frozenset("i me my mine myself we us our ours".split())
_SECOND_PERSON = frozenset("you your yours yourself u ya".split())

# What frames a request or a statement and bears on no subject.
_FRAMING = frozenset(
    terms(
        """want need try trying help understand explain know sure make show tell give share wonder wondering
        kinda kind sort bit guess feel feeling thing stuff question please struggle struggling stuck confused
        idea able would like get got correct check steps step example examples lot well good way ways
        ok okay mean maybe start starting let lets consider considering feedback advice suggest suggestions
        also still actually basically probably definitely worried curious handle"""
    )
)
_ADVERBS = (
    r"(?:(?:just|also|already|now|still|finally|recently|really|never|not|actually|definitely|both|kinda"
    r"|kind\s+of|a\s+bit|currently)\s+)*"
)
_LEAD = lazy_pattern(
    rf"""^(?:
      (?:and|but|so|also|then|well|ok(?:ay)?|hey|hi|hello|hmm+|oh|yeah|yes|cool|right|now|plus|like|because)\b[\s,.!]*
    | (?:you\s+know|by\s+the\s+way)\b[\s,]*
    | I\s*(?:['’]m|\s+am|['’]ve\s+been|\s+have\s+been)\s+{_ADVERBS}
      (?:trying\s+to|wondering(?:\s+(?:if|whether|about))?|curious(?:\s+(?:about|if|how))?|looking\s+to
        |hoping\s+to|thinking(?:\s+(?:about|of|that|if))?)\b\s*
    | I\s+{_ADVERBS}(?:want|need|would\s+like|wanted)\s+to\s+(?:make\s+sure(?:\s+that)?|know|understand)\b\s*
    | I\s*(?:['’]d|\s+would)\s+(?:like|love)\s+to\s+(?:know|understand)\b\s*
    | (?P<asks>(?:can|could|would|will)\s+you\s+(?:please\s+|also\s+|maybe\s+)*
        (?:(?:help|show|tell|give|explain\s+to|walk|guide)\s+(?:me|us)(?:\s+(?:to|with|through|out))?
            (?:\s+(?:understand|figure\s+out|know))?
          |explain|check|verify|please)\b\s*
      | (?:please\s+)?(?:help|tell|show|give)\s+me\b\s*(?:to\s+)?)
    )""",
    regex.IGNORECASE | regex.VERBOSE,
)
_TRAIL = lazy_pattern(
    r"(?:[,;:–—\s-]+|[,\s]+(?:you\s+know|like|so|right|and|or|but|kinda))$", regex.IGNORECASE
)
# What somebody has begun, decided or finished, and what they mean to do.
_ACTS = lazy_pattern(
    rf"""\b(?:I|we)(?:\s*['’](?:ve|m|re|ll|d)|\s+(?:have|had|am|are|was|were|will))?\s+{_ADVERBS}
      (?:chose|went|going|began|begun|done|made|set|bought|left|quit|met|read|wrote|got|paid|built|learnt|found|lost
        |won|sold|took|came|gave|ran|saw|spent|taught|told|plan|planning|prefer|stick|sticking|aim|aiming
        |\p{{L}}{{2,16}}ed)\b
    | \b(?:I|we)(?:['’]ll|\s+will)\b
    | \blet['’]s\b
    | \b(?:I|we)(?:['’]m|['’]re|\s+am|\s+are)\s+going\s+(?:to|with|for)\b""",
    regex.IGNORECASE | regex.VERBOSE,
)
_ASKS = lazy_pattern(
    r"(?:what|how|why|which|where|when|who|is|are|do|does|did|should|can|could|was)\b|.*[?？؟]$",
    regex.IGNORECASE | regex.DOTALL,
)
_STANDING = lazy_pattern(
    r"\W*(?:please\s+)?(?:always|never|from\s+now\s+on)\s+(?!been\b)\p{L}+", regex.IGNORECASE
)
# Code, set formulas, captions and placeholders such as "[image: a dog]", quoted lines, tables, hunks of a
# diff.
_NO_WORDS = lazy_pattern(
    r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|\\\[.*?\\\]|\$\$.*?\$\$|\[\p{Ll}[\p{Ll} ]{0,20}(?::[^\[\]]*)?\]"
    r"|^[ \t]*(?:>|\||[-+@]{2,3}\s)[^\n]*",
    regex.DOTALL | regex.MULTILINE,
)
_SIGN = lazy_pattern(r"[{}<>=;\\|_#/*^\[\]()$&%@`~]")
_PROSE_PER_SIGN = 8  # characters at least; else it is no prose
_BORDER = lazy_pattern(
    r"(?<=[,;:])\s+|(?<=\p{L}\p{L})\s+[-–—]{1,2}\s+(?=\p{L}\p{L})|\s+(?=(?:but|because|can\s+you|could\s+you|so\s+I)\b)"
)
_NAME_OR_NUMBER = lazy_pattern(r"\p{N}|(?<!^)\p{Lu}\p{L}+|[\"“]")


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause that may stand in a line: content[start:end] of its message."""

    start: int
    end: int
    words: int
    worth: float
    telling: frozenset[str]  # its terms that bear on a subject
    acts: bool  # somebody does something, or means to
    specific: bool  # it has a name or a number


def clauses(content: str, parties: AbstractSet[str] = frozenset()) -> list[Clause]:
    """The clauses of a message, in order; `parties` has the terms of the names of those who talk."""
    text = _NO_WORDS.sub(lambda match: regex.sub(r"[^\n]", " ", match[0]), content[:LONGEST_READ])
    parsed = []
    for first, last in sentences(text):
        sentence = text[first:last]
        if not _is_code(sentence) and not _STANDING.match(sentence):
            for left, right in _cut(sentence):
                if clause := _clause(text, first + left, first + right, parties):
                    parsed.append(clause)
    return parsed


def _cut(sentence: str) -> list[tuple[int, int]]:
    """Where its clauses stand; a word or two between commas belong to the clause before, as a name does."""
    borders = [0, *(match.end() for match in _BORDER.finditer(sentence)), len(sentence)]
    spans: list[tuple[int, int]] = []
    for left, right in pairwise(borders):
        if spans and len(sentence[left:right].split()) < _LEAST_CLAUSE:
            spans[-1] = (spans[-1][0], right)
        else:
            spans.append((left, right))
    return spans


def _clause(text: str, start: int, end: int, parties: AbstractSet[str]) -> Clause | None:
    is_question = False
    while (lead := _LEAD.match(text[start:end])) and lead.end():
        start += lead.end()
        is_question = is_question or lead["asks"] is not None
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end = start + len(piece.strip())
    while trail := _TRAIL.search(text[start:end]):
        end -= len(trail[0])
    piece = text[start:end]
    spoken = set(words(piece))
    telling = frozenset(terms(piece)) - PHATIC - _FRAMING - parties
    is_question = is_question or _ASKS.match(piece) is not None
    remarks = not is_question and spoken.isdisjoint(_FIRST_PERSON) and not spoken.isdisjoint(_SECOND_PERSON)
    if not telling or remarks:
        return None
    acts, specifics = _ACTS.search(piece) is not None, len(_NAME_OR_NUMBER.findall(piece))
    worth = len(telling) + _SPECIFIC * min(4, specifics) + _DONE * acts
    return Clause(
        start, end, len(piece.split()), worth * (_ASKED if is_question else 1), telling, acts, specifics > 0
    )


def _is_code(sentence: str) -> bool:
    """Whether signs make up so much of it that it is no prose."""
    return len(sentence) > 20 and len(_SIGN.findall(sentence)) > len(sentence) / _PROSE_PER_SIGN
