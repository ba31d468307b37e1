"""Prometheus metrics: counts and times per route and stage, without names, ids or texts of users."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.datastructures import Headers
from starlette.types import Scope

from zibaldone.core.telemetry import Span, record

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_TOKENS = (0, 50, 100, 200, 400, 800, 1600, 3200, 6400)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Metrics of one app, in a registry of its own. Safe to share among threads."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        counter, gauge = partial(Counter, registry=registry), partial(Gauge, registry=registry)
        histogram = partial(Histogram, registry=registry, buckets=_SECONDS)
        self._requests = counter("zibaldone_requests", "Requests answered.", ["method", "route", "status"])
        self._request_seconds = histogram(
            "zibaldone_request_seconds", "From the headers to the last byte of the answer.", ["route"]
        )
        self._under_way = gauge("zibaldone_requests_under_way", "Requests not answered yet.")
        self._stage_seconds = histogram(
            "zibaldone_stage_seconds",
            "Duration of one step of a request: recall, write_back, upstream ...",
            ["stage"],
        )
        self._recalled_tokens = histogram(
            "zibaldone_recalled_tokens", "Tokens of a recalled text.", buckets=_TOKENS
        )
        self._degraded = counter("zibaldone_degraded", "Requests that memory served less well.", ["reason"])
        self._queued = gauge("zibaldone_queue_depth", "Write-backs that are not stored yet.")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time one step of a request; `name` is one of a fixed few."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self._stage_seconds.labels(name).observe(time.perf_counter() - began)

    @contextmanager
    def queued(self) -> Iterator[None]:
        """Count a write-back as queued until the block ends."""
        with self._queued.track_inprogress():
            yield

    def recalled(self, tokens: int) -> None:
        """Record the tokens of a recall."""
        self._recalled_tokens.observe(tokens)

    def degraded(self, reason: str) -> None:
        """Count a degraded request; `reason` is one of a fixed few, such as "recall_timeout"."""
        self._degraded.labels(reason).inc()
        record("zibaldone.degraded", 1, {"zibaldone.reason": reason})

    @contextmanager
    def request(self, scope: Scope) -> Iterator[Span]:
        """Count a request as under way until the block ends; gives its span, a part of the caller's."""
        headers = Headers(raw=scope["headers"])
        with (
            self._under_way.track_inprogress(),
            Span("request", {"url.scheme": scope["scheme"]}, "", kind="SERVER", carrier=headers) as span,
        ):
            yield span

    def answered(self, span: Span, method: str, route: str, status: int, seconds: float) -> None:
        """Record an answered request; `route` is the path's template."""
        shown = method if method in METHODS else "OTHER"
        self._requests.labels(shown, route, str(status)).inc()
        self._request_seconds.labels(route).observe(seconds)
        facts = {"http.request.method": shown, "http.route": route, "http.response.status_code": status}
        span.note(facts, name=f"{shown} {route}")
        record("http.server.request.duration", seconds, facts)
        if status >= 500:
            span.failed(str(status))

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
