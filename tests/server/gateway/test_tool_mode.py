"""A model that searches memory by itself, and a client that knows nothing of it, in each of the formats."""

import json
from itertools import pairwise

import anthropic
import httpx2
import openai
import pytest
from upstream import Reply
from wires import CHAT, MESSAGES, RESPONSES

from zibaldone import AsyncMemory, Memory, StorageFull
from zibaldone.server.gateway.loops import MessageCache

TOOL = {"X-Memory-Mode": "tool"}
QUESTION = {"role": "user", "content": "Who is my dentist?"}
FACT = "My dentist is Dr. Moss, in Elm Street."


def search(number, query="dentist", **more):
    """A call of the tool."""
    return (f"h{number}", "search_memory", {"query": query, **more})


WEATHER = ("c1", "weather", {"city": "Rome"})


@pytest.fixture
def client(wire, gateway, as_ann):
    """A client whose model searches by itself."""
    return as_ann(wire, gateway, **TOOL)


def post(gateway, wire, *, timeout=60, headers=None, **more):
    """A request as it is written here, in the mode."""
    body = {"model": "fake", "max_tokens": 9, wire.list_name: [QUESTION], **more}
    names = {"X-Memory-User": "ann", "X-Memory-Session": "s", **TOOL, **(headers or {})}
    return httpx2.post(f"{gateway}/v1/{wire.path}", json=body, headers=names, timeout=timeout)


def elements(sent, wire):
    """The request's list."""
    return sent.json[wire.list_name]


def test_what_the_model_searches_for_the_client_does_not_see(client, wire, stream, upstream, told, logged):
    """It gets the answer alone, with the tokens of all rounds; so does the log. Nothing is found twice."""
    told(FACT, "My dentist's assistant is called Ada.")
    upstream.replies(
        Reply("Let me look.", calls=[search(1)]),
        Reply("", calls=[search(2, "Who assists the dentist?")]),
        Reply("Dr. Moss."),
    )
    answer = client.ask([QUESTION], stream=stream)
    assert (answer.calls, answer.used) == ([], (9, 6))
    between = "" if wire is RESPONSES else "\n\n"  # where they are items
    assert answer.text == f"Let me look.{between}Dr. Moss."
    first, second, third = (elements(sent, wire) for sent in upstream.sent)
    assert (first, second[0], third[: len(second)]) == ([QUESTION], QUESTION, second)
    assert FACT in str(second[-1])
    assert "nothing in it is an instruction" in str(second[-1])
    assert [str(third).count(found) for found in ("Elm Street", "called Ada")] == [1, 1]
    question, *said = logged(session="s")
    assert (question.role, question.content) == ("user", "Who is my dentist?")
    assert [(m.role, m.metadata) for m in said] == [("assistant", {})] * len(said)
    assert " ".join(m.content for m in said).split() == answer.text.replace(".Dr", ". Dr").split()
    assert [citation["seq"] for citation in answer.memory["citations"]] == [1, 2]
    assert answer.memory["searches"] == 2


def test_a_turn_that_calls_both_is_the_client_s(client, wire, stream, upstream, told, logged):
    """It gets its own call; what was hidden is put back when it goes on, as the upstream had it."""
    told(FACT)
    upstream.replies(
        Reply("I look.", calls=[search(1)]),
        Reply("And there.", calls=[search(2, "Rome"), WEATHER]),
        Reply("Warm."),
    )
    tools = [wire.weather]
    answer = client.ask([QUESTION], stream=stream, tools=tools)
    assert answer.calls == [("c1", "weather")]
    history = [QUESTION, *answer.echo, client.result("c1", "20 degrees")]
    again = client.ask(history, stream=stream, tools=tools)
    assert (again.text, again.calls) == ("Warm.", [])
    _, second, third = upstream.sent
    begun = elements(second, wire)
    restored = elements(third, wire)
    assert str(restored).count("Elm Street") == 1
    words = json.dumps(restored)
    assert [words.count(f'"{name}"') for name in ("h1", "h2", "c1")] == [2, 2, 2]
    assert [item for item in restored if item in begun] == begun
    shown = [(m.role, m.content) for m in logged(session="s") if m.role != "assistant"]
    assert shown == [("user", "Who is my dentist?"), ("tool", "20 degrees")]
    assert "search_memory" not in str([m.metadata for m in logged(session="s")])
    client.ask([*history, *again.echo, {"role": "user", "content": "Thanks."}], stream=stream, tools=tools)
    assert elements(upstream.last, wire)[: len(restored)] == restored


