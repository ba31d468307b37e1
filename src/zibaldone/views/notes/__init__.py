"""Notes on a user: instructions, constraints, preferences, facts, people, plans, decisions."""

from zibaldone.views.notes.note import KINDS, RULES, Kind, Link, UserNote
from zibaldone.views.notes.view import NotesView

__all__ = ["KINDS", "RULES", "Kind", "Link", "NotesView", "UserNote"]
