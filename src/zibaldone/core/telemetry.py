"""Spans and metrics by OpenTelemetry's API, where somebody has set it up; else nothing is done or imported.

The API is used in a process that has imported it already, as setting up its SDK does. Told are names of our
own, numbers and times: no text, no query, no name of a user. An error is told by its class alone.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, wraps
from inspect import signature
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    from opentelemetry import trace

P = ParamSpec("P")
R = TypeVar("R")
Facts = Mapping[str, Any]
_TOOK, _TOKENS = "zibaldone.duration", "zibaldone.recall.tokens"
_MODEL_TOOK, _MODEL_TOKENS = "gen_ai.client.operation.duration", "gen_ai.client.token.usage"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
# By name: unit, description, and the bounds of a histogram's buckets; a counter has (), a gauge None.
_METRICS: Final[Mapping[str, tuple[str, str, tuple[float, ...] | None]]] = {
    _TOOK: ("s", "Duration of an operation on memory, or of a part of one.", _SECONDS),
    _MODEL_TOOK: ("s", "Duration of a call of a model.", _SECONDS),
    _MODEL_TOKENS: ("{token}", "Tokens of a call of a model.", tuple(4.0**k for k in range(14))),
    "http.server.request.duration": ("s", "From a request's headers to its answer's last byte.", _SECONDS),
    "http.client.request.duration": ("s", "From a request to the headers of its answer.", _SECONDS),
    _TOKENS: ("{token}", "Tokens of a recalled text.", (0, 50, 100, 200, 400, 800, 1600, 3200, 6400)),
    "zibaldone.messages.added": ("{message}", "Messages stored.", ()),
    "zibaldone.degraded": ("{request}", "Requests that memory served less well.", ()),
}


class Ordinary(Exception):
    """Something that ends a piece of work and is no failure of it."""


class _Api(NamedTuple):
    trace: Any  # modules
    context: Any
    propagate: Any
    tracer: trace.Tracer
    record: Mapping[str, Callable[..., None]]  # by the metric's name


def _loaded() -> _Api | None:
    return _load() if "opentelemetry.trace" in sys.modules else None


@cache
def _load() -> _Api:
    from opentelemetry import context, metrics, propagate, trace  # waits for one that is under way

    meter, advice = metrics.get_meter("zibaldone"), "explicit_bucket_boundaries_advisory"
    takes_advice = advice in signature(meter.create_histogram).parameters
    made: dict[str, Callable[..., None]] = {}
    for name, (unit, text, bounds) in _METRICS.items():
        if bounds:
            advised: Any = {advice: bounds} if takes_advice else {}
            made[name] = meter.create_histogram(name, unit, text, **advised).record
        elif bounds is None:
            made[name] = meter.create_gauge(name, unit, text).set
        else:
            made[name] = meter.create_counter(name, unit, text).add
    return _Api(trace, context, propagate, trace.get_tracer("zibaldone"), made)


def record(metric: str, value: float, facts: Facts | None = None) -> None:
    """Record a value of a metric."""
    if (api := _loaded()) is not None:
        api.record[metric](value, dict(facts or {}))


@dataclass(slots=True, eq=False)
class Span:
    """A piece of work, as a context manager: its span, and its duration as a metric.

    The metric has the facts that are known at the beginning; `note` adds to the span alone.
    """

    name: str
    facts: Facts
    metric: str = _TOOK  # a histogram's name; "": none
    kind: Literal["INTERNAL", "SERVER", "CLIENT"] = "INTERNAL"
    carrier: Mapping[str, str] | None = None  # headers that may name the parent
    _api: _Api | None = field(default=None, init=False)
    _span: Any = field(default=None, init=False)
    _token: Any = field(default=None, init=False)
    _began: float = field(default=0.0, init=False)

    def __enter__(self) -> Span:
        self._api = api = _loaded()
        if api is not None:
            parent = None if self.carrier is None else api.propagate.extract(self.carrier)
            kind = api.trace.SpanKind[self.kind]
            self._span = api.tracer.start_span(self.name, parent, kind, dict(self.facts))
            self._token = api.context.attach(api.trace.set_span_in_context(self._span, parent))
            self._began = time.perf_counter()
        return self

    def note(self, facts: Facts, *, name: str = "") -> None:
        """Add facts, and a better name."""
        if self._api is not None:
            self._span.set_attributes(dict(facts))
            if name:
                self._span.update_name(name)

    def used(self, input_tokens: int | None, output_tokens: int | None) -> None:
        """Note the tokens of a model's call, and record them."""
        for kind, tokens in (("input", input_tokens or 0), ("output", output_tokens or 0)):
            self.note({f"gen_ai.usage.{kind}_tokens": tokens})
            record(_MODEL_TOKENS, tokens, {**self.facts, "gen_ai.token.type": kind})

    def failed(self, kind: str) -> None:
        """Note a failure by its kind: the name of a class, or a status."""
        if self._api is not None:
            self.facts = {**self.facts, "error.type": kind}
            self._span.set_attribute("error.type", kind)
            self._span.set_status(self._api.trace.StatusCode.ERROR)

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if self._api is None:
            return
        if isinstance(error, Exception) and not isinstance(error, Ordinary):
            self.failed(type(error).__name__)
        self._api.context.detach(self._token)
        self._span.end()
        if self.metric:
            record(self.metric, time.perf_counter() - self._began, self.facts)


def operation(name: str, facts: Facts | None = None) -> Span:
    """The span of an operation on memory, or of a part of one, such as "ask.round"."""
    return Span(f"zibaldone.{name}", {"zibaldone.operation": name, **(facts or {})})


def model_call(kind: Literal["chat", "embeddings"], model: str, provider: str) -> Span:
    """The span of a call of a model, by the conventions for generative models."""
    facts = {"gen_ai.operation.name": kind, "gen_ai.request.model": model, "gen_ai.provider.name": provider}
    return Span(f"{kind} {model}", facts, _MODEL_TOOK, kind="CLIENT")


def traced(facts_of: Callable[[Any], Facts]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make the calls of a method operations of its name, with facts of their results."""

    def around(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def call(*args: P.args, **options: P.kwargs) -> R:
            if _loaded() is None:
                return method(*args, **options)
            with operation(method.__name__) as span:
                result = method(*args, **options)
                facts = facts_of(result)
                span.note(facts)
            if _TOKENS in facts:
                record(_TOKENS, facts[_TOKENS])
            return result

        return call

    return around


def carried() -> dict[str, str]:
    """Headers that name this thread's or task's span, for another process; empty where there is none."""
    headers: dict[str, str] = {}
    if (api := _loaded()) is not None:
        api.propagate.inject(headers)
    return headers


@contextmanager
def continuing(carrier: Mapping[str, str]) -> Iterator[None]:
    """Make what is done inside a part of the span that these headers name."""
    api = _loaded() if carrier else None
    token = None if api is None else api.context.attach(api.propagate.extract(carrier))
    try:
        yield
    finally:
        if api is not None:
            api.context.detach(token)
