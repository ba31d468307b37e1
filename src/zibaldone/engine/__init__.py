"""What happens to messages once they are stored: reading, maintaining, rebuilding, forgetting, verifying."""
