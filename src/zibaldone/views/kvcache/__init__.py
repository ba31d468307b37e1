"""The kv view: MemArt, memory in the model's own keys and values.

What it keeps (store.py, manifest.py, pool.py) imports no torch, so that a message can be forgotten where no
model is. All else needs the extra `kv`; zibaldone.api.kv is its door.
"""
