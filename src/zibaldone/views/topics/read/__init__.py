"""ReadingResult documents: readers H and A, and the tools of an agent."""
