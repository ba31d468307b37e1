"""RewriteCurrent and RewriteDoc of Algorithm 1; what a model writes is kept only when it is faithful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zibaldone.models.answer_log import note_parts
from zibaldone.models.base import Vectors
from zibaldone.search.clustering import unit
from zibaldone.text.faithfulness import SourceTexts, names_and_numbers
from zibaldone.views.topics.consolidate.contradictions import superseding
from zibaldone.views.topics.consolidate.grouping import cluster
from zibaldone.views.topics.consolidate.rewrite_checks import (
    LineWritten,
    faithful,
    line_fault,
    may_supersede,
    placed_once,
)
from zibaldone.views.topics.consolidate.summaries import title
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.markdown.document import Block, Document, Heading, Text
from zibaldone.views.topics.markdown.entry import Entry
from zibaldone.views.topics.tasks import (
    RewriteCurrent,
    RewriteDocument,
    Rewritten,
    SectionWritten,
    lines_of,
    shown_entries,
    shown_sections,
)

_REACH = 2.0  # messages over which the context of an entry fades
_LEAST_SHOWN, _MOST_SHOWN = 8, 32  # old entries of a document; between them, the nearest of each new one
_TOGETHER = 4  # entries of a message that still have one subject
_BATCH = 1.5  # of split_tokens: a CURRENT beyond this is shown to a model in parts


@dataclass(frozen=True, slots=True)
class Portion:
    """A block of REWRITE_CURRENT: entries that belong under one heading."""

    title: str
    entries: tuple[Entry, ...]


def rewrite_current(entries: Sequence[Entry], work: Work) -> list[Portion]:
    """REWRITE_CURRENT: entries in blocks. Duplicates and contradictions are dealt with before."""
    if not work.has_model:
        return grouped(entries, work)
    return [one for batch in _batches(entries, work) for one in _rewritten(batch, work)]


def grouped(entries: Sequence[Entry], work: Work) -> list[Portion]:
    """By similarity, in the order of the first of each block."""
    if not entries:
        return []
    vectors = work.lean(_in_context(entries, work))
    sizes = work.workbench.tokens([entry.text for entry in entries])
    groups = cluster(vectors, sizes, work.settings.group_similarity, work.settings.split_tokens / 2)
    groups = _without_lone(groups, vectors, sizes, work)
    blocks = [tuple(entries[row] for row in group) for group in groups]
    return [Portion(title(block, work), block) for block in blocks]


def rewrite_document(
    document: Document, portions: Sequence[Portion], work: Work, name: str = ""
) -> tuple[Document, str]:
    """The document with the portions in it, and the model's summary ("" without one).

    `name` is the title that was planned for a new one.
    """
    offline = inserted(document, portions, work, name)
    if not work.has_model:
        return offline, ""
    old = document.entries
    new = [entry for portion in portions for entry in portion.entries]
    numbered = dict(enumerate((*old, *new), 1))
    headings = dict(
        enumerate([path[-1] if path else "" for path, one in document.placed() if isinstance(one, Entry)], 1)
    )
    headings |= {
        number: portion.title
        for number, portion in enumerate((p for p in portions for _ in p.entries), len(old) + 1)
    }
    near = _nearest(old, new, work)
    task = RewriteDocument(
        title=offline.title,
        old=shown_sections({number: numbered[number] for number in near}, headings),
        new=shown_sections(dict(enumerate(new, len(old) + 1)), headings),
        given=numbered,
        offline=lambda: _as_answer(offline, numbered),
    )
    answer = work.ask(task)
    if answer.degraded:
        return offline, ""
    summary = answer.result.summary
    if fault := _summary_fault(summary, numbered.values()):
        summary = ""
    note_parts(f"{task.name}.summary", 1, [f"{answer.result.summary!r} {fault}"] if fault else [])
    keeps = bool(document.body and portions)  # a merged one may be called anew
    name = document.title if keeps else heading_of(answer.result.title, [*old, *new], offline.title)
    made = realised(answer.result, numbered, headings, work, task.name)
    return document.with_body((*body_of(name, made), *_texts(document))), summary


def _nearest(old: Sequence[Entry], new: Sequence[Entry], work: Work) -> list[int]:
    """Numbers of the old entries that a model is shown: the most like of each new one. None grows."""
    if len(old) <= _LEAST_SHOWN or not new:
        return list(range(1, len(old) + 1))
    vectors = work.workbench.vectors([entry.text for entry in (*old, *new)])
    cosines = vectors[: len(old)] @ vectors[len(old) :].T
    best = cosines.max(axis=1)
    best[cosines.argmax(axis=0)] += 2  # above all cosines
    room = min(max(int((best > 1.5).sum()), _LEAST_SHOWN), _MOST_SHOWN)
    return sorted(int(row) + 1 for row in np.argsort(-best, kind="stable")[:room])


def inserted(document: Document, portions: Sequence[Portion], work: Work, name: str = "") -> Document:
    """Each portion below the heading that it is most like, or a new one; a lone entry below the title."""
    if not document.body:
        name = name or _name(portions, work)
        lone = [Portion(name, block.entries) for block in portions if len(block.entries) == 1]
        return document.with_body(
            body_of(name, [*lone, *(block for block in portions if len(block.entries) > 1)])
        )
    for portion in portions:
        document = document.with_entries(portion.entries, _place(document, portion, work))
    return document


def realised(
    result: Rewritten, numbered: Mapping[int, Entry], headings: Mapping[int, str], work: Work, task: str
) -> list[Portion]:
    """What a model wrote for the task, as far as the entries bear it out, with their own metadata.

    Entries that it does not name stand below their own headings.
    """
    places, refused = placed_once(numbered, [lines_of(part) for part in result.sections])
    line_of = {n: line for lines in places for line in lines for n in line.entries}
    marked = dict(numbered)
    for pair in result.superseded:
        apart = pair.older not in line_of or line_of[pair.older] != line_of.get(pair.newer)
        if apart and may_supersede(numbered, pair.older, pair.newer):
            newer, older = superseding(marked[pair.newer], marked[pair.older])
            marked |= {pair.newer: newer, pair.older: older}
        else:
            refused.append(f"{pair}: not of one thing, or not newer")
    sections: dict[str, list[LineWritten]] = {}
    for part, lines in zip(result.sections, places, strict=True):
        if lines:
            entries = [marked[n] for line in lines for n in line.entries]
            name = heading_of(part.heading, entries, "")
            if not name:
                refused.append(f"heading {part.heading!r}")
            sections.setdefault(name or title(entries, work), []).extend(lines)
    for line in (line for lines in places for line in lines):
        if fault := line_fault(line, [numbered[n] for n in line.entries]):
            refused.append(f"{line.text!r}: {fault}")
    for number in numbered.keys() - line_of.keys():
        name = headings.get(number, "") or title([marked[number]], work)
        sections.setdefault(name, []).append(LineWritten((number,)))
    given = sum(len(lines_of(part)) + 1 for part in result.sections)
    note_parts(task, given + len(result.superseded), refused)
    return [Portion(name, tuple(_written(lines, numbered, marked, work))) for name, lines in sections.items()]


def _written(
    lines: Iterable[LineWritten], numbered: Mapping[int, Entry], marked: Mapping[int, Entry], work: Work
) -> Iterator[Entry]:
    """In the order of their numbers."""
    for line in sorted(lines, key=lambda line: min(line.entries)):
        for true in faithful(numbered, line):
            yield work.merge([marked[n] for n in true.entries], true.text)


def heading_of(written: str, entries: Iterable[Entry], other: str) -> str:
    """A heading that a model wrote, if its names and numbers are the entries'; else the other.

    Its other words may be new: it states nothing, and goes when one of them is forgotten.
    """
    name = " ".join(written.split())
    new = SourceTexts(f"{entry.text} {entry.source or ''}" for entry in entries).invented(name)
    return name if name and names_and_numbers(name).isdisjoint(new) else other


def _summary_fault(text: str, entries: Iterable[Entry]) -> str:
    """Why the entries do not bear out a summary: telling words, a semicolon, and a sentence."""
    entries = list(entries)
    known = SourceTexts([entry.text for entry in entries], " ".join(entry.source or "" for entry in entries))
    telling, mark, sentence = text.partition(";")
    if mark and (new := known.invented(telling)):
        return f"says {new[:8]}, which no entry says"
    return known.refusal(sentence if mark else text)


def body_of(name: str, portions: Iterable[Portion]) -> tuple[Block, ...]:
    """A title, and below it a subheading for each portion; none for the only one, or one of the same name."""
    blocks: list[Block] = [Heading(name, 1)]
    together: dict[str, list[Entry]] = {}
    for portion in portions:
        together.setdefault(portion.title, []).extend(portion.entries)
    for heading in sorted(together, key=lambda one: one != name):
        if heading != name and len(together) > 1:
            blocks.append(Heading(heading, 2))
        blocks.extend(together[heading])
    return tuple(blocks)


def _without_lone(
    groups: list[list[int]], vectors: Vectors, sizes: Sequence[int], work: Work
) -> list[list[int]]:
    """With lone entries in the group that they are most like, if half as like it as those in it are.

    A heading for each would tell little.
    """
    lone = [group[0] for group in groups if len(group) == 1]
    several = [list(group) for group in groups if len(group) > 1]
    if not lone or not several:
        return groups
    likeness = vectors[lone] @ unit(np.stack([vectors[group].sum(axis=0) for group in several])).T
    filled = [sum(sizes[row] for row in group) for group in several]
    for place, row in enumerate(lone):
        best = int(likeness[place].argmax())
        fits = filled[best] + sizes[row] <= work.settings.split_tokens / 2
        if fits and likeness[place, best] >= work.settings.group_similarity / 2:
            several[best].append(row)
            filled[best] += sizes[row]
        else:
            several.append([row])
    return sorted(sorted(group) for group in several)


def _in_context(entries: Sequence[Entry], work: Work) -> Vectors:
    """(n, d) each entry's vector with those of the messages around it: short turns say little alone.

    The more entries a message has, the less they have to do with each other: lines of a list stand alone.
    """
    rows = work.workbench.vectors([entry.text for entry in entries])
    seqs = np.array([entry.last for entry in entries])
    messages, place, sizes = np.unique(seqs, return_inverse=True, return_counts=True)
    means = np.zeros((len(messages), rows.shape[1]), dtype=np.float32)
    np.add.at(means, place, rows)
    means /= sizes[:, None]
    near = np.exp(-np.abs(messages[:, None] - messages[None, :]) / _REACH)
    near /= near.sum(axis=1, keepdims=True)
    around = np.asarray(near @ means, dtype=np.float32)[place]
    share = np.minimum(1, _TOGETHER / sizes[place]).astype(np.float32)[:, None]
    return np.asarray((rows + share * around) / (1 + share), dtype=np.float32)


def _name(portions: Sequence[Portion], work: Work) -> str:
    if len(portions) == 1:
        return portions[0].title
    return title([entry for portion in portions for entry in portion.entries], work)


def _place(document: Document, portion: Portion, work: Work) -> tuple[Heading, ...]:
    sections = [section for section in document.partitions() if section.path and section.entries]
    for section in sections:
        if section.title == portion.title:
            return tuple(Heading(name) for name in section.path)
    if sections:
        centres = work.centres([portion.entries, *(section.entries for section in sections)])
        likeness = centres[1:] @ centres[0]
        best = int(likeness.argmax())
        least = work.settings.group_similarity / (1 if len(portion.entries) > 1 else 2)
        if likeness[best] >= least:
            return tuple(Heading(name) for name in sections[best].path)
    if not document.headings:
        return (Heading(portion.title, 1),)
    top = document.headings[0]
    if len(portion.entries) == 1:  # directly below the title: a heading of its own would tell nothing more
        return (top,)
    return (top, Heading(portion.title, min(top.level + 1, 6)))


def _rewritten(entries: Sequence[Entry], work: Work) -> list[Portion]:
    offline = grouped(entries, work)
    numbered = dict(enumerate(entries, 1))
    task = RewriteCurrent(
        entries=shown_entries(numbered),
        given=numbered,
        offline=lambda: _as_answer(Document("", body=body_of("", offline)), numbered),
    )
    answer = work.ask(task)
    if answer.degraded:
        return offline
    headings = {number: portion.title for number, portion in _numbered(offline, numbered)}
    return realised(answer.result, numbered, headings, work, task.name)


def _numbered(portions: Iterable[Portion], numbered: Mapping[int, Entry]) -> Iterator[tuple[int, Portion]]:
    number = {id(entry): n for n, entry in numbered.items()}
    return ((number[id(entry)], portion) for portion in portions for entry in portion.entries)


def _batches(entries: Sequence[Entry], work: Work) -> list[list[Entry]]:
    """In order, of like size, none above the limit unless a single entry is."""
    limit = work.settings.split_tokens
    total = work.tokens(entries)
    if total <= limit * _BATCH:
        return [list(entries)]
    even = total / -(-total // limit)
    batches: list[list[Entry]] = []
    filled = even
    for entry in entries:
        if filled >= even:
            batches.append([])
            filled = 0
        batches[-1].append(entry)
        filled += work.tokens([entry])
    return batches


def _as_answer(document: Document, numbered: Mapping[int, Entry]) -> Rewritten:
    """A document of these entries as a model would have written it."""
    number = {id(entry): n for n, entry in numbered.items()}
    sections = [
        SectionWritten(heading=section.title, entries=[number[id(entry)] for entry in section.entries])
        for section in document.partitions()
    ]
    return Rewritten(title=document.title, sections=sections)


def _texts(document: Document) -> list[Block]:
    """What people wrote between the entries, below the headings it stood under."""
    blocks: list[Block] = []
    for path, block in document.placed():
        if isinstance(block, Text):
            blocks += [Heading(path[-1], 2)] if len(path) > 1 else []
            blocks.append(block)
    return blocks
