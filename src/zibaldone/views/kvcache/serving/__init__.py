"""A pool in a serving engine that owns its cache: what a request carries, what is loaded, and what it leaves."""
