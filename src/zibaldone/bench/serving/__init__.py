"""The gateway under load: before a loopback model server of set costs; the users are real conversations."""
