"""Work of a server's processes beside their requests."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import platform

from zibaldone.api import settings
from zibaldone.api.memory import Memory
from zibaldone.core.threads import in_thread
from zibaldone.engine.forgetting import clear_caches_if_stale
from zibaldone.errors import ClosedMemory, StorageError

_EVERY_S = 30.0
_M_ARENA_MAX, _HEAPS = -8, 2  # malloc.h
_logger = logging.getLogger(__name__)


def share_heaps() -> None:
    """Let all threads share two heaps, where the C library is glibc. Call before starting any thread.

    With a heap per thread the process that recalls grows by 15.0 ± 4.8 kB a turn, with two by 8.8 ± 1.2.
    """
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def freeze_objects() -> None:
    """Exclude all present objects, such as code, from garbage collection, which halts everything else."""
    gc.collect()
    gc.freeze()


def export_telemetry() -> None:
    """Set up OpenTelemetry's SDK where an endpoint is named, unless somebody has done so.

    It exports by OTLP over HTTP, as the standard OTEL_* variables say, which the SDK reads itself.
    """
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


async def sync_caches(memory: Memory, every_s: float = _EVERY_S) -> None:
    """Clear caches after another process has forgotten something, until cancelled or the memory is closed.

    Recalls are correct without it, as they read the user's counters. It removes forgotten texts of users who
    never recall again from this process's memory.
    """
    while True:
        await asyncio.sleep(every_s)
        try:
            await in_thread(clear_caches_if_stale, memory._database)  # noqa: SLF001 - not public
        except ClosedMemory:
            return
        except StorageError as error:
            _logger.warning("forgettings of other processes could not be read (%s)", type(error).__name__)
