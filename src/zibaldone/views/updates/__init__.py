"""Which sentence of a message no longer holds, and which later one took its place."""

from zibaldone.views.updates.quoting import words_of_change
from zibaldone.views.updates.table import links_of
from zibaldone.views.updates.view import UpdatesView

__all__ = ["UpdatesView", "links_of", "words_of_change"]
