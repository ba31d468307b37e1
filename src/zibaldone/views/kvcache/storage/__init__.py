"""Where blocks lie: the manifest, the files, the tiers."""
