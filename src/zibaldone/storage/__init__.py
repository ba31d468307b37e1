"""The database that holds the log and what the views derive from it."""
