"""The report of memory's part in a request, for the answer."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zibaldone.core import Citation, Evidence
from zibaldone.recall.lookup import Found
from zibaldone.recall.result import Recall
from zibaldone.server.live import SHOWN, LiveRequest


class MemoryStatus(enum.StrEnum):
    """Outcome of memory for a request."""

    OK = "ok"
    DEGRADED = "degraded"  # something failed, but not the request
    OFF = "off"  # memory was not wanted


@dataclass(slots=True)
class MemoryReport:
    """Report of a request, filled while it is processed."""

    status: MemoryStatus = MemoryStatus.OK
    reasons: list[str] = field(default_factory=list)
    recalled: Recall | None = None
    searched: list[Found] = field(default_factory=list)  # results of the model's searches
    session: str | None = None
    ms: float = 0.0  # delay of the request to the upstream

    def degrade(self, reason: str) -> None:
        """Add a failure."""
        self.status = MemoryStatus.DEGRADED
        self.reasons.append(reason)

    def as_live(self, stored: list[int]) -> LiveRequest:
        """Return what the page shows of the request, of one's own memory, without a word that was said."""
        recalled = self.recalled
        best = sorted(recalled.evidence, key=lambda unit: -unit.score) if recalled else ()
        seqs = tuple(dict.fromkeys(seq for unit in best if not unit.scope for seq in unit.sources))
        tokens = recalled.tokens if recalled else 0
        return LiveRequest(seqs[:SHOWN], len(seqs), tokens, self.ms, self.reasons, stored)

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers of the answer."""
        headers = [("x-memory-status", self.status.value)]
        if self.reasons:
            reason = "; ".join(self.reasons)
            headers.append(("x-memory-reason", reason.encode("ascii", "replace").decode()[:300]))
        return headers

    def body(self) -> Mapping[str, Any]:
        """Return the answer's member `memory`."""
        cited: dict[tuple[str, int], Citation | Evidence] = {}
        if self.recalled is not None:
            cited |= {(citation.scope, citation.seq): citation for citation in self.recalled.citations}
        for search in self.searched:
            cited |= {(unit.scope, seq): unit for unit in search.evidence for seq in unit.sources}
        body: dict[str, Any] = {
            "status": self.status.value,
            "session": self.session,
            "citations": [
                {"seq": seq, "session": citation.session, "time": citation.time.isoformat()}
                | ({"scope": scope} if scope else {})
                for (scope, seq), citation in sorted(cited.items(), key=lambda item: item[0])
            ],
            "tokens": 0 if self.recalled is None else self.recalled.tokens,
            "ms": round(self.ms, 1),
        }
        if self.searched:
            body["searches"] = len(self.searched)
        return {**body, "reason": "; ".join(self.reasons)} if self.reasons else body
