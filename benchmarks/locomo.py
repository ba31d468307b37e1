"""LoCoMo: long conversations of two people, with questions whose evidence turns are marked."""

from benchmarks.recall import main

if __name__ == "__main__":
    main("locomo", __doc__)
