"""Storage of blocks: manifest, files, cache."""
