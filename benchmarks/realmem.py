"""RealMem: months of talks about one's own projects; each question sees what was said before it."""

from benchmarks.recall import main

if __name__ == "__main__":
    main("realmem", __doc__)
