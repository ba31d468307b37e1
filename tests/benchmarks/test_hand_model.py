"""The model that is answered by hand, asked by the package's own client."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.hand_model import MODEL, HandModelServer
from zibaldone.errors import QuestionOpen
from zibaldone.models.base import ChatRequest, Turn
from zibaldone.models.openai import OpenAIChat
from zibaldone.models.recorded import RecordedModel

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]
SCHEMA = {"type": "object", "properties": {"notes": {"type": "array", "items": {"type": "string"}}}}


@pytest.fixture
def server(tmp_path):
    """One over an empty folder."""
    served = HandModelServer(tmp_path / "hand", poll_s=0.01)
    yield served
    served.close()


@pytest.fixture
def chat(server):
    """The client."""
    client = OpenAIChat(MODEL, base_url=server.url, api_key="none", timeout_s=20)
    yield client
    client.close()


def ask(number, **more):
    """A request with a turn in JSON."""
    return ChatRequest("notes.take", (Turn("user", json.dumps({"number": number})),), **more)


def pages(folder, count):
    """So many pages, once they are there."""
    for _ in range(1000):
        found = sorted(folder.rglob("*.md"))
        if len(found) == count and all(path.read_text().endswith("# Reply\n") for path in found):
            return found
        threading.Event().wait(0.01)
    raise AssertionError(f"{len(found)} pages")


def test_many_requests_are_held_open_until_each_is_answered(chat, tmp_path):
    """Each gets its own answer, in whatever order these come."""
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(chat.chat, ask(number)) for number in range(8)]
        for path in reversed(pages(tmp_path / "hand", 8)):
            assert not all(waiting.done() for waiting in asked)
            number = json.loads(path.read_text().split("```json\n")[-1].split("```")[0])["number"]
            path.write_text(path.read_text() + f"answer {number}")
        replies = [waiting.result() for waiting in asked]
    assert [reply.text for reply in replies] == [f"answer {number}" for number in range(8)]


def test_a_page_shows_the_request_and_its_last_turn_laid_out(chat, tmp_path):
    """In a folder of its task; an answer beside it holds too, and the same request is answered from it."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(chat.chat, ask(7, schema=SCHEMA, max_tokens=99))
        (path,) = pages(tmp_path / "hand", 1)
        assert path.parent.name == "notes_take"
        assert '{\n  "number": 7\n}' in path.read_text()
        assert '"max_tokens": 99' in path.read_text()
        assert '"notes"' in path.read_text()
        path.write_text(path.read_text() + '{"notes": []}')
        assert asked.result().text == '{"notes": []}'
    assert chat.chat(ask(7, schema=SCHEMA, max_tokens=99)).text == '{"notes": []}'


def test_a_run_over_the_pages_needs_no_server(chat, tmp_path):
    """They are recordings, under the name by which the server knows the task."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(chat.chat, ask(1, max_tokens=9))
        (path,) = pages(tmp_path / "hand", 1)
        path.write_text(path.read_text() + "yes")
        asked.result()
    recorded = RecordedModel(tmp_path / "hand", on_miss="error")
    assert recorded.chat(ChatRequest("text", ask(1).turns, max_tokens=9)).text == "yes"
    with pytest.raises(QuestionOpen):
        recorded.chat(ChatRequest("text", ask(2).turns, max_tokens=9))


def test_a_faulty_answer_is_told_and_can_be_mended(chat, tmp_path, capsys):
    """The request waits on."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(chat.chat, ask(1))
        (path,) = pages(tmp_path / "hand", 1)
        answers = path.with_name("answers.jsonl")
        answers.write_text("yes")
        said = ""
        while "is not an object" not in said:
            said += capsys.readouterr().out
        answers.write_text(json.dumps({"id": path.stem, "answer": "yes"}))
        assert asked.result().text == "yes"
