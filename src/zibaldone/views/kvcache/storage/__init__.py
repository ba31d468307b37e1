"""Storage of blocks: manifest, files, tiers."""
