"""Requests as coding agents and chat interfaces send them: what of them is a turn, and of which conversation.

The shapes are those that Claude Code 2.1, Codex 0.169 and opencode 1.18 sent to a gateway, shortened.
"""

import json

import httpx2
import pytest
from upstream import Reply


def words(text, kind="text"):
    """A part of a content."""
    return {"type": kind, "text": text}


def turn(content, role="user"):
    """A message."""
    return {"role": role, "content": content}


REMINDER = words("<system-reminder>\nCodebase instructions: use tabs.\n</system-reminder>\n\n")
TOOLS = [{"name": "Bash", "description": "Runs it.", "input_schema": {"type": "object"}}]
METADATA = {"user_id": json.dumps({"device_id": "8f98", "account_uuid": "", "session_id": "57a78e81-d01f"})}
CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "README"}


def claude_code(*messages, **more):
    """The body of one of its requests."""
    return {"messages": list(messages), "tools": TOOLS, "metadata": METADATA, "max_tokens": 9, **more}


@pytest.fixture
def send(gateway):
    """Posts a body below /v1 as Ann; gives the answer."""

    def send(path, body, **headers):
        given = {"X-Memory-User": "ann", **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer = httpx2.post(
            f"{gateway}/v1/{path}", json={"model": "fake", **body}, headers=given, timeout=60
        )
        assert answer.status_code == 200
        return answer

    return send


def test_what_claude_code_adds_to_a_turn_is_no_part_of_it(send, logged, upstream):
    """Neither stored nor asked about; the model still gets all of it. The metadata name the session."""
    said = turn([REMINDER, words("I prefer pytest.")])
    agents = turn("Available agent types: ...", "system")
    send("messages", claude_code(said, agents))
    assert [(m.session, m.content) for m in logged("ann")] == [
        ("57a78e81-d01f", "I prefer pytest."),
        ("57a78e81-d01f", "Noted."),
    ]
    assert upstream.last.json["messages"] == [said, agents]


def test_a_reminder_behind_a_tool_s_result_is_no_new_question(send, logged, upstream):
    """What was recalled for the turn stays the same, to the byte, while tools are used for it."""
    send("messages", {"messages": [turn("My dentist is Dr. Moss.")]}, X_Memory_Session="old")
    question = turn([words("Who is my dentist?")])
    upstream.replies(Reply("I look.", calls=[("toolu_1", "Bash", {"command": "ls"})]), Reply("Dr. Moss."))
    send("messages", claude_code(question))
    first = upstream.last.json["messages"][0]
    answer = turn([words("I look."), CALL], "assistant")
    send("messages", claude_code(question, answer, turn([RESULT, REMINDER])))
    assert "Dr. Moss" in json.dumps(first)
    sent = upstream.last.json["messages"]
    assert sent[0] == first
    assert sent[2]["content"] == [RESULT, REMINDER]
    assert [m.role for m in logged("ann")][2:] == ["user", "assistant", "tool", "assistant"]


def test_codex_conversations_of_one_day_are_kept_apart(send, logged):
    """They begin with the same project and machine, which nobody said."""
    agents = "# AGENTS.md instructions for /src\n\n<INSTRUCTIONS>\nTabs.\n</INSTRUCTIONS>"
    place = "<environment_context>\n  <cwd>/src</cwd>\n</environment_context>"
    context = turn([words(agents, "input_text"), words(place, "input_text")])
    for session, question in (("01a2", "My cat is Figaro."), ("01b3", "My parrot is Coco.")):
        items = [{"type": "message", **said} for said in (context, turn([words(question, "input_text")]))]
        send("responses", {"input": items, "store": False}, session_id=session)
    assert [(m.session, m.content) for m in logged("ann") if m.role == "user"] == [
        ("01a2", "My cat is Figaro."),
        ("01b3", "My parrot is Coco."),
    ]


def test_a_header_for_memory_comes_before_a_client_s_own(send, logged):
    """As what is meant for memory always does."""
    send("chat/completions", {"messages": [turn("Hello.")]}, X_Memory_Session="ours", X_Session_Id="ses_df78")
    assert {m.session for m in logged("ann")} == {"ours"}


def test_what_a_subagent_is_told_is_recalled_for_and_not_stored(send, logged, upstream):
    """A model wrote it; the conversation that sent the subagent has it as a call and a result."""
    send("messages", claude_code(turn("I prefer pytest."), metadata={}), X_Memory_Session="a")
    said = turn([REMINDER, words("Which test library does the user prefer?")])
    answer = send("messages", claude_code(said), X_Claude_Code_Agent_Id="ab30")
    assert answer.headers["x-memory-status"] == "ok"
    assert "I prefer pytest." in json.dumps(upstream.last.json["messages"])
    assert [m.content for m in logged("ann")] == ["I prefer pytest.", "Noted."]


TALK = (turn("Hello."), turn("Noted.", "assistant"))
COMPACTION = (
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n- Read nothing.\n\n"
    "Your task is to create a detailed summary of the conversation so far, paying attention."
)
TITLE_SYSTEM = [
    words("You are Claude Code."),
    words("Generate a concise title (3-7 words) that captures the main goal of this coding session."),
]
CLIENT_TASKS = {
    "Claude Code, title": (
        "messages",
        {
            "system": TITLE_SYSTEM,
            "messages": [turn([words("<session>\nMy cat is Figaro.\n</session>")])],
            "max_tokens": 9,
        },
    ),
    "Claude Code, compaction": ("messages", claude_code(*TALK, turn(COMPACTION))),
    "Claude Code, what the user may type next": (
        "messages",
        claude_code(*TALK, turn([REMINDER, words("[SUGGESTION MODE: Suggest what the user types.]")])),
    ),
    "opencode, title": (
        "chat/completions",
        {
            "messages": [
                turn("You are a title generator. You output ONLY a thread title.", "system"),
                turn("Generate a title for this conversation:\n"),
                turn('"My cat is Figaro."'),
            ]
        },
    ),
    "Open WebUI, title": (
        "chat/completions",
        {"messages": [turn("### Task:\nTitle it.\n### Chat History:\n<chat_history>..</chat_history>")]},
    ),
    "Responses, title": (
        "responses",
        {"input": "Provide a concise, 5-word-or-less title for the conversation, using title case."},
    ),
}


@pytest.mark.parametrize("task", CLIENT_TASKS)
def test_a_task_of_the_client_s_own_is_passed_on_and_is_no_turn(send, logged, upstream, task):
    """Nothing recalled, nothing stored, and the answer says why."""
    path, body = CLIENT_TASKS[task]
    answer = send(path, body)
    assert upstream.last.json == {"model": "fake", **body}
    assert answer.headers["x-memory-status"] == "off"
    assert "client" in answer.headers["x-memory-reason"]
    assert logged("ann") == []


TITLE = "Generate a title for this conversation."


@pytest.mark.parametrize(
    "said",
    [
        ["Suggest a title for the chat application that I am building."],
        ["Write a title for my talk, please."],
        ["Can you generate a title for this conversation?"],
        ["Create a detailed summary of our meeting: Ann came late."],
        ["Your task is to create a detailed summary of the paper below."],
        ["Write a title for the training session: Ann teaches Python."],
        ["Provide a detailed prompt for continuing our conversation in Dutch."],
        [f"{TITLE} I met Eva.", "Meeting Eva.", "Eva is my sister."],
        ["Hello.", "Good day.", TITLE],
    ],
)
def test_what_a_person_asks_for_is_a_turn(send, logged, said):
    """Also where it is about titles and summaries, and where a request for a title had an answer."""
    roles = ("user", "assistant", "user")
    messages = list(map(turn, said, roles))
    send("chat/completions", {"messages": messages})
    assert [m.content for m in logged("ann")] == [*said, "Noted."]


def test_a_request_for_a_title_that_goes_on_from_an_answer_is_a_turn(send, logged):
    """Where the upstream keeps the conversation, its first turn here is not its first."""
    send("responses", {"input": TITLE, "previous_response_id": "resp_1"})
    assert [m.content for m in logged("ann")] == [TITLE, "Noted."]


def test_what_the_user_says_while_tools_run_is_stored(send, logged):
    """Claude Code and opencode send it in a reminder, behind a tool's result."""
    said = "<system-reminder>\nThe user sent a new message while you were working:\nI prefer pytest.\n\n"
    said += "This is how Claude Code surfaces messages the user sends mid-turn.\n</system-reminder>"
    later = turn([RESULT, words(said), REMINDER])
    send("messages", claude_code(turn("Test it."), turn([CALL], "assistant"), later))
    assert [m.content for m in logged("ann") if m.role == "user"] == ["Test it.", "I prefer pytest."]
