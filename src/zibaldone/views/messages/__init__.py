"""The messages view: raw turns, lexical and dense. Always on."""

from __future__ import annotations

from zibaldone.views.messages.view import MessagesView

__all__ = ["MessagesView"]
