"""LongMemEval: questions to a haystack of chat sessions in which a few hold the answer."""

from benchmarks.recall import main

if __name__ == "__main__":
    main("longmemeval", __doc__)
