"""From selected blocks to an answer."""
