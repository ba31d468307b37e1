"""Benchmarks of the kv view: quality with a model trained here, and speed."""
