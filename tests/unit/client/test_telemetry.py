"""Spans where OpenTelemetry is set up, and nothing at all where it is not."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from onemq.client.telemetry import handling, on_send


@dataclass
class Received:
    topic: str = "orders"
    partition: int = 2
    offset: int = 7
    id: str = "1-2-7"
    body: bytes = b"12345"
    deliveries: int = 1
    headers: dict[str, Any] = field(default_factory=dict)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What was traced."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    yield exporter
    provider.shutdown()


def finished(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def test_a_send_is_a_span_whose_context_travels_in_the_headers(spans: InMemorySpanExporter) -> None:
    headers: dict[str, Any] = {"mine": "1"}
    sending = on_send("orders", headers, body_bytes=5)
    assert sending is not None
    assert not finished(spans)
    sending.done("1-2-7")
    span = finished(spans)["send orders"]
    assert span.kind is SpanKind.PRODUCER
    assert headers["mine"] == "1"
    assert headers["traceparent"].startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-")
    assert dict(span.attributes or {}) == {
        "messaging.system": "onemq",
        "messaging.destination.name": "orders",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.message.body.size": 5,
        "messaging.message.id": "1-2-7",
    }


def test_a_send_that_failed_says_why(spans: InMemorySpanExporter) -> None:
    sending = on_send("orders", {}, count=3)
    assert sending is not None
    sending.failed(TimeoutError("3 s"))
    span = finished(spans)["send orders"]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "3 s")
    assert (span.attributes or {})["error.type"] == "TimeoutError"
    assert (span.attributes or {})["messaging.batch.message_count"] == 3


def test_handling_is_linked_with_the_send(spans: InMemorySpanExporter) -> None:
    headers: dict[str, Any] = {}
    sending = on_send("orders", headers)
    assert sending is not None
    sending.done()
    stored = {name: value.encode() for name, value in headers.items()}
    with handling(Received(headers=stored), group="points"), trace.get_tracer("user").start_as_current_span("inside"):
        pass
    seen = finished(spans)
    process, send = seen["process orders"], seen["send orders"]
    assert process.kind is SpanKind.CONSUMER
    assert process.parent is None
    assert [(link.context.trace_id, link.context.span_id) for link in process.links] == [
        (send.context.trace_id, send.context.span_id)
    ]
    attributes = process.attributes or {}
    assert attributes["messaging.consumer.group.name"] == "points"
    assert attributes["messaging.message.id"] == "1-2-7"
    assert attributes["messaging.destination.partition.id"] == "2"


def test_the_spans_of_a_handler_are_inside(spans: InMemorySpanExporter) -> None:
    provider: Any = trace.get_tracer_provider()
    with handling(Received()), provider.get_tracer("user").start_as_current_span("inside"):
        pass
    seen = finished(spans)
    assert seen["inside"].parent is not None
    assert seen["inside"].parent.span_id == seen["process orders"].context.span_id
    assert not seen["process orders"].links


def test_a_message_without_a_context_is_not_linked_with_the_span_around(spans: InMemorySpanExporter) -> None:
    provider: Any = trace.get_tracer_provider()
    with provider.get_tracer("user").start_as_current_span("around"), handling(Received(headers={"other": "x"})):
        pass
    assert not finished(spans)["process orders"].links


def test_a_batch_is_one_span_with_all_links(spans: InMemorySpanExporter) -> None:
    messages = []
    for _ in range(3):
        headers: dict[str, Any] = {}
        sending = on_send("orders", headers)
        assert sending is not None
        sending.done()
        messages.append(Received(headers=headers))
    with handling(messages):
        pass
    process = finished(spans)["process orders"]
    assert len({link.context.span_id for link in process.links}) == 3
    assert (process.attributes or {})["messaging.batch.message_count"] == 3


def test_a_handler_that_raises_is_noted_and_raises(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="bad"), handling(Received()):
        raise ValueError("bad")
    span = finished(spans)["process orders"]
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["exception"]


def test_nothing_is_traced_before_a_provider_is_set_up() -> None:
    headers: dict[str, Any] = {}
    assert on_send("orders", headers) is None
    assert not headers
    with handling(Received()):
        assert not trace.get_current_span().get_span_context().is_valid


def test_a_program_without_opentelemetry_does_not_load_it() -> None:
    code = """
import sys
from onemq.client.telemetry import handling, on_send
assert on_send("orders", {}) is None
with handling(None):
    pass
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
