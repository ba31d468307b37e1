"""Answers from recalled texts, judged: a reader, a judge, and the table of what they say."""
