"""Sentences and passages: where a text may be cut."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import regex

from zibaldone.text.patterns import late
from zibaldone.text.words import STOP_WORDS

Span = tuple[int, int]  # text[start:end]

# A sentence ends after its mark and any closing quotes, where space follows (CJK marks need none), or at a
# line break. \K begins the match behind the mark: looking back from every character takes four times as long,
# and is done where a text has marks of CJK alone.
_LINE_BREAK = r"(?<!\s)\s*\n\s*"
_BORDER = late(rf"""[.!?…؟।][\"'”’)\]]{{0,3}}\K\s+|{_LINE_BREAK}""")
_WIDE = "。！？｡"
_WIDE_BORDER = late(
    rf"""(?<=[.!?…؟।][\"'”’)\]]{{0,3}})\s+|(?<=[{_WIDE}][\"'”’」』）]{{0,3}})(?![”’」』）{_WIDE}])\s*|{_LINE_BREAK}"""
)
_SPACE = late(r"\s+")
# They end where they are looked for, so they are searched from there: a quarter of the time.
# Abbreviations whose full stop ends no sentence, as CLDR's suppressions list them for languages of Europe.
# "Main St.", "5 p.m." and "etc." may end one.
_BEFORE_NAME = late(
    r"(?r)(?<![\p{L}\p{N}])(?:Dr|Mrs?|Ms|Mx|Prof|Rev|Hon|Sgt|Capt|Lt|Col|Gen|Gov|Sen|Messrs|(?<!\p{Lu}\p{L}+\s)St|Mt|Ft"
    r"|Hr|Hrn|Fr|Dipl|Ing|Sr|Sra|Srta|Dra|Dña|Mme|Mlle|Sig|Dott|Avv|Dhr|Mevr|Mw|проф|им|ул)\.$"
)
_WITHIN = late(
    r"(?r)(?<![\p{L}\p{N}])(?:vs|e\.g|i\.e|cf|approx|z\.B|d\.h|u\.a|v\.a|i\.d\.R|bzw|ca|evtl|ggf|vgl|sog|inkl|exkl|incl"
    r"|excl|zzgl|abzgl|bspw|insb|aprox|p\.ex|p\.ej|p\.es|bijv|bv|o\.a|d\.w\.z|t\.ex|bl\.a|f\.eks|dvs|np|tzn|т\.е|т\.к|напр)\.$"
)
_BEFORE_NUMBER = late(
    r"(?r)(?<![\p{L}\p{N}])(?:Nos?|Nr|pp?|[Ff]ig|[Vv]ol|[Cc]h|[Aa]rt|Abs|Bd|Kap|S|[Tt]el|[Ee]xt|[Aa]pt|[Mm]ax|[Mm]in|n[úu]m|p[áa]g"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Okt|Dez|Mon?|Tues?|Wed|Thu|Thurs?|Fri|Sat|Sun|Di|Mi|Do|Fr|Sa|So)\.$"
)
# "J. R. Smith", "z. B.": a function word behind a capital begins a sentence ("Plan B. Then").
_INITIAL = late(
    r"(?r)(?<![\p{L}\p{N}.’'-])\p{Ll}\.$|(?:^|\p{L}\.\s?|(?<!\p{L})\p{Lu}\p{Ll}+\s)(?<![\p{L}\p{N}’'-])(?!I)\p{Lu}\.$"
)
# "am 12. Mai", "der 3. Platz", but not "I am 12. My brother"
_ORDINAL = late(r"(?r)(?<![\p{N}.,:])\p{N}{1,2}\.$")
_OF_AN_ORDINAL = late(
    r"(?r)(?<!\p{L})(?:(?<!\bI\s)am|der|das|des|dem|den|vom|zum|zur|beim)\s\p{N}{1,2}\.$", regex.IGNORECASE
)
_MONTH = late(
    r"(?:Jan|Jänner|Feb|März|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)(?:uar|ruar|il|i|ust|tember|ober|ember)?(?!\p{L})"
)
_FIRST_LETTER = late(r"\p{L}")
_BEGINNING = 200  # characters of a text in which its first letter is looked for
# Who types "I live in Bonn. my dog is old." begins sentences with these: hardly an abbreviation goes on so.
_OPENERS = frozenset("i im i'm my we our he she they it this there you".split())
_NEXT_WORD = late(r"\p{L}+(?![^\s.,;:!?)]|\.\S)")
_MARKER = late(r"(?r)(?:^|\n)[ \t]*(?:\d{1,3}|\p{L})\.$")  # "2." or "b." that opens an item of a list
_ITEM = late(r"[ ]{0,1}(?:[-*+•]|\d{1,3}[.)]|\p{L}[.)])\s")  # of the outermost list
_FENCE = "```"
_ABBREVIATION = 24  # characters before a border that are looked at


def sentences(text: str) -> list[Span]:
    """Spans of the sentences of `text`, in order, without the white space between them."""
    spans = []
    start = 0
    is_wide = not text.isascii() and any(mark in text for mark in _WIDE)
    for border in (_WIDE_BORDER if is_wide else _BORDER).finditer(text):
        if border.end() > start and not _goes_on(text, border):
            spans.append(_strip(text, start, border.start()))
            start = border.end()
    spans.append(_strip(text, start, len(text)))
    return [span for span in spans if span[0] < span[1]]


def torn(text: str, start: int, end: int) -> tuple[bool, bool]:
    """True if text[start:end] begins, and whether it ends, inside a sentence."""
    spans = sentences(text)
    return any(a < start < b for a, b in spans), any(a < end < b for a, b in spans)


