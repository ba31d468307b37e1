"""The gateway: memory for any agent by changing one address.

request  ──> user of the memory (scope); if none, the request is passed on unchanged
──> turns (chat, responses, anthropic), compared with the log (alignment)
──> recalled text before the last user turn, or a tool to search with ──> upstream
answer   <── streamed (events), or after rounds of searches (tool_loop); stored before its last byte is sent
"""

from __future__ import annotations

from zibaldone.server.gateway.gateway import Gateway

__all__ = ["Gateway"]
