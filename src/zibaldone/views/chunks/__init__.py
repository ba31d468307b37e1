"""The chunks view: MemAttention of Akashic. Bounded chunks, compacted one at a time and jointly."""
