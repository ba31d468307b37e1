"""What memory did for one request, as the answer says it."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from zibaldone.core import Citation, Evidence
from zibaldone.recall.lookup import Found
from zibaldone.recall.result import Recall


class MemoryStatus(enum.StrEnum):
    """How it went."""

    OK = "ok"
    DEGRADED = "degraded"  # something that was wanted failed; the request did not
    OFF = "off"  # nothing was wanted


@dataclass(slots=True)
class MemoryReport:
    """Filled while a request goes its way."""

    status: MemoryStatus = MemoryStatus.OK
    reasons: list[str] = field(default_factory=list)
    recalled: Recall | None = None
    searched: list[Found] = field(default_factory=list)  # what searches of the model brought
    session: str | None = None
    ms: float = 0.0  # by which the request reached the upstream later

    def degrade(self, reason: str) -> None:
        """Note what failed."""
        self.status = MemoryStatus.DEGRADED
        self.reasons.append(reason)

    @property
    def headers(self) -> list[tuple[str, str]]:
        """As it stands now."""
        headers = [("x-memory-status", self.status.value)]
        if self.reasons:
            reason = "; ".join(self.reasons)
            headers.append(("x-memory-reason", reason.encode("ascii", "replace").decode()[:300]))
        return headers

    def body(self) -> Mapping[str, Any]:
        """The answer's member `memory`."""
        cited: dict[int, Citation | Evidence] = {}
        if self.recalled is not None:
            cited |= {citation.seq: citation for citation in self.recalled.citations}
        for search in self.searched:
            cited |= {seq: unit for unit in search.evidence for seq in unit.sources}
        body: dict[str, Any] = {
            "status": self.status.value,
            "session": self.session,
            "citations": [
                {"seq": seq, "session": citation.session, "time": citation.time.isoformat()}
                for seq, citation in sorted(cited.items())
            ],
            "tokens": 0 if self.recalled is None else self.recalled.tokens,
            "ms": round(self.ms, 1),
        }
        if self.searched:
            body["searches"] = len(self.searched)
        return {**body, "reason": "; ".join(self.reasons)} if self.reasons else body
