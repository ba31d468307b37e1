"""A chat model that is asked what a question needs: in time, held to the question, and never needed."""

import json
import threading
import time
from datetime import UTC, date, datetime, timedelta

import pytest

from zibaldone import Ceilings, InvalidInput, OpenAIChat
from zibaldone.core import Scope
from zibaldone.errors import ModelUnavailable
from zibaldone.models import Asker, Meter
from zibaldone.models.static import shared_static_embedder
from zibaldone.planner import PLAN_TIMEOUT_S, request_of
from zibaldone.search.request import read_request
from zibaldone.testing import FakeOpenAIServer, Misbehaviour, ScriptedModel
from zibaldone.text.periods import Period
from zibaldone.views.base import Query

pytestmark = [pytest.mark.enable_socket, pytest.mark.allow_hosts(["127.0.0.1"])]
START = datetime(2024, 1, 8, 9, tzinfo=UTC)
TALK = [
    "Ich habe heute mit dem Umbau der Küche begonnen.",
    "Die Küche hat jetzt neue Fenster.",
    "Der Umbau der Küche ist fertig, alles hat 9000 Euro gekostet.",
    "Ich habe Suppe gekocht.",
]
QUESTION = "Sammanfatta hur der Umbau der Küche gick."
QUERY = Query(QUESTION, Scope("ann"), 1000, START)
READ = {"aim": "overview", "subject": "Umbau der Küche", "first_day": "", "last_day": ""}


def planned(opened, model, **options):
    """A memory with a talk in it, whose recalls ask that model."""
    memory = opened(chat=None)
    memory.add(
        [{"content": text, "time": START + timedelta(days=20 * i)} for i, text in enumerate(TALK)], user="ann"
    )
    memory.maintain()
    return opened(chat=model, plan_with_model=True, **options)


def reading(**changed):
    """A model that reads every question so."""
    return ScriptedModel(lambda _: READ | changed, name="reader")


def ask(memory, question=QUESTION, **options):
    """Recall without a floor."""
    return memory.recall(question, user="ann", floor=0, **options)


def test_a_model_reads_what_the_rules_cannot(opened):
    """A question in a language without rules is an overview, and the trace says who read it so."""
    recalled = ask(planned(opened, reading()))
    assert recalled.trace.aim == "overview"
    assert recalled.trace.planned_by.startswith("reader/")
    plain = ask(opened())
    assert (plain.trace.aim, plain.trace.planned_by, plain.trace.plan_note) == ("fact", "offline", "")


def test_nobody_is_asked_unless_it_is_wanted(opened):
    """A model that is there for maintenance costs no recall anything."""
    model = reading()
    ask(opened(chat=model))
    assert model.requests == []
    ask(opened(chat=model, plan_with_model=True), " ")
    assert model.requests == []
    ask(opened(chat=None, plan_with_model=True))
    with pytest.raises(InvalidInput, match="plan_with_model"):
        opened(plan_with_model="yes")


def test_what_is_sent_is_the_question(opened):
    """No more of it than two pages, and nothing of memory; once, in a short time."""
    model = reading()
    ask(planned(opened, model), QUESTION + " Küche" * 2000)
    (request,) = model.requests
    sent = json.loads(request.turns[1].content)
    assert sent.keys() == {"question", "today"}
    assert len(sent["question"]) <= 2000
    assert "9000" not in str(request.turns)
    assert (request.timeout_s, request.max_attempts) == (PLAN_TIMEOUT_S, 1)


@pytest.mark.parametrize(
    "changed",
    [
        {"subject": "Suppe"},
        {"subject": ""},
        {"first_day": "neulich"},
        {"first_day": "2024-05-01", "last_day": "2024-01-01"},
        {"first_day": "2024-13-41"},
    ],
)
def test_what_the_question_does_not_say_is_dropped(opened, changed):
    """Words that it has not, and days that are none; the rest of the answer stands."""
    assert ask(planned(opened, reading(**changed))).trace.aim == "overview"
    request = request_of(QUERY, Asker(reading(**changed), Meter(None), shared_static_embedder())).request
    assert request.subject == (read_request(QUESTION).subject if "subject" in changed else READ["subject"])
    assert request.period is None


def test_a_time_may_be_open_to_one_side(opened):
    """As in "since spring"."""
    model = reading(first_day="2024-01-20")
    request = request_of(QUERY, Asker(model, Meter(None), shared_static_embedder())).request
    assert request.period == Period(date(2024, 1, 20), None)
    assert ask(planned(opened, model)).evidence


def test_the_days_that_a_model_reads_are_looked_at_first(opened):
    """Where the rules find none."""
    days = {"first_day": "2024-01-20", "last_day": "2024-02-10"}
    model = reading(aim="list", **days)
    question = "Was geschah nach den Heiligen Drei Königen?"
    first, *_ = ask(planned(opened, model), question).trace.decisions
    assert first.evidence.sources == (2,)
    first, *_ = ask(opened(chat=None), question).trace.decisions
    assert first.evidence.sources != (2,)


@pytest.fixture
def server():
    """Reads questions; can misbehave."""
    with FakeOpenAIServer(lambda _: READ) as server:
        server.trickle_s = 0.02
        yield server


@pytest.fixture
def client(server, monkeypatch):
    """A real client, and little time."""
    monkeypatch.setattr("zibaldone.planner.PLAN_TIMEOUT_S", 0.2)
    client = OpenAIChat("fake", base_url=server.base_url, timeout_s=30, max_retries=3)
    yield client
    client.close()


def test_a_good_server(opened, client):
    """Its reading is the plan."""
    assert ask(planned(opened, client)).trace.planned_by.startswith("fake/")


@pytest.mark.parametrize("misbehaviour", list(Misbehaviour))
def test_whatever_a_server_does_the_recall_is_there_in_time(opened, server, client, misbehaviour):
    """Malformed, refused, slow, 429: as if nobody had been asked, and the trace says why."""
    expected = ask(planned(opened, None))
    memory = planned(opened, client)
    server.always = misbehaviour
    begun = time.perf_counter()
    recalled = ask(memory)
    assert time.perf_counter() - begun < 10
    if misbehaviour not in (Misbehaviour.NO_SCHEMAS, Misbehaviour.NO_LOGPROBS):
        assert recalled.text == expected.text
        assert recalled.trace.planned_by == "offline"
        assert recalled.trace.plan_note.startswith("plan: ")


def test_a_model_that_is_down_and_a_ceiling_that_is_reached(opened):
    """Both leave the recall as it is without a model."""
    expected = ask(planned(opened, None))
    down = ask(planned(opened, ScriptedModel(lambda _: ModelUnavailable("down"))))
    dear = planned(opened, reading(), ceilings=Ceilings(calls_per_user_per_day=1))
    ask(dear)
    for recalled in (down, ask(dear)):
        assert recalled.text == expected.text
        assert recalled.trace.planned_by == "offline"
    assert "calls_per_user_per_day" in ask(dear).trace.plan_note


def test_nothing_is_locked_while_the_model_reads(opened):
    """Adding and forgetting go on; what was forgotten meanwhile is not in the late answer."""
    done = threading.Event()

    def read(_):
        thread = threading.Thread(target=go_on)
        thread.start()
        thread.join(20)
        return READ

    def go_on():
        memory.add("Die Küche ist blau.", user="ann")
        memory.forget(user="ann", seqs=[3])
        done.set()

    memory = planned(opened, ScriptedModel(read), busy_timeout_s=5)
    recalled = ask(memory)
    assert done.is_set()
    assert "9000" not in recalled.text