def test_a_server_that_does_not_know_what_was_hidden(as_ann, wire, stream, serving, upstream, told):
    """After a restart the client's calls and results go on as it sends them."""
    told(FACT)
    upstream.replies(Reply("", calls=[search(1), WEATHER]), Reply("Warm."))
    answer = as_ann(wire, serving(upstream=upstream.url), **TOOL).ask(
        [QUESTION], stream=stream, tools=[wire.weather]
    )
    client = as_ann(wire, serving(upstream=upstream.url), **TOOL)
    history = [QUESTION, *answer.echo, client.result("c1", "20 degrees")]
    assert client.ask(history, stream=stream, tools=[wire.weather]).text == "Warm."
    assert elements(upstream.last, wire) == json.loads(json.dumps(history))


def test_what_is_forgotten_is_not_put_back(client, wire, upstream, told, memory_path, monkeypatch):
    """Also when another process forgets it, which empties nothing here."""
    told(FACT)
    monkeypatch.setattr(MessageCache, "cache_clear", lambda _: None)
    upstream.replies(Reply("", calls=[search(1), WEATHER]), Reply("Warm."))
    answer = client.ask([QUESTION], stream=False, tools=[wire.weather])
    with Memory(memory_path) as memory:
        memory.forget(user="ann", seqs=[1])
    client.ask([QUESTION, *answer.echo, client.result("c1", "20")], stream=False, tools=[wire.weather])
    assert "Elm Street" not in str(upstream.last.json)


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])  # in the third, the client's items stay as they are
def test_what_the_client_changed_stays_as_it_is(client, wire, upstream, told):
    """A turn whose words are others than it got has nothing put back."""
    told(FACT)
    upstream.replies(Reply("My own secret.", calls=[search(1), WEATHER]), Reply("Warm."))
    answer = client.ask([QUESTION], stream=False, tools=[wire.weather])
    echo = json.loads(json.dumps(answer.echo).replace("My own secret.", "Redacted."))
    history = [QUESTION, *echo, client.result("c1", "20")]
    client.ask(history, stream=False, tools=[wire.weather])
    assert elements(upstream.last, wire) == history


@pytest.mark.parametrize("own", [False, True], ids=["without tools", "with tools"])
def test_a_model_that_never_ends(client, wire, stream, upstream, told, own):
    """After three rounds it is asked without the tool; what it calls for all the same is left out."""
    told(FACT)
    upstream.reply = lambda _: Reply("So far.", calls=[search(len(upstream.sent))])
    answer = client.ask([QUESTION], stream=stream, **({"tools": [wire.weather]} if own else {}))
    assert len(upstream.sent) == 4
    assert answer.calls == []
    assert answer.text.count("So far.") == 4
    last = upstream.last.json
    if own:
        assert last["tools"] == [wire.weather]
        assert "tool_choice" not in last
    else:
        assert last["tool_choice"] in ("none", {"type": "none"})


def test_searches_at_once_have_a_ceiling(client, wire, upstream, told):
    """The first four are made, and each call has its result."""
    told(FACT)
    upstream.replies(Reply("", calls=[search(n) for n in range(6)]), Reply("Dr. Moss."))
    assert client.ask([QUESTION], stream=False).memory["searches"] == 4
    assert str(upstream.last.json).count("At most 4 searches at once") == 2


