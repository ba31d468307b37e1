"""The profile view: what should always be known of a user, and what of it a question calls for."""

from __future__ import annotations

from zibaldone.views.profile.clauses import KINDS, Kind
from zibaldone.views.profile.entries import ProfileEntry
from zibaldone.views.profile.view import ProfileView

__all__ = ["KINDS", "Kind", "ProfileEntry", "ProfileView"]
