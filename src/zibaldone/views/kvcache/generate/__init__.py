"""From chosen blocks to an answer."""
