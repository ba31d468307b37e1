"""MemoryAgentBench: lists of facts in which a later one overrides an earlier; single and several hops."""

from benchmarks.recall import main

if __name__ == "__main__":
    main("mab", __doc__, budgets="1000", systems=("hybrid", "messages", "zibaldone", "topics"))
