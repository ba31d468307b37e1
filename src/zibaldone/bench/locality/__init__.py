"""The locality benchmark."""
