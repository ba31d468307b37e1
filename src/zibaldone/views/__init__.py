"""Views: derived, rebuildable ways of remembering one log. One package per view."""

from __future__ import annotations

from zibaldone.views.base import Query, View

__all__ = ["Query", "View"]
