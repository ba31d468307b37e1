"""The public objects: Memory, User, Builds, Admin, the same awaited, and KVMemory around a local model."""
