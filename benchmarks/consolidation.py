"""The cost of consolidation by a chat model: calls and tokens of each view for one conversation.

    python -m benchmarks.consolidation bundled PATH [--views chunks,topics] [--record DIR] [--only NAME]

The model is the ZIBALDONE_CHAT_MODEL, or whoever sits behind `benchmarks.hand_model`. With `--record` answers
are kept in a folder and not asked for again, and without a model a folder is replayed. Tokens are those of
the embedded tokenizer; per raw token: of requests and answers, over the tokens of the messages. Refused:
answers that did not pass their check twice, in place of which the offline answer stands. The recordings of
the bundled conversation are in `benchmarks/recordings`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import results
from benchmarks.chat import chat_model
from benchmarks.data import LOADERS, Conversation, load
from zibaldone import Memory
from zibaldone.errors import InvalidInput
from zibaldone.models.base import ChatModel

VIEWS = ("chunks", "topics", "hierarchy", "notes")
RECORDINGS = Path(__file__).parent / "recordings"
_USER = "me"


def consolidate(talk: Conversation, view: str, chat: ChatModel) -> dict[str, object]:
    """Take in a whole conversation, and let one view consolidate it: a line of the page of results."""
    with TemporaryDirectory() as folder, Memory(folder, chat=chat) as memory:
        memory.add([replace(message, seq=0) for message in talk.messages], user=_USER)
        memory.maintain(user=_USER, views=[view])
        used = memory.admin.usage(user=_USER)
        raw = sum(memory.admin.count_tokens(message.content) for message in talk.messages)
    calls, asked = sum(task.calls for task in used), sum(task.prompt_tokens for task in used)
    answered = sum(task.completion_tokens for task in used)
    return {
        "conversation": talk.name,
        "view": view,
        "messages": len(talk.messages),
        "raw tokens": raw,
        "calls": calls,
        "refused": sum(task.degraded for task in used),
        "calls per 1,000 messages": round(1000 * calls / len(talk.messages)),
        "request tokens": asked,
        "answer tokens": answered,
        "per raw token": f"{(asked + answered) / raw:.1f}",
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Consolidate, and print what it cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.consolidation", description=__doc__)
    parser.add_argument("data", choices=LOADERS)
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", help="the conversation of this name")
    parser.add_argument("--views", default=",".join(VIEWS))
    parser.add_argument("--record", type=Path, help="keep answers here, and do not ask again")
    parser.add_argument("--output", type=Path, default=Path("consolidation.json"))
    given = parser.parse_args(arguments)
    chat = chat_model(given.record)
    if chat is None:
        raise InvalidInput("nobody answers: set ZIBALDONE_CHAT_MODEL, or give --record a folder of answers")
    talks = [talk for talk in load(given.data, given.path) if given.only in (None, talk.name)]
    rows = [consolidate(talk, view, chat) for talk in talks for view in given.views.split(",")]
    results.show(f"consolidation by {chat.name}", rows)
    results.write(given.output, {"title": "Consolidation by a strong model", "rows": rows})


if __name__ == "__main__":
    main()
