"""Config: all that a memory is opened with besides its place and its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import zibaldone  # whose names are loaded when they are first used
from zibaldone.api import settings
from zibaldone.core.validation import count, flag, function, number, option
from zibaldone.log.retention import Retention
from zibaldone.models.meter import Ceilings

# Asked by recall, and so maintained, unless a Memory or a recall is told which: see docs/results.md.
DEFAULT_VIEWS = ("messages", "notes")
MAINTAINED = DEFAULT_VIEWS
LONGEST_S = 86_400  # a day


def now_utc() -> datetime:
    """The clock of the machine."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of a memory; each is checked here, and raises InvalidInput that names it.

    `ceilings` limit what models may be used for. `chunks` and `placement` set the chunks view, `hierarchy`
    and `topics` theirs. `maintained` names the views that are kept in step with the log without being asked
    for; others can still be maintained and recalled by name. `retention` is what goes by itself of users for
    whom `retain` said nothing else; by default everything stays. With `audit` it is noted who reads, writes
    and forgets. With `background`, threads maintain while the program does other things; `workers` is
    how many users, and how many model calls of one user, go side by side in a maintenance.

    `blocks` is a bucket for blocks of chunks and saved indexes, such as "s3://bucket/prefix" (extra `s3`):
    given once, the memory knows it. Without one they are beside the rows. With `user_keys`, a folder apart
    from the memory or "s3://bucket/prefix", the words of each user are sealed by a key of their own that lies
    there, encrypted by the memory's key; then `forget(shred=True)` destroys it. `wall_key` is that of proofs
    to PostgreSQL: see 'zibaldone admin wall'. `index_mb` is how many megabytes of memory the indexes of all
    users take, each view's by itself; None: an eighth of the machine's. `batch_messages` is the most that a
    view reads at a time; None: as many as suit it.
    """

    ceilings: Ceilings | None = None  # None: the defaults
    chunks: zibaldone.MemAttention | None = None
    placement: zibaldone.Placement | None = None
    hierarchy: zibaldone.XMemory | None = None
    topics: zibaldone.Consolidation | None = None
    maintained: Sequence[str] = MAINTAINED
    retention: Retention | None = None
    audit: bool = False
    background: bool = False
    workers: int = 4
    clock: Callable[[], datetime] = now_utc
    blocks: str | None = None
    busy_timeout_s: float = 30.0
    user_keys: str | Path | None = None
    wall_key: str | bytes | None = field(default=None, repr=False)
    index_mb: int | None = None
    batch_messages: int | None = None

    def __post_init__(self) -> None:
        """Raises InvalidInput. Names of views are looked up when a memory is opened."""
        option("ceilings", self.ceilings, Ceilings)
        if (self.chunks, self.placement, self.hierarchy, self.topics) != (None,) * 4:
            option("chunks", self.chunks, zibaldone.MemAttention)
            option("placement", self.placement, zibaldone.Placement)
            option("hierarchy", self.hierarchy, zibaldone.XMemory)
            option("topics", self.topics, zibaldone.Consolidation)
        option("retention", self.retention, Retention)
        flag("audit", self.audit)
        flag("background", self.background)
        count("workers", self.workers, least=1)
        function("clock", self.clock)
        number("busy_timeout_s", self.busy_timeout_s, least=0, most=LONGEST_S)
        if self.index_mb is not None:
            count("index_mb", self.index_mb, least=1)
        if self.batch_messages is not None:
            count("batch_messages", self.batch_messages, least=1)

    def with_environment(self) -> Config:
        """Take what stands at its default from the ZIBALDONE_* variables."""
        return replace(
            self,
            ceilings=self.ceilings or settings.ceilings(),
            audit=self.audit or settings.switch("AUDIT"),
            blocks=self.blocks or settings.text("BLOCKS"),
            user_keys=self.user_keys or settings.text("USER_KEYS"),
            wall_key=self.wall_key or settings.key("WALL_KEY"),
            index_mb=self.index_mb or settings.whole("INDEX_MB", least=1),
        )


DEFAULTS = Config()
