"""What depends on the model: taps, rotations, turns as tokens, encoding."""
