"""Benchmarks, one command each, run from the repository's root: `python -m benchmarks.locomo PATH`."""
