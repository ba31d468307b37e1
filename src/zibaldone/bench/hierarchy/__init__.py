"""Benchmarks of the hierarchy view: its structure, its upkeep, its reading."""
