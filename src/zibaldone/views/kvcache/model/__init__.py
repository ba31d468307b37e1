"""Access to the model: attention hooks, rotations, turns as tokens, encoding."""
