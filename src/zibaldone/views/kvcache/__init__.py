"""The kv view: MemArt, memory in the model's own keys and values.

storage/ but for codec imports no torch, so that a message can be forgotten where no model is.
All else needs the extra `kv`; zibaldone.api.kv is its public interface.
"""

NAME = "kv"
FOLDER = "kv"  # inside the memory's own
