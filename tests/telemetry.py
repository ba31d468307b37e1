"""Telemetry of the tests' process: the SDK, set up once, with what it exports kept in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


@dataclass(frozen=True)
class Exported:
    """All that was exported since `clear`."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader

    def spans(self) -> dict[str, list[ReadableSpan]]:
        """By name, in the order in which they ended."""
        by_name: dict[str, list[ReadableSpan]] = {}
        for span in self.exporter.get_finished_spans():
            by_name.setdefault(span.name, []).append(span)
        return by_name

    def tree(self, span: ReadableSpan) -> tuple:
        """A span's name with the trees of its children, in the order in which they began."""
        finished = self.exporter.get_finished_spans()
        inner = [one for one in finished if one.parent and one.parent.span_id == span.context.span_id]
        return (span.name, *map(self.tree, sorted(inner, key=lambda one: one.start_time)))

    def metrics(self) -> dict[str, list]:
        """Data points by the metric's name, of this whole process."""
        data = self.reader.get_metrics_data()
        return {
            metric.name: list(metric.data.data_points)
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def text(self) -> str:
        """Whatever was exported, as one text."""
        spans = [span.to_json() for span in self.exporter.get_finished_spans()]
        data = self.reader.get_metrics_data()
        return "\n".join([*spans, data.to_json() if data else ""])


@cache
def exported() -> Exported:
    """The one of this process."""
    exporter, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader], shutdown_on_exit=False))
    return Exported(exporter, reader)
