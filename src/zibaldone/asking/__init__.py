"""A chat model that asks memory again, until it has enough; and one look of it."""
