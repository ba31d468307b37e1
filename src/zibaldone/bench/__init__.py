"""Benchmarks: the engine beside naive baselines, judged alike. One file per benchmark."""
