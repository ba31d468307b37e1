"""Memory as keys and values: a request as it was, with tokens and a scope by which an upstream loads."""

import importlib
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import openai
import pytest
from upstream import Reply

from zibaldone import Memory
from zibaldone.engine.generations import lag
from zibaldone.errors import StorageUnusable
from zibaldone.server.gateway.kv import KVPrompts

pytest.importorskip("torch")

QUESTION = "w3 w4 w5"
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


@pytest.fixture
def rig(monkeypatch):
    """Words are tokens, weights are random."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "views" / "kvcache"))
    return importlib.import_module("kv_rig")


@pytest.fixture
def attached(rig, serving, upstream):
    """The KVMemory of a gateway whose upstream takes keys and values, and an OpenAI client of it."""
    from zibaldone.api.kv import KVMemory, MemArt

    held = []

    def attach(memory):
        config = MemArt(budget_tokens=64)
        held.append(KVMemory(rig.model(), rig.tokenizer(), memory, config=config, format=rig.FORM))
        memory.add([rig.line(i) for i in range(6)], user="ann", session="earlier")
        held[0].remember(user="ann")
        return held[0]

    upstream.rendering = lambda body: (200, {"token_ids": rendered(rig, body)})
    address = serving(upstream=upstream.url, recall_timeout_ms=20_000, attach=attach)
    headers = {"X-Memory-User": "ann", "X-Memory-Session": "s"}
    with openai.OpenAI(
        base_url=f"{address}/v1", api_key="k", default_headers=headers, max_retries=0
    ) as client:
        yield held[0], client


def rendered(rig, body):
    """Ids of a chat, with the first token."""
    words = " ".join(["BOS", *(f"{m['content']} END" for m in body["messages"]), "SAY"])
    return rig.tokenizer()(words, add_special_tokens=False)["input_ids"]


def ask(client, text=QUESTION, before=(), **options):
    messages = [*before, {"role": "user", "content": text}]
    return client.chat.completions.create(model="fake", messages=messages, **options)


def asked(upstream):
    """The last chat that the upstream was to answer."""
    return [one for one in upstream.sent if one.path == "/v1/chat/completions"][-1].json


def behind(kv):
    """Messages that have no keys yet."""
    with kv._database.read() as connection:
        return lag(connection, "ann", kv.view)


def report(answer):
    return answer.model_extra["memory"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_changes_its_address_alone(attached, rig, upstream, stream):
    """Messages and tools go on as they came; the tokens are memory's, and behind them the whole request's."""
    upstream.says("w9 w8.")
    system = {"role": "system", "content": "w90 w91"}
    answer = ask(attached[1], before=[system], tools=[TOOL], stream=stream)
    if stream:
        assert "".join(chunk.choices[0].delta.content or "" for chunk in answer if chunk.choices) == "w9 w8."
    else:
        assert answer.choices[0].message.content == "w9 w8."
        assert report(answer)["kv_tokens"] > 0
    body = asked(upstream)
    assert body["messages"] == [system, {"role": "user", "content": QUESTION}]
    assert body["tools"] == [TOOL]
    params = body["kv_transfer_params"]
    ids = params["prompt_token_ids"]
    scope = params["zibaldone"]
    theirs = rendered(rig, body)[1:]  # the first token stands before everything, and no second time
    assert ids[-len(theirs) :] == theirs
    words = rig.tokenizer().decode(ids[: -len(theirs)])
    assert words.startswith("BOS PIN ")
    assert rig.line(0) in words
    assert (scope["user"], len(body["cache_salt"])) == ("ann", 32)


def test_a_turn_that_uses_tools_keeps_its_memory(attached, upstream):
    """While the client answers calls, memory's tokens and the salt stay: the engine's prefix cache holds."""
    first = ask(attached[1], tools=[TOOL])
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": "w7", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "w8"},
    ]
    before = asked(upstream)
    attached[1].chat.completions.create(model="fake", messages=messages, tools=[TOOL])
    after = asked(upstream)
    assert after["cache_salt"] == before["cache_salt"]
    shared = report(first)["kv_tokens"]
    was, now = (body["kv_transfer_params"]["prompt_token_ids"] for body in (before, after))
    assert was[:shared] == now[:shared]
    assert len(now) > len(was)


def test_what_was_said_is_encoded_for_the_next(attached):
    """In the background: the answer waits for no model."""
    kv, client = attached
    ask(client, "w100 w101")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and behind(kv):
        time.sleep(0.01)
    assert behind(kv) == 0
    assert len(kv.memory.messages(user="ann")) == 8


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (403, {"error": "off"}),
        (429, {"error": "later"}),
        (200, {"token_ids": []}),
        (200, {"token_ids": [1, "2"]}),
        (200, {"token_ids": None}),
        (200, [1, 2]),
    ],
)
def test_an_upstream_that_renders_nothing(attached, upstream, status, body):
    """The request has its memory as text, and the report says why."""
    upstream.rendering = lambda _: (status, body)
    answer = ask(attached[1])
    sent = asked(upstream)
    assert "kv_transfer_params" not in sent
    assert sent["messages"][-1]["content"].endswith(QUESTION)
    assert len(sent["messages"][-1]["content"]) > len(QUESTION)
    assert "did not render" in report(answer)["reason"]
    assert "kv_tokens" not in report(answer)


@pytest.mark.parametrize(
    "options",
    [
        {"extra_body": {"cache_salt": "mine"}},
        {"extra_body": {"echo": True}},
    ],
)
def test_requests_that_go_with_text_alone(attached, upstream, options):
    """What the client says about caches stays as it was."""
    answer = ask(attached[1], **options)
    sent = asked(upstream)
    assert {name: sent[name] for name in options["extra_body"]} == options["extra_body"]
    assert len(sent["messages"][-1]["content"]) > len(QUESTION)
    assert "text alone" in report(answer)["reason"]


@pytest.mark.parametrize("path", ["/chat/completions", "/completions"])
def test_nobody_names_keys_himself(attached, upstream, path):
    """An engine answers whether a text is the named user's: no client's own scope gets there."""
    client = attached[1]
    mine = {"model": "fake", "prompt": "x", "messages": [{"role": "user", "content": QUESTION}]}
    with pytest.raises(openai.BadRequestError, match="leave them out"):
        client.post(path, body=mine | {"kv_transfer_params": {"zibaldone": {"user": "bea"}}}, cast_to=object)
    assert upstream.sent == []


def test_pictures_go_with_text(attached, upstream):
    """An engine leaves forwarded tokens aside where there is a picture."""
    parts = [{"type": "text", "text": QUESTION}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    attached[1].chat.completions.create(model="fake", messages=[{"role": "user", "content": parts}])
    assert "kv_transfer_params" not in asked(upstream)


def test_memory_that_is_searched_with_a_tool(attached, upstream):
    """Its rounds go on from the messages: no tokens stand for them."""
    ask(attached[1], extra_body={"memory": {"mode": "both"}})
    assert "kv_transfer_params" not in asked(upstream)


def test_an_agent_gets_no_keys(attached, upstream):
    """Its messages' keys were computed behind those of other agents, of whose text something is in them."""
    kv, client = attached
    kv.memory.add([{"content": f"{QUESTION} w99", "metadata": {"agent": "planner"}}], user="ann")
    kv.remember(user="ann")
    answer = ask(client, extra_headers={"X-Memory-Agent": "planner"})
    sent = asked(upstream)
    assert "kv_transfer_params" not in sent
    assert "w99" in sent["messages"][-1]["content"]
    assert "memory as text" in report(answer)["reason"]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "tool"}, "neither the user's nor"),
        ({"role": "system"}, "neither the user's nor"),
        ({"content": f"{QUESTION} EOS w61"}, "special tokens"),
        ({"name": "Bo EOS"}, "special tokens"),
        ({"content": f"{QUESTION}. {' '.join(f'w{i}' for i in range(150))}"}, "room for them"),
        ({"content": f"Always say {QUESTION} in verse."}, "other words"),
    ],
)
def test_what_keys_do_not_say_goes_as_text(attached, upstream, message, why):
    """Whatever would be lost of a recall, or be read as more than a quotation."""
    kv, client = attached
    kv.memory.add([{"content": f"{QUESTION} w61", **message}], user="ann", session="earlier")
    kv.memory.maintain(user="ann")
    answer = ask(client)
    sent = asked(upstream)
    assert "kv_transfer_params" not in sent
    assert QUESTION in sent["messages"][-1]["content"].removesuffix(QUESTION)
    assert why in report(answer)["reason"]


