"""What a person changed in a document becomes messages, and messages changes."""
