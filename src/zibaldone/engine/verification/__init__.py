"""Verification: whether what a receipt says was forgotten is in any table or file; see `verifying`."""
