"""Search over one user's units, held in memory: exact and small."""
