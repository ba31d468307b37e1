"""Overrides and near misses in people's own words, and how many of them the updates view links."""
