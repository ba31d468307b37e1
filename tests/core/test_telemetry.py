"""Telemetry of the library: the spans of an operation, what they tell, and that they tell no content."""

import subprocess
import sys

import pytest
from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from telemetry import Exported, exported
from zibaldone import ModelFailed
from zibaldone.errors import InvalidInput
from zibaldone.testing import ScriptedModel

CANARY = "xylophone-4711"
ANSWER = {"answer": f"A {CANARY}.", "sources": [1]}


@pytest.fixture
def told() -> Exported:
    """Exported from here on."""
    telemetry = exported()
    telemetry.exporter.clear()
    return telemetry


def test_operations_make_a_tree_of_spans(told, opened):
    """A caller's span has the operation in it, an `ask` its rounds, a round its model and its recalls."""
    looks = {"queries": [{"query": "instrument"}]}
    memory = opened(chat=ScriptedModel([looks, ANSWER]))
    with get_tracer("caller").start_as_current_span("caller"):
        memory.add([{"content": f"I play the {CANARY}."}, {"content": "Every day."}], user="ann")
        memory.ask("What do I play?", user="ann", rounds=2)
        memory.search("play", user="ann")
        memory.forget(user="ann", everything=True)
    spans = told.spans()
    chat = ("chat scripted",)
    assert told.tree(spans["caller"][0]) == (
        "caller",
        ("zibaldone.add",),
        (
            "zibaldone.ask",
            ("zibaldone.recall",),
            ("zibaldone.ask.round", chat, ("zibaldone.recall",)),
            ("zibaldone.ask.round", chat),
        ),
        ("zibaldone.search",),
        ("zibaldone.forget",),
    )
    assert spans["zibaldone.add"][0].attributes["zibaldone.messages"] == 2
    assert spans["zibaldone.ask"][0].attributes["zibaldone.calls"] == 2
    assert spans["zibaldone.recall"][0].attributes["zibaldone.recall.tokens"] > 0
    model = spans["chat scripted"][0]
    assert model.kind is SpanKind.CLIENT
    asked = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted",
        "zibaldone.task": "ask.step",
    }
    assert asked.items() <= model.attributes.items()
    assert model.attributes["gen_ai.usage.input_tokens"] > model.attributes["gen_ai.usage.output_tokens"] > 0


def test_maintenance_has_a_span_per_view_in_whatever_thread(told, opened):
    """Those of threads that work side by side are parts of their maintenance."""
    memory = opened(workers=3)
    for user in ("ann", "ben", "cleo"):
        memory.add("I moved to Lisbon in May.", user=user)
    told.exporter.clear()
    memory.maintain(views=["topics", "hierarchy"])
    (whole,) = told.spans()["zibaldone.maintain"]
    views = [one for one in told.tree(whole)[1:] if one[0] == "zibaldone.maintain.view"]
    assert len(views) == 6
    named = {span.attributes["zibaldone.view"] for span in told.spans()["zibaldone.maintain.view"]}
    assert named == {"topics", "hierarchy"}


def test_metrics_count_what_was_done(told, opened):
    """Messages and tokens, and the durations of operations and of models' calls."""

    def of(name, **facts):
        points = told.metrics().get(name, [])
        chosen = [one for one in points if facts.items() <= dict(one.attributes).items()]
        return sum(getattr(one, "count", None) or one.value for one in chosen)

    memory = opened(chat=ScriptedModel([ANSWER]))
    operations = {"zibaldone.operation": "recall"}
    before = of("zibaldone.messages.added"), of("zibaldone.duration", **operations)
    memory.add(["one", "two", "I play the piano."], user="ann")
    memory.recall("What do I play?", user="ann")
    memory.ask("What do I play?", user="ann")
    assert of("zibaldone.messages.added") - before[0] == 3
    assert of("zibaldone.duration", **operations) - before[1] == 2
    assert of("zibaldone.recall.tokens") >= 2
    assert of("gen_ai.client.operation.duration", **{"gen_ai.request.model": "scripted"}) >= 1
    assert of("gen_ai.client.token.usage", **{"gen_ai.token.type": "output"}) >= 1


def test_no_content_is_told(told, opened):
    """Neither messages nor questions, answers, users, sessions, models' words or errors' texts."""
    answers = [ANSWER, ModelFailed(f"cannot say {CANARY}"), f"no JSON {CANARY}"]
    memory = opened(chat=ScriptedModel(answers))
    user = f"user-{CANARY}"
    memory.add(f"I play the {CANARY}.", user=user, session=f"s-{CANARY}")
    for _ in answers:
        memory.ask(f"Who plays the {CANARY}?", user=user, rounds=1)
    memory.recall(f"Who plays the {CANARY}?", user=user)
    memory.maintain(user=user)
    with pytest.raises(InvalidInput):
        memory.recall(f"Who plays the {CANARY}?", user=user, views=[CANARY])
    memory.forget(user=user, everything=True)
    assert len(told.spans()) > 6
    assert CANARY not in told.text()


def test_a_failure_is_told_by_its_class(told, opened):
    """As the span's status, without a text or a traceback, and in the metric."""
    memory = opened(chat=ScriptedModel([ModelFailed("the key sk-123 is not valid")]))
    memory.add("I play the piano.", user="ann")
    memory.ask("What do I play?", user="ann")
    (model,) = told.spans()["chat scripted"]
    assert (model.status.status_code, model.status.description) == (StatusCode.ERROR, None)
    assert (model.attributes["error.type"], model.events) == ("ModelFailed", ())
    (asked,) = told.spans()["zibaldone.ask"]
    assert asked.status.status_code is StatusCode.UNSET  # it was answered, with the plain recall


@pytest.mark.wide
def test_without_a_setup_nothing_is_imported(tmp_path):
    """Whoever has not set OpenTelemetry up pays nothing for it."""
    script = (
        "import sys; from zibaldone import Memory\n"
        "with Memory(sys.argv[1]) as memory:\n"
        "    memory.add('I play the piano.', user='ann'); memory.recall('What?', user='ann')\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", script, tmp_path], check=True)
