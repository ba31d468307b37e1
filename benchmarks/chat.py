"""The chat model of a benchmark: the ZIBALDONE_CHAT_MODEL, a folder of recorded answers, or both."""

from __future__ import annotations

from pathlib import Path

from zibaldone.api import settings
from zibaldone.models.base import ChatModel
from zibaldone.models.recorded import OnMiss, RecordedModel


def chat_model(record: Path | None, without_model: OnMiss = "error") -> ChatModel | None:
    """The model of the settings, whose answers are kept in the folder `record` and not asked for again.

    `without_model` says what becomes of a question that is not in the folder when there is no model.
    """
    chat = settings.chat()
    if record is None:
        return chat
    return RecordedModel(record, chat, "ask" if chat else without_model)
