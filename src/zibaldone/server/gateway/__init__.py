"""The gateway: memory for any agent by changing one address.

request  ──> whose memory (scope)? nobody's: passed on as it came
──> its turns (chat, responses, anthropic), held against the log (alignment)
──> recalled, quoted before the last user's turn, or a tool to search with ──> upstream
answer   <── as it comes (events), or after rounds of searches (tool_loop); stored before its last byte leaves
"""

from __future__ import annotations

from zibaldone.server.gateway.gateway import Gateway

__all__ = ["Gateway"]