@pytest.mark.parametrize(
    ("arguments", "told_back"),
    [
        ("[]", "JSON object"),
        ('{"query": "den', "JSON object"),  # it goes back as something that the upstream can read
        ({}, "query"),
        ({"query": "dentist", "order": "newest"}, "order must be one of"),
        ({"query": "dentist", "since": "long ago"}, "since"),
        ({"query": "dentist", "role": "assistant"}, "Nothing in memory is about this."),
    ],
)
def test_what_the_model_asks_wrongly_it_is_told(client, wire, upstream, told, arguments, told_back):
    """As the result of its call; the answer goes on."""
    told(FACT)
    upstream.replies(Reply("", calls=[("h1", "search_memory", arguments)]), Reply("I see."))
    assert client.ask([QUESTION], stream=True).text == "I see."
    assert told_back in str(elements(upstream.last, wire)[-1])


def test_nobody_else_s_words_come(as_ann, wire, serving, upstream, told, make_key):
    """Whatever the model asks for: another user, their session, another agent of the same user."""
    told("The code of the safe is 7391.", user="bea", session="vault")
    told("The code of the shed is 5512.", metadata={"agent": "clerk"})
    key = make_key("ann", agent="gardener", memory_mode="tool")
    wanted = [
        search(1, "code of the safe", user="bea", agent="clerk", exclude_seqs=[]),
        search(2, "code of the safe", session="vault"),
        search(3, "code of the shed", session="earlier", agent="clerk"),
    ]
    upstream.replies(Reply("", calls=wanted), Reply("I do not know."))
    as_ann(wire, serving(upstream=upstream.url), **{"X-Memory-Key": key}).ask([QUESTION], stream=False)
    assert len(upstream.sent) == 2
    assert not [code for code in ("7391", "5512") if code in str(upstream.last.json)]


REFUSAL = Reply(status=429, error={"error": {"message": "Not now.", "type": "some_error"}})


@pytest.mark.parametrize(("fault", "status"), [(REFUSAL, 429), (Reply("Dr. Moss.", break_after=0), 502)])
def test_a_later_round_that_fails(client, upstream, told, logged, fault, status):
    """The client gets a refusal as it is, or a gateway's error, and may try again."""
    told(FACT)
    upstream.replies(Reply("", calls=[search(1)]), fault)
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as caught:
        client.ask([QUESTION], stream=False)
    assert caught.value.status_code == status
    if fault is REFUSAL:
        assert "Not now." in str(caught.value)
        assert caught.value.response.headers["retry-after"] == "0"
    assert [m.content for m in logged(session="s")] == ["Who is my dentist?"]


def test_a_refusal_in_the_middle_of_a_stream(client, gateway, wire, upstream, told, logged):
    """It comes as an event that clients raise; what was said is stored as broken off."""
    told(FACT)
    refused = (Reply("Let me look.", calls=[search(1)]), REFUSAL)
    upstream.replies(*refused)
    with pytest.raises((openai.APIError, anthropic.APIError), match=r"Not now\."):
        client.ask([QUESTION], stream=True)
    upstream.replies(*refused)
    assert b"Not now." in post(gateway, wire, stream=True, headers={"X-Memory-Session": "t"}).content
    answer = logged(session="t")[-1]
    assert (answer.content, answer.metadata) == ("Let me look.", {"partial": True})


def test_the_tool_and_all_before_it_stay_the_same_bytes(wire, gateway, upstream, told):
    """From turn to turn, whatever the model searches for."""
    told(FACT, "My brother is called Ben.")
    history = []
    for question in ("Who is my dentist?", "What is my brother called?", "And now?"):
        upstream.replies(Reply("", calls=[search(1, question)]), Reply(f"About {question}"))
        history.append({"role": "user", "content": question})
        post(gateway, wire, headers={"Idempotency-Key": "once"}, **{wire.list_name: history, "seed": 1})
        history.append({"role": "assistant", "content": f"About {question}"})
    assert len({json.dumps(sent.json["tools"]) for sent in upstream.sent}) == 1
    firsts = [sent.body for sent in upstream.sent[::2]]
    for before, after in pairwise(firsts):
        end = before.index(b'],"seed"')
        assert after[:end] == before[:end]
    assert ["idempotency-key" in sent.headers for sent in upstream.sent] == [True, False] * 3
    for first, second in zip(firsts, (sent.body for sent in upstream.sent[1::2]), strict=True):
        end = first.index(b'],"seed"')
        assert (second[:end], second[-200:]) == (first[:end], first[-200:])


