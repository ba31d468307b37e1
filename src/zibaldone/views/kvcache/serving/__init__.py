"""Memory in an engine that owns its cache: requests, loading, responses."""
