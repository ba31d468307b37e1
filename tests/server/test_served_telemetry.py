"""Telemetry of the server: spans of requests, taken up and passed on; metrics, and the dashboard on them."""

import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import httpx2
import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.trace import SpanKind
from test_serve import serving_process
from upstream import shared_upstream, upstream

from telemetry import exported
from zibaldone.server.metrics import Metrics

__all__ = ["shared_upstream", "upstream"]
CANARY = "xylophone-4711"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLER = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


@pytest.fixture
def told():
    """Exported from here on."""
    telemetry = exported()
    telemetry.exporter.clear()
    return telemetry


def request_spans(told, number=1):
    """The spans of so many requests, which end a little after their answers."""
    until = time.monotonic() + 10
    while True:
        served = [
            span for name in told.spans() for span in told.spans()[name] if span.kind is SpanKind.SERVER
        ]
        if len(served) >= number or time.monotonic() > until:
            assert len(served) == number
            return served
        time.sleep(0.005)


def test_a_request_is_a_part_of_its_caller_s_trace(told, client):
    """Its span has route and status, and the operation in it, whatever thread that ran in."""
    client.post("/v1/memory/messages?user=ann", json={"messages": [{"content": "I play the piano."}]})
    client.post("/v1/memory/recall?user=ann", json={"query": "What do I play?"}, headers=CALLER)
    added, recalled = request_spans(told, 2)
    assert told.tree(added) == ("POST /v1/memory/messages", ("zibaldone.add",))
    assert told.tree(recalled) == ("POST /v1/memory/recall", ("zibaldone.recall",))
    assert f"{recalled.parent.trace_id:032x}-{recalled.parent.span_id:016x}" == f"{TRACE}-{PARENT}"
    assert {"http.route": "/v1/memory/recall", "http.response.status_code": 200}.items() <= (
        recalled.attributes.items()
    )
    routes = [dict(one.attributes) for one in told.metrics()["http.server.request.duration"]]
    served = {"http.request.method": "POST", "http.response.status_code": 200}
    assert served | {"http.route": "/v1/memory/recall"} in routes


def test_no_content_of_a_request_is_told(told, client):
    """Neither of paths, parameters, bodies and headers, nor of errors."""
    client.post(f"/v1/memory/messages?user={CANARY}", json={"messages": [{"id": CANARY, "content": CANARY}]})
    client.get(f"/v1/memory/messages/{CANARY}?user={CANARY}")
    client.get(f"/v1/memory/timeline?user={CANARY}&query={CANARY}", headers={"X-Memory-User": CANARY})
    client.get(f"/v1/memory/{CANARY}")
    client.post("/v1/memory/recall", json={"query": 7, CANARY: CANARY})
    client.request(CANARY, f"/{CANARY}")
    request_spans(told, 6)
    assert CANARY not in told.text()


def test_the_upstream_s_request_is_a_part_of_the_trace(told, serving, upstream):
    """The gateway's span goes to the upstream, in place of the caller's; what it stores is a part, too."""
    address = serving(upstream=upstream.url, recall_timeout_ms=20_000)
    body = {
        "model": "fake",
        "user": "ann",
        "messages": [{"role": "user", "content": f"I play the {CANARY}."}],
    }
    answer = httpx2.post(f"{address}/v1/chat/completions", json=body, headers=CALLER)
    assert answer.status_code == 200
    (served,) = request_spans(told)
    assert served.name == "POST /v1/chat/completions"
    names = [name for name, *_ in told.tree(served)[1:]]
    assert {"zibaldone.recall", "zibaldone.add", "POST"} <= set(names)
    (sent,) = told.spans()["POST"]
    assert upstream.last.headers["traceparent"] == f"00-{TRACE}-{sent.context.span_id:016x}-01"
    assert (sent.kind, sent.attributes["http.response.status_code"]) == (SpanKind.CLIENT, 200)
    assert CANARY not in told.text()


class _Collector(BaseHTTPRequestHandler):
    """Keeps what is exported to it."""

    def do_POST(self):
        data = self.rfile.read(int(self.headers["content-length"]))
        self.server.kept.append((self.path, data))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.wide
def test_serve_exports_to_the_endpoint_that_the_environment_names(memory_path, upstream):
    """Of all its processes: a recall for the gateway is in one of its own, and in the same trace."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as collector:
        collector.kept = []
        Thread(target=collector.serve_forever, args=(0.01,), daemon=True).start()
        endpoint = f"http://127.0.0.1:{collector.server_address[1]}"
        gateway = ("--upstream", upstream.url, "--processes", "1")
        speed = {"OTEL_BSP_SCHEDULE_DELAY": "100", "OTEL_METRIC_EXPORT_INTERVAL": "200"}
        with serving_process(memory_path, *gateway, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint, **speed) as (
            _,
            base,
        ):
            body = {"model": "fake", "user": "ann", "messages": [{"role": "user", "content": CANARY}]}
            httpx2.post(f"{base}/v1/chat/completions", json=body, headers=CALLER).raise_for_status()
            names, services, counted = set(), set(), set()
            until = time.monotonic() + 30
            wanted = {"zibaldone.recall", "POST /v1/chat/completions"}, {"http.server.request.duration"}
            while not (wanted[0] <= names and wanted[1] <= counted):
                assert time.monotonic() < until, (names, counted)
                time.sleep(0.05)
                for path, data in list(collector.kept):
                    if path == "/v1/traces":
                        for resource in ExportTraceServiceRequest.FromString(data).resource_spans:
                            services |= {one.value.string_value for one in resource.resource.attributes}
                            spans = [span for scope in resource.scope_spans for span in scope.spans]
                            names |= {span.name for span in spans if span.trace_id.hex() == TRACE}
                    else:
                        for resource in ExportMetricsServiceRequest.FromString(data).resource_metrics:
                            counted |= {one.name for scope in resource.scope_metrics for one in scope.metrics}
        collector.shutdown()
    assert "zibaldone" in services
    assert not [data for _, data in collector.kept if CANARY.encode() in data]


def test_the_dashboard_asks_for_metrics_that_there_are():
    """Each name and label in docs/grafana.json is one that /metrics has."""
    metrics = Metrics()
    with (
        metrics.stage("recall"),
        metrics.queued(),
        metrics.request({"headers": [], "scheme": "http"}) as span,
    ):
        metrics.recalled(7)
        metrics.degraded("recall_timeout")
        metrics.answered(span, "GET", "/healthz", 200, 0.1)
    shown = metrics.exposition().decode()
    dashboard = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    assert len(asked) > 6
    for query in asked:
        for name in re.findall(r"zibaldone_\w+", query):
            assert re.search(rf"^{name}[ {{]", shown, re.MULTILINE), name
        for labels in re.findall(r"by \(([^)]+)\)|\{(\w+)[=!]", query):
            for label in re.findall(r"\w+", " ".join(labels)):
                assert f'{label}="' in shown, label