@pytest.mark.parametrize(
    "error", [RuntimeError("CUDA out of memory at /srv/memory"), StorageUnusable("no card in /srv/memory")]
)
def test_errors_of_a_model_fail_no_request(attached, upstream, monkeypatch, caplog, error):
    """The request has its memory as text; the report names no path, the log has the error."""
    kv, client = attached

    def prompt(*_, **__):
        raise error

    monkeypatch.setattr(kv, "prompt", prompt)
    answer = ask(client)
    assert "kv_transfer_params" not in asked(upstream)
    assert report(answer)["reason"] == f"memory as text: {type(error).__name__}"
    assert f"{type(error).__name__} of memory as keys" in caplog.text


def test_no_request_waits_for_encoding(attached, upstream):
    """While the model is busy, what has keys goes as keys, and what has none as text; later it has some."""
    kv, client = attached
    deadline = time.monotonic() + 20
    ask(client)  # the model's card is written
    while behind(kv):
        assert time.monotonic() < deadline
    with kv.view.model_lock:
        assert report(ask(client))["kv_tokens"] > 0
        kv.memory.add([{"content": "w100 w101 w102"}], user="ann", session="earlier")
        assert "not all of it has keys" in report(ask(client, "w100 w101"))["reason"]
        assert "kv_transfer_params" not in asked(upstream)
    while "kv_tokens" not in report(ask(client, "w100 w101")):
        assert time.monotonic() < deadline


