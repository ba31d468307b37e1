"""Maintenance in small batches, so that a few messages make several."""

from zibaldone import Memory


def read_in_batches(memory: Memory, messages: int) -> None:
    """Let the views of a memory read so many messages at a time."""
    for view in memory._views.values():
        view.batch_messages = messages
