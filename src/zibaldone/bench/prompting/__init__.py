"""A model through every prompt: what becomes of its answers, what they cost, what the views then recall."""
