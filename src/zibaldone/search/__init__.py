"""Search over one user's units, held in memory: exact, small, and one implementation for every view.

index = UnitIndex(dimension, word_embedder)
index.extend(units, vectors)                        # whatever a view calls a unit: see unit.Unit
question = parse_question(question, index)          # once, against the messages: words, speakers, days, aim
question = question.embedded(embedder)              # with no lock held
scores = score(index, question)                     # (n,) total, channels, and the confidence of the question
rows = best_first(scores.total, room_tokens, index)
"""
