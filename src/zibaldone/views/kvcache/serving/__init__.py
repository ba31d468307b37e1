"""A pool in an engine that owns its cache: what a request carries, what is loaded, and what it leaves."""
