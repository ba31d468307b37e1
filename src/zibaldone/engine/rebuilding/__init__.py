"""Rebuilding with a choice: a second build grows beside the one that serves, and either is chosen."""
