"""Overgrown documents are split (§3.3): entries that are alike stay together, under their headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from zibaldone.search.clustering import halves
from zibaldone.views.topics.consolidate.summaries import content_tokens, title, tokens_of
from zibaldone.views.topics.consolidate.workbench import Work
from zibaldone.views.topics.markdown.document import Block, Document, Heading
from zibaldone.views.topics.markdown.entry import Entry


@dataclass(frozen=True, slots=True)
class _Piece:
    """Blocks that are not parted, with the headings above them."""

    above: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    tokens: int

    @property
    def entries(self) -> list[Entry]:
        return [block for block in self.blocks if isinstance(block, Entry)]


def split(document: Document, work: Work) -> list[Document]:
    """Documents of at most `split_tokens`; the first keeps the id. A document of one block stays as it is.

    Their summaries and logs are still to be brought up to date.
    """
    if tokens_of(document, work) <= work.settings.split_tokens:
        return [document]
    groups = _parted(_sections(document, work), work)
    if len(groups) < 2:
        return [document]
    groups.sort(key=lambda group: -sum(piece.tokens for piece in group))
    made = []
    for number, group in enumerate(groups):
        entries = [entry for piece in group for entry in piece.entries]
        body = _body(group, title(entries, work) if entries else document.title)
        part = replace(document, body=body) if number == 0 else Document(work.new_id(), body=body)
        made.append(replace(part, token_count=tokens_of(part, work)))
    return made


def _parted(pieces: list[_Piece], work: Work) -> list[list[_Piece]]:
    """In halves until each fits; a section that is too big alone is parted entry by entry."""
    if sum(piece.tokens for piece in pieces) <= work.settings.split_tokens * 0.9:  # headings come on top
        return [pieces]
    most = max(piece.tokens for piece in pieces)
    if len(pieces) < 2 or most * 2 > sum(piece.tokens for piece in pieces):
        pieces = [one for piece in pieces for one in _singles(piece, work)]
    if len(pieces) < 2:
        return [pieces]
    vectors = work.centres([piece.entries for piece in pieces])
    sides = halves(vectors, [piece.tokens for piece in pieces])
    return [group for side in sides for group in _parted([pieces[row] for row in side], work)]


def _sections(document: Document, work: Work) -> list[_Piece]:
    """One piece for each section that has anything in it; the document's title is not kept."""
    parts = []
    above: list[Heading] = []
    for section in document.partitions():
        if section.heading:
            above = [
                *(heading for heading in above if heading.level < section.heading.level),
                section.heading,
            ]
        if section.blocks:
            parts.append(_piece(tuple(above[1:]), section.blocks, work))
    return parts


def _singles(piece: _Piece, work: Work) -> list[_Piece]:
    return [_piece(piece.above, (block,), work) for block in piece.blocks]


def _piece(above: tuple[Heading, ...], blocks: tuple[Block, ...], work: Work) -> _Piece:
    return _Piece(above, blocks, content_tokens(blocks, work))


def _body(group: Sequence[_Piece], name: str) -> tuple[Block, ...]:
    """The pieces below one title, with those of their headings that are not there yet."""
    body = Document("", body=(Heading(name, 1),))
    for piece in group:
        above = tuple(Heading(one.title, max(one.level, 2)) for one in piece.above)
        body = body.with_entries(piece.blocks, (Heading(name, 1), *above))
    return body.body
