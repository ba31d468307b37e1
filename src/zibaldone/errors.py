"""Every error that zibaldone raises on purpose, each below the one that it is a kind of."""

from __future__ import annotations


class ZibaldoneError(Exception):
    """The root: catch this to catch everything that zibaldone raises on purpose."""


class InvalidInput(ZibaldoneError, ValueError):
    """An argument that cannot be used; the message names the fix."""


class InvalidMessage(InvalidInput):
    """A message that cannot be stored. Nothing of the call was stored."""


class IdConflict(InvalidInput):
    """A message id that is already taken by a message with another content."""


class InvalidImport(InvalidInput):
    """A file, or a part of it, that cannot be imported; `where` and `why` are the parts of its sentence."""

    def __init__(self, sentence: str, *, where: str = "", why: str = "") -> None:
        super().__init__(sentence)
        self.where, self.why = where, why


class UnsupportedModel(InvalidInput):
    """The kv view cannot take this model; the message says which part of it does not fit."""


class TooMany(InvalidInput):
    """More of something in one call than it takes; the message says of what, and how many it may be."""


class UnknownName(InvalidInput):
    """No view, importer, system, topic document or note has this name."""


class NotGranted(InvalidInput):
    """A user may not read, or not write into, a memory that is not their own."""


class MissingExtra(ZibaldoneError, ImportError):
    """An optional dependency is missing; the message says which extra to install."""


class ModelFailed(ZibaldoneError):
    """A model or embedder did not answer, or its answer has the wrong shape."""

    requests = 1  # that were sent in vain, retries included; 0: none was

    def __init__(self, *args: object, requests: int | None = None) -> None:
        super().__init__(*args)
        if requests is not None:
            self.requests = requests


class ModelUnavailable(ModelFailed):
    """The model cannot be had now: down, too slow, rate limited, or it does not accept the key."""


class CeilingReached(ModelFailed):
    """The call was not made: it would have gone over a ceiling of calls or tokens."""

    requests = 0


class QuestionOpen(ModelFailed):
    """A recording has no answer to this question yet: answer the file that it names, and run again."""

    requests = 0


class RecallGivenUp(ZibaldoneError):
    """A recall stopped between two steps: its `timeout_s` was over, or its caller does not wait any more."""


class ClosedMemory(ZibaldoneError):
    """The Memory was closed; open a new one."""


class StorageError(ZibaldoneError):
    """The folder or its database cannot be used."""


class StorageUnusable(StorageError):
    """The path is not a folder, is not writable, or does not hold a zibaldone database."""


class KeyMissing(StorageUnusable):
    """The folder is encrypted, and no key was given."""


class WrongKey(StorageUnusable):
    """The folder is encrypted with another key than the one that was given."""


class NotEncrypted(StorageUnusable):
    """A key was given for a folder whose files are plain."""


class KeyDestroyed(StorageError):
    """The words are sealed by a key that was destroyed to forget their user, who is named."""


class StorageBusy(StorageError):
    """Other processes held the database for longer than the busy timeout; nothing was stored."""


class StorageUnreachable(StorageError):
    """The database's server went away, or is not there; the message says whether the call was stored."""


class StorageFull(StorageError):
    """No space is left on the device; nothing of the call was stored."""


class ForeignKV(StorageError):
    """The keys and values were made by another model, dtype or tokenizer; the message says how to go on."""


class BlockMissing(StorageError):
    """A block was moved after the snapshot that still points to it: the next snapshot knows where to."""


class StorageCorrupt(StorageError):
    """The database file is damaged, or an integrity check found figures that disagree."""


class NewerSchema(StorageError):
    """The folder was written by a newer version of zibaldone."""
