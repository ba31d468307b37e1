"""What the profile's grammar knows of languages other than English: a table each, all of one structure."""

from __future__ import annotations

from zibaldone.views.profile.languages.base import Language
from zibaldone.views.profile.languages.french import FRENCH
from zibaldone.views.profile.languages.german import GERMAN
from zibaldone.views.profile.languages.portuguese import PORTUGUESE
from zibaldone.views.profile.languages.spanish import SPANISH

__all__ = ["LANGUAGES", "Language"]

LANGUAGES: tuple[Language, ...] = (GERMAN, SPANISH, FRENCH, PORTUGUESE)