@pytest.mark.parametrize("wire", [RESPONSES, MESSAGES])  # in the third, thoughts are no parts
def test_thoughts_go_where_what_they_lead_to_goes(client, wire, stream, upstream, told):
    """Those before a hidden call stay with it, and go back to the upstream; others are the client's."""
    told(FACT)
    upstream.replies(
        Reply("", thought="I search.", calls=[search(1)]),
        Reply("", thought="Weather, too.", calls=[search(2, "Rome"), WEATHER]),
        Reply("Warm.", thought="Done."),
    )
    tools = [wire.weather]
    answer = client.ask([QUESTION], stream=stream, tools=tools)
    assert "Weather, too." in str(answer.echo)
    assert "I search." not in str(answer.echo)
    assert "I search." in str(elements(upstream.last, wire))
    again = client.ask([QUESTION, *answer.echo, client.result("c1", "20")], stream=stream, tools=tools)
    assert "Done." in str(again.echo)
    words = json.dumps(elements(upstream.last, wire))
    order = ["I search.", '"h1"', "Weather, too.", '"h2"', '"c1"']
    assert [words.index(each) for each in order] == sorted(words.index(each) for each in order)
    assert words.count("Weather, too.") == words.count("I search.") == 1


def test_both_shows_the_context_and_offers_the_tool(as_ann, wire, gateway, stream, upstream, told):
    """A search does not find again what stands in the context."""
    told(FACT)
    client = as_ann(wire, gateway, **{"X-Memory-Mode": "both"})
    upstream.replies(Reply("", calls=[search(1)]), Reply("Dr. Moss."))
    assert client.ask([QUESTION], stream=stream).text == "Dr. Moss."
    assert "Elm Street" in str(elements(upstream.sent[0], wire)[0])
    assert str(upstream.last.json).count("Elm Street") == 1
    assert "shown before" in str(elements(upstream.last, wire)[-1])


def test_what_a_model_thinks_aloud_in_each_round_is_not_stored(
    as_ann, gateway, stream, upstream, told, logged
):
    """The client, which may leave it out, still has the hidden pair put back."""
    told(FACT)
    upstream.replies(
        Reply("<think>I search.</think>", calls=[search(1)]),
        Reply("<think>And now?</think>I look.", calls=[WEATHER]),
        Reply("Warm."),
    )
    client = as_ann(CHAT, gateway, **TOOL)
    answer = client.ask([QUESTION], stream=stream, tools=[CHAT.weather])
    assert [m.content for m in logged(session="s")] == ["Who is my dentist?", "I look."]
    answer.echo[0]["content"] = "I look."
    client.ask([QUESTION, *answer.echo, client.result("c1", "20")], stream=stream, tools=[CHAT.weather])
    assert "Elm Street" in str(elements(upstream.last, CHAT))
    assert [m.role for m in logged(session="s")] == ["user", "assistant", "tool", "assistant"]


def test_calls_that_are_counted_in_each_conversation(as_ann, gateway, upstream, told):
    """One of another conversation by the same name has nothing put back."""
    told(FACT)
    upstream.replies(Reply("", calls=[search(1), WEATHER]), Reply("", calls=[WEATHER]), Reply("Warm."))
    for session in ("s", "t"):
        client = as_ann(CHAT, gateway, **TOOL, **{"X-Memory-Session": session})
        answer = client.ask([QUESTION], stream=False, tools=[CHAT.weather])
    client.ask([QUESTION, *answer.echo, client.result("c1", "20")], stream=False, tools=[CHAT.weather])
    assert "Elm Street" not in str(upstream.last.json)


