"""Which sentences of a message are its author's own: no code, quotation, pasted text or question."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from zibaldone.text.sentences import Span, sentences

_FOREIGN = regex.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|~~~.*?(?:~~~|\Z)"
    r"|`[^`\n]+`"
    r"|^[ \t]*>[^\n]*$"  # a quotation of a mail
    r"|<(\w+)>.*?</\1>"
    r"|[“«„][^”»“]{1,4000}[”»“]"
    r'|(?<![\p{L}\p{N}])"[^"\n]{1,2000}"(?![\p{L}\p{N}])'
    r"|^[ \t]*(?:Dear|To whom it may concern)\b[^\n]{0,60},[ \t]*$.*\Z",  # a letter, to its end
    regex.DOTALL | regex.MULTILINE,
)
# "Here is my draft:", "translate the following:", and what follows is pasted
_ANNOUNCES = regex.compile(
    r"(?:\bhere(?:['’]s|\s+is|\s+are)\b|\bfollowing\b|\bbelow\b|\bthis\b[^\n:.]{0,40}|"
    r"\b(?:proofread|translate|rewrite|summari[sz]e|edit|review|correct|paraphrase|critique)\b[^\n.]{0,80})"
    r"[^\n.:?!]{0,80}:[ \t]*\n",
    regex.IGNORECASE,
)
_CODE_LINE = regex.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|return|function|var|let|const|#include)\b.*[({;:]"
)
_ENDS_ASKING = ("?", "？", "؟")
_ASKING_WORDS = (
    r"can|could|would|will|do|does|did|is|are|was|were|should|shall|may|might|have|has|how|what|which|where|when|"
    r"who|whom|whose|why|any|am|isn['’]t|aren['’]t|don['’]t|doesn['’]t|didn['’]t|won['’]t|couldn['’]t|wouldn['’]t"
)
_LINK = r"(?:(?:so|and|but|or|also|then|now|please|like|plus|because)\s+){0,3}"
_TAIL = regex.compile(  # where a question begins behind a statement: ", can you help me?"
    rf"\s*(?:[,;:–—]|\s-+\s)\s*{_LINK}(?:(?:you\s+know|i\s+mean)\s*,\s*)?"
    rf"(?:(?:{_ASKING_WORDS})\b|i(?:['’]m|\s+am)\s+(?:wondering|curious|not\s+sure)|(?:right|ok|okay|yeah|you\s+know|huh|"
    r"correct)\s*[?？؟])"
    rf"|\s+(?:(?:so|and|but)\s+)?(?:(?:can|could|would|will)\s+you|what\s+do\s+you|what\s+would\s+you|do\s+you)\b",
    regex.IGNORECASE,
)
_OPENS_ASKING = regex.compile(rf"\W*{_LINK}(?:(?:{_ASKING_WORDS})\b)", regex.IGNORECASE)
# Where nobody wrote the mark, only what can be nothing else is a question.
_SURELY = (
    r"(?:(?:can|could|would|will|do|does|did|is|are|should)\s+(?:you|i|we|it|there|this|that)\b"
    r"|(?:how|what|which|where|when|why)\s+(?:can|could|would|do|does|did|is|are|should|about|else)\b)"
)
_SURELY_OPENS = regex.compile(rf"\W*{_LINK}{_SURELY}", regex.IGNORECASE)
_SURE_TAIL = regex.compile(rf"\s*(?:[,;:–—]|\s-+\s)\s*{_LINK}{_SURELY}", regex.IGNORECASE)
_CONDITION = regex.compile(r"\W*(?:when|if|whenever|do\s*n['’]t|do\s+not)\b", regex.IGNORECASE)


def own_statements(content: str) -> Iterator[Span]:
    """Spans of what the author states: sentences, and the statements in front of questions, without these."""
    foreign = [match.span() for match in _FOREIGN.finditer(content)]
    if (announced := _ANNOUNCES.search(content)) is not None:
        foreign.append((announced.end(), len(content)))
    for start, end in sentences(content):
        if _CODE_LINE.search(content[start:end]) or any(a <= start < b for a, b in foreign):
            continue
        end = _without_question(content, start, end)
        if start < end:
            yield start, end


def _without_question(content: str, start: int, end: int) -> int:
    """Where the statement ends in front of a question; `start` where all of it asks."""
    sentence = content[start:end]
    marked = sentence.rstrip("\"'”’) ").endswith(_ENDS_ASKING)
    opens, tail = (_OPENS_ASKING, _TAIL) if marked else (_SURELY_OPENS, _SURE_TAIL)
    if opens.match(sentence) and not _CONDITION.match(sentence):
        return start
    if asking := tail.search(sentence):
        return start + asking.start()
    return start if marked else end
