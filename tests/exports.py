"""Small exports of chats, for tests; and whole files read back."""

from zibaldone.importers.base import Conversation
from zibaldone.importers.importing import as_error, reading
from zibaldone.importers.source import opened_source

START = 1683554160.0  # 2023-05-08 13:56 UTC


def chatgpt_chat(name, *turns):
    """One conversation of ChatGPT's export: the user and the assistant take turns."""
    mapping = {"root": {"parent": None, "message": None, "children": []}}
    parent = "root"
    for number, text in enumerate(turns):
        mapping[f"n{number}"] = {
            "parent": parent,
            "children": [],
            "message": {
                "author": {"role": ("user", "assistant")[number % 2]},
                "create_time": START + number,
                "content": {"content_type": "text", "parts": [text]},
            },
        }
        parent = f"n{number}"
    return {
        "title": f"Title {name}",
        "create_time": START,
        "mapping": mapping,
        "current_node": parent,
        "id": name,
    }


def claude_chat(name, *turns):
    """One conversation of Claude's export."""
    return {
        "uuid": name,
        "name": f"Title {name}",
        "created_at": "2024-01-15T10:30:00Z",
        "chat_messages": [
            {
                "uuid": f"{name}{number}",
                "sender": ("human", "assistant")[number % 2],
                "created_at": f"2024-01-15T10:30:{number:02}Z",
                "text": text,
            }
            for number, text in enumerate(turns)
        ],
    }


def read_file(path, named=None, branches="current"):
    """What a whole file holds, by user and session. Raises InvalidImport for any fault in it."""
    with opened_source(path) as source:
        pieces = list(reading(source, named, branches).conversations())
    for refused in (refused for piece in pieces for refused in piece.refused):
        raise as_error(refused)
    talks = {}
    for piece in pieces:
        for message in piece.messages:
            talks.setdefault((piece.user_hint, message.session), []).append(message)
    return [Conversation(tuple(messages), user) for (user, _), messages in talks.items()]
