"""What a user holds: Memory and what it gives, the same awaited, and the object around a local model."""
