"""The hierarchy view (xMemory): themes, semantics, episodes and messages."""
