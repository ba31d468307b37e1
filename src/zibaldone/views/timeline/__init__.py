"""The timeline: one dated line for what was begun, decided, finished or asked for."""

from zibaldone.views.timeline.choosing import choose_lines
from zibaldone.views.timeline.view import TimelineView

__all__ = ["TimelineView", "choose_lines"]
