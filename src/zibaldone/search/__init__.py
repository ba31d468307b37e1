"""Search over one user's units, held in memory: exact, small, and one implementation for every view.

index = UnitIndex(dimension, word_embedder)
index.extend(units, vectors)                        # whatever a view calls a unit: see unit.Unit
question = read_question(text, today, index)        # taken apart once: words, speakers, days
vector = embedder.embed([question.subject])[0]      # with no lock held; an encoder reads the whole text
scores = score(index, question, vector)             # (n,) total, channels, and the confidence of the question
rows = best_first(scores.total, room_tokens, index)
"""
