"""From messages to documents: extraction, CURRENT, consolidation."""
