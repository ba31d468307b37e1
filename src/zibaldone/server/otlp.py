"""Export of telemetry by OTLP over HTTP, as the standard OTEL_* variables say; the SDK reads them itself."""

from __future__ import annotations

import logging
import os

from zibaldone.api import settings

_logger = logging.getLogger(__name__)


def export_telemetry() -> None:
    """Set up OpenTelemetry's SDK where an endpoint is named, unless somebody has done so."""
    if not settings.otel():
        return
    try:
        from opentelemetry import metrics, trace
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as error:  # the endpoint may be meant for others: no reason not to serve
        _logger.warning("telemetry is not exported (no module %r): pip install 'zibaldone[otel]'", error.name)
        return
    os.environ.setdefault("OTEL_EXPORTER_OTLP_TIMEOUT", "2")  # seconds; whoever ends waits for it
    resource = Resource.create({SERVICE_NAME: "zibaldone"}).merge(OTELResourceDetector().detect())
    if settings.otel("TRACES") and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        spans = TracerProvider(resource=resource)
        spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(spans)
    if settings.otel("METRICS") and not isinstance(metrics.get_meter_provider(), MeterProvider):
        readers = [PeriodicExportingMetricReader(OTLPMetricExporter())]
        metrics.set_meter_provider(MeterProvider(readers, resource))
