"""Rebuilding beside: a second build of a view grows while the first serves, until one is chosen."""
