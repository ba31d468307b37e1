"""From a question to one cited context, and to an answer by a model that may look again."""