def passages(text: str, limit: int, count_tokens: Callable[[Sequence[str]], Sequence[int]]) -> list[Span]:
    """Cut `text` into spans of at most `limit` tokens, between paragraphs, list items and blocks of code.

    `count_tokens` gives the tokens of each of several texts. What is longer than the limit is cut at sentence
    borders, a sentence longer than the limit between words, and a word longer than the limit between
    characters. A text of no visible character has no span.
    """
    whole = _strip(text, 0, len(text))
    if whole[0] == whole[1]:
        return []
    total = count_tokens([text[whole[0] : whole[1]]])[0]
    if total <= limit:
        return [whole]
    even = total / math.ceil(total / limit)  # passages of like size, not full ones and a rest
    groups: list[list[Span]] = []
    filled = 0  # tokens in the last group
    for span, tokens in _cut(text, _whole_where_short(text, limit, count_tokens), limit, count_tokens):
        gap = text[groups[-1][-1][1] : span[0]] if groups else ""
        between = 0 if gap == " " else len(gap)  # a line break is a token, a lone space is none
        if groups and filled + between + tokens <= limit and filled + tokens / 2 <= even:
            groups[-1].append(span)
            filled += between + tokens
        else:
            groups.append([span])
            filled = tokens
    return _joined(text, groups, limit, count_tokens)


def _whole_where_short(
    text: str, limit: int, count_tokens: Callable[[Sequence[str]], Sequence[int]]
) -> list[Span]:
    """The blocks of a text; the sentences of those that are longer than the limit."""
    blocks = _blocks(text)
    spans: list[Span] = []
    for (start, end), tokens in zip(
        blocks, count_tokens([text[start:end] for start, end in blocks]), strict=True
    ):
        if tokens <= limit:
            spans.append((start, end))
        else:
            spans.extend((start + left, start + right) for left, right in sentences(text[start:end]))
    return spans


def _blocks(text: str) -> list[Span]:
    """Paragraphs, items with what stands below them, fenced code; a line that ends in a colon leads on."""
    starts, fenced, leads = [0], False, False
    at = 0
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        opens = bare.startswith(_FENCE) and not fenced
        if not fenced and not leads and (opens or not bare or _ITEM.match(line)):
            starts.append(at)
        if bare:
            leads = bare.endswith(":") and not fenced
        if bare.startswith(_FENCE):
            fenced = not fenced
        at += len(line)
    spans = (_strip(text, start, end) for start, end in pairwise([*starts, len(text)]))
    return [span for span in spans if span[0] < span[1]]


def _goes_on(text: str, border: regex.Match[str]) -> bool:
    """True if the full stop before a border is that of an abbreviation."""
    end, after = border.span()
    if text[end - 1 : end] != "." or "\n" in border.group() or not end < after < len(text):
        return False
    before = text[max(0, end - _ABBREVIATION) : end]
    if _MARKER.search(before) or _WITHIN.search(before) or _BEFORE_NAME.search(before):
        return True
    if text[after].isnumeric():
        return _BEFORE_NUMBER.search(before) is not None
    word = _NEXT_WORD.match(text, after)
    if word and _INITIAL.search(before) and word[0] not in STOP_WORDS:  # "the U.S. is" goes on below
        return word[0].lower() not in STOP_WORDS
    if word and word[0].islower() and word[0] not in _OPENERS:  # by who begins sentences with a capital
        first = _FIRST_LETTER.search(text, 0, _BEGINNING)
        return first is not None and first[0].isupper() and text[end - 2] not in ".…"
    if not _ORDINAL.search(before):
        return False
    return bool(_MONTH.match(text, after) or _OF_AN_ORDINAL.search(before))


def _joined(
    text: str, groups: list[list[Span]], limit: int, count_tokens: Callable[[Sequence[str]], Sequence[int]]
) -> list[Span]:
    """Return one span per group, halving groups that exceed the limit once joined."""
    spans_kept = []
    while groups:
        spans = [(group[0][0], group[-1][1]) for group in groups]
        counts = count_tokens([text[start:end] for start, end in spans])
        waiting = []
        for group, span, tokens in zip(groups, spans, counts, strict=True):
            if tokens <= limit or len(group) == 1:
                spans_kept.append(span)
            else:
                waiting.extend([group[: len(group) // 2], group[len(group) // 2 :]])
        groups = waiting
    return sorted(spans_kept)


def _cut(
    text: str, spans: list[Span], limit: int, count_tokens: Callable[[Sequence[str]], Sequence[int]]
) -> list[tuple[Span, int]]:
    """The spans with their tokens; those above the limit in pieces."""
    counted = []
    while spans:
        # Many are counted at a time: one call of the tokenizer per round, and two or three rounds.
        waiting = []
        counts = count_tokens([text[start:end] for start, end in spans])
        for (start, end), tokens in zip(spans, counts, strict=True):
            if tokens <= limit or end - start < 2:
                counted.append(((start, end), tokens))
            else:
                waiting.extend(_pieces(text, start, end, max(2, math.ceil(tokens / limit))))
        spans = waiting
    return sorted(counted)


def _pieces(text: str, start: int, end: int, pieces: int) -> list[Span]:
    """Cut into parts of like length, between words if a space is near."""
    reach = max(1, (end - start) // pieces)
    borders = [start]
    for piece in range(1, pieces):
        ideal = start + (end - start) * piece // pieces
        space = _SPACE.search(text, ideal, min(end, ideal + reach)) or _SPACE.search(
            text, max(borders[-1] + 1, ideal - reach), ideal
        )
        if space and space.start() > borders[-1]:
            borders.append(space.start())
        elif ideal - borders[-1] > 2 * reach:  # in the middle of an endless word
            borders.append(ideal)
    if len(borders) == 1:
        borders.append((start + end) // 2)
    stripped = (_strip(text, left, right) for left, right in pairwise([*borders, end]))
    return [span for span in stripped if span[0] < span[1]]


def _strip(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