def test_recall_and_keys_have_one_deadline(rig, serving, upstream, monkeypatch):
    """A recall that takes most of the time leaves its keys the rest."""
    from zibaldone.api.kv import KVMemory

    def attach(memory):
        memory.add([rig.line(i) for i in range(6)], user="ann", session="earlier")
        kv = KVMemory(rig.model(), rig.tokenizer(), memory, format=rig.FORM)
        kv.remember(user="ann")
        return kv

    def late(answer):
        def wait(*given, **options):
            time.sleep(2)
            return answer(*given, **options)

        return wait

    monkeypatch.setattr(Memory, "recall", late(Memory.recall))
    upstream.rendering = late(lambda body: (200, {"token_ids": rendered(rig, body)}))
    address = serving(upstream=upstream.url, recall_timeout_ms=3500, attach=attach)
    with openai.OpenAI(
        base_url=f"{address}/v1", api_key="k", default_headers={"X-Memory-User": "ann"}, max_retries=0
    ) as client:
        answer = ask(client)
    assert "not ready" in report(answer)["reason"]
    assert report(answer)["citations"]


class Encoding:
    """A KVMemory's part of encoding, whose batches wait until they may go on."""

    def __init__(self, **messages):
        self.left, self.batches = messages, []
        self.began, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.memory, self.is_closed = self, False
        tokenizer = SimpleNamespace(all_special_tokens=[])
        self.view = SimpleNamespace(name="kv", encoder=SimpleNamespace(tokenizer=tokenizer))

    def maintain(self, user, views, progress):
        assert views == ["kv"]
        total = self.left[user]
        while self.left[user]:
            self.began.release()
            assert self.go.acquire(timeout=20)
            self.batches.append(user)
            self.left[user] -= 1
            progress(total - self.left[user], total)

    def remember(self, user):
        self.batches.append(f"{user} is done")

    def close(self):
        self.is_closed = True


def test_users_are_encoded_in_turns_and_once():
    """A long history holds up no other user, and answers that come meanwhile are one job."""
    kv = Encoding(bob=3, ann=1)
    prompts = KVPrompts(kv)
    prompts.catch_up("bob")
    assert kv.began.acquire(timeout=20)
    for _ in range(500):
        prompts.catch_up("ann")
    assert prompts._encoding._work_queue.qsize() == 1
    kv.go.release(4)
    deadline = time.monotonic() + 20
    while "bob is done" not in kv.batches and time.monotonic() < deadline:
        time.sleep(0.01)
    prompts.close()
    assert kv.batches == ["bob", "ann", "ann is done", "bob", "bob", "bob is done"]


def test_the_end_waits_for_no_batch():
    """What is due is dropped: the next server finds it in the log."""
    kv = Encoding(bob=9, ann=9)
    prompts = KVPrompts(kv)
    prompts.catch_up("bob")
    prompts.catch_up("ann")
    assert kv.began.acquire(timeout=20)
    prompts.close()
    assert kv.is_closed
    kv.go.release(9)
    prompts._encoding.shutdown()
    assert kv.batches == ["bob"]


def test_refusals_are_passed_on(attached, upstream):
    """An error of the model server is the client's, memory or not."""
    upstream.reply = lambda _: Reply(status=429, error={"error": {"message": "slow down"}})
    with pytest.raises(openai.RateLimitError, match="slow down"):
        ask(attached[1])
