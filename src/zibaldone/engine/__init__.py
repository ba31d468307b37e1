"""The life of stored messages: ingesting, maintaining, rebuilding, forgetting, verifying."""
