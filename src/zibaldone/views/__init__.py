"""Views: derived, rebuildable ways of remembering one log. One package per view."""

from __future__ import annotations

from zibaldone.search.question import Question
from zibaldone.views.base import View

__all__ = ["Question", "View"]
