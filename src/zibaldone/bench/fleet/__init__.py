"""A fleet under load while its processes are killed: what it does, and whether it keeps what it promised."""
