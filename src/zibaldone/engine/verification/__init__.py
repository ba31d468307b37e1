"""Verification: search every table and file for messages that a receipt says were forgotten."""