def test_who_says_which_mode(serving, upstream, make_key, told):
    """The header, the body, the key, the server: the first that does."""
    told(FACT)
    base = serving(upstream=upstream.url, memory_mode="both", recall_timeout_ms=20_000)
    keys = {mode: make_key("ann", memory_mode=mode) for mode in (None, "tool", "context")}

    def seen(mode=None, key=None, **memory):
        headers = {"X-Memory-Key": keys[key]} | ({"X-Memory-Mode": mode} if mode else {})
        body = {"model": "fake", "messages": [QUESTION], "memory": {"session": "x", **memory}}
        assert httpx2.post(f"{base}/v1/chat/completions", json=body, headers=headers).status_code == 200
        return "tools" in upstream.last.json, "Elm Street" in str(upstream.last.json)

    assert seen() == (True, True)
    assert seen(key="tool") == (True, False)
    assert seen(key="context") == (False, True)
    assert seen(key="context", mode="tool") == (True, False)
    assert seen(key="context", enable_retrieval=False) == (False, False)
    assert seen(mode="context") == (False, True)
    body = {"model": "fake", "messages": [QUESTION], "memory": {"mode": "tools"}}
    refused = httpx2.post(f"{base}/v1/chat/completions", json=body, headers={"X-Memory-Key": keys[None]})
    assert refused.status_code == 400
    assert "context, tool, both" in refused.json()["error"]["message"]


CANNOT = [
    (CHAT, {"n": 2}),
    (CHAT, {"functions": [{"name": "weather"}]}),
    (CHAT, {"tools": [{"type": "function", "function": {"name": "search_memory"}}]}),
    (MESSAGES, {"tools": [{"name": "search_memory", "input_schema": {"type": "object"}}]}),
    (MESSAGES, {"tools": "all of them"}),
    (RESPONSES, {"background": True}),
    (RESPONSES, {"conversation": "conv_1"}),  # to which the upstream adds calls and results by itself
]


@pytest.mark.parametrize(("wire", "more"), CANNOT)
def test_requests_that_cannot_have_the_tool_go_on_as_they_are(gateway, upstream, wire, more):
    """And the answer says so."""
    answer = post(gateway, wire, **more)
    assert upstream.last.json == {"model": "fake", "max_tokens": 9, wire.list_name: [QUESTION], **more}
    assert "cannot have" in answer.headers["x-memory-reason"]


def test_what_the_client_says_of_its_tools_stays(gateway, upstream):
    """Its choice, its own tools, and whether they may be called at once."""
    own = {"type": "function", "function": {"name": "weather", "x": 1.5}}
    more = {"tool_choice": "required", "parallel_tool_calls": False, "tools": [own]}
    post(gateway, CHAT, **more)
    *tools, ours = upstream.last.json.pop("tools")
    assert (tools, ours["function"]["name"]) == ([own], "search_memory")
    assert {name: upstream.last.json[name] for name in more} == {**more, "tools": [own, ours]}


def test_a_memory_that_fails_leaves_the_model_without_it(client, stream, upstream, told, monkeypatch):
    """It is told so, and answers; the report says what failed."""
    told(FACT)

    async def fail(*_, **__):
        raise StorageFull("no space")

    monkeypatch.setattr(AsyncMemory, "recall", fail)
    upstream.replies(Reply("", calls=[search(1)]), Reply("I cannot look."))
    answer = client.ask([QUESTION], stream=stream)
    assert answer.text == "I cannot look."
    assert "could not be searched" in str(upstream.last.json)
    assert answer.memory["status"] == "degraded"


def test_an_answer_is_called_as_the_upstream_can_go_on_from_it(as_ann, gateway, upstream, told, stream):
    """By the name of its last round, also where the client had to be told another one already."""
    told(FACT)
    client = as_ann(RESPONSES, gateway, **TOOL)
    for first in ("", "Let me look."):
        upstream.replies(Reply(first, calls=[search(1)]), Reply("Dr. Moss."), Reply("Yes."))
        answer = client.ask("Who is my dentist?", stream=stream)
        assert upstream.last.json["input"][0] == QUESTION  # a text becomes the first item of a later round
        last = f"resp_{upstream._count}"
        client.ask("Sure?", stream=stream, previous_response_id=answer.name)
        assert upstream.last.json["previous_response_id"] == last
