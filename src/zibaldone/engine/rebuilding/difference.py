"""What two builds of a view say differently, with the sources of both."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from zibaldone import log
from zibaldone.engine import generations
from zibaldone.engine.rebuilding.builds import Build, builds, other_of
from zibaldone.errors import InvalidInput
from zibaldone.storage.database import Database
from zibaldone.views.base import ComparedView, Content, Generation, Snapshot, TakeSnapshot


@dataclass(frozen=True, slots=True)
class ChangedContent:
    """What both builds made of some message, each in its own way."""

    before: Content
    after: Content


@dataclass(frozen=True, slots=True)
class BuildDiff:
    """What the other build says that the serving one does not; all in the order of their sources.

    Of the messages that both have read.
    """

    user: str
    view: str
    serving: Build
    other: Build
    same: int  # said by both, word for word of the same messages
    added: tuple[Content, ...]  # by the other one alone
    gone: tuple[Content, ...]  # by the serving one alone
    changed: tuple[ChangedContent, ...]
    other_vectors: bool  # another embedder made the vectors, of what is the same, too


def diff(database: Database, user: str, view: ComparedView) -> BuildDiff:
    """Hold what stands beside, or is kept, against what serves. Raises InvalidInput unless there are two."""
    with database.read(user) as connection:
        serving = generations.serving(connection, user, view)
        other, _ = other_of(connection, user, view)
    if serving is None or other is None:
        raise InvalidInput(
            f"there are no two builds of the {view.name} view of user {user!r}:"
            f" rebuild({view.name!r}, user={user!r}, beside=True) makes the second"
        )
    read_by_both = min(serving.cursor, other.cursor)
    before, after = (
        [
            content
            for content in view.contents(_of(database, generation))
            if content.sources[-1] <= read_by_both
        ]
        for generation in (serving, other)
    )
    old, new = Counter(before), Counter(after)
    same = (old & new).total()
    changed = sorted(_pairs(old - new, new - old), key=lambda pair: (pair.before, pair.after))
    gone = old - new - Counter(pair.before for pair in changed)
    added = new - old - Counter(pair.after for pair in changed)
    now = builds(database, user, view)
    if now.serving is None or now.other is None:  # discarded meanwhile
        return diff(database, user, view)
    return BuildDiff(
        user,
        view.name,
        now.serving,
        now.other,
        same,
        tuple(sorted(added.elements())),
        tuple(sorted(gone.elements())),
        tuple(changed),
        serving.fingerprint != other.fingerprint,
    )


def _of(database: Database, generation: Generation) -> TakeSnapshot:
    @contextmanager
    def take() -> Iterator[Snapshot]:
        with database.read(generation.user) as connection:
            yield Snapshot(connection, generation, log.state(connection, generation.user))

    return take


def _pairs(gone: Counter[Content], added: Counter[Content]) -> Iterator[ChangedContent]:
    """Of one kind, each with the one that shares the largest part of its sources, if any; each once."""
    by_source: dict[tuple[str, int], list[Content]] = defaultdict(list)
    for old in gone:
        for source in old.sources:
            by_source[old.kind, source].append(old)
    near = []
    for new in added:
        candidates = {old for source in new.sources for old in by_source[new.kind, source]}
        near += [(_share(old, new), old, new) for old in candidates]
    near.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    left, wanted = Counter(gone), Counter(added)
    for _, old, new in near:
        for _ in range(min(left[old], wanted[new])):
            left[old] -= 1
            wanted[new] -= 1
            yield ChangedContent(old, new)


def _share(old: Content, new: Content) -> float:
    """Of their sources that both have."""
    return len({*old.sources} & {*new.sources}) / len({*old.sources, *new.sources})
