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

from onemq.client.telemetry import Telemetry, hooks


@dataclass
class Received:
    topic: str = "orders"
    partition: int = 2
    offset: int = 7
    id: str = "1-2-7"
    deliveries: int = 1
    headers: dict[str, Any] = field(default_factory=dict)


class World:
    """A provider that the program has set up, and what it saw."""

    def __init__(self) -> None:
        self.exporter, self.provider = InMemorySpanExporter(), TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.telemetry = Telemetry(self.provider)

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}

    def inside(self, name: str) -> Any:
        return self.provider.get_tracer("user").start_as_current_span(name)


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    yield made
    made.provider.shutdown()


def test_the_context_of_a_message_travels_in_its_headers(world: World) -> None:
    headers = world.telemetry.sending("orders", {"mine": "1"})
    span = world.spans()["create orders"]
    assert span.kind is SpanKind.PRODUCER
    assert headers["mine"] == "1"
    assert str(headers["traceparent"]).startswith(f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-")
    assert dict(span.attributes or {}) == {
        "messaging.system": "onemq",
        "messaging.destination.name": "orders",
        "messaging.operation.name": "create",
        "messaging.operation.type": "create",
    }


def test_sending_is_part_of_the_span_around_and_leaves_the_given_headers_alone(world: World) -> None:
    given: dict[str, str | bytes] = {}
    with world.inside("request"):
        world.telemetry.sending("orders", given)
    spans = world.spans()
    assert spans["create orders"].parent == spans["request"].context
    assert not given


def test_handling_is_linked_with_the_message(world: World) -> None:
    headers = world.telemetry.sending("orders", None)
    with world.telemetry.handling(Received(headers=dict(headers)), "points"):
        pass
    spans = world.spans()
    process, create = spans["process orders"], spans["create orders"]
    assert process.kind is SpanKind.CONSUMER
    assert process.parent is None
    assert [(link.context.trace_id, link.context.span_id) for link in process.links] == [
        (create.context.trace_id, create.context.span_id)
    ]
    attributes = process.attributes or {}
    assert attributes["messaging.consumer.group.name"] == "points"
    assert attributes["messaging.message.id"] == "1-2-7"
    assert attributes["messaging.destination.partition.id"] == "2"


def test_the_spans_of_a_handler_are_inside(world: World) -> None:
    with world.telemetry.handling(Received(), "points"), world.inside("handler's own"):
        pass
    spans = world.spans()
    assert spans["handler's own"].parent == spans["process orders"].context


@pytest.mark.parametrize("headers", [{}, {"other": "x"}, {"traceparent": "nonsense"}, {"traceparent": b"\xff\x00"}])
def test_a_message_without_a_context_is_not_linked_with_the_span_around(world: World, headers: dict[str, Any]) -> None:
    with world.inside("around"), world.telemetry.handling(Received(headers=headers), "points"):
        pass
    assert not world.spans()["process orders"].links


def test_a_handler_that_raises_is_noted_and_raises(world: World) -> None:
    with pytest.raises(ValueError, match="bad"), world.telemetry.handling(Received(), "points"):
        raise ValueError("bad")
    span = world.spans()["process orders"]
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "bad")
    assert [event.name for event in span.events] == ["exception"]
    assert (span.attributes or {})["error.type"] == "ValueError"


def test_there_are_hooks_once_a_provider_is_set_up(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hooks() is None
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: world.provider)
    assert isinstance(hooks(), Telemetry)


def test_a_program_without_opentelemetry_does_not_load_it() -> None:
    code = """
import sys
from onemq.client.telemetry import hooks
assert hooks() is None
assert not [name for name in sys.modules if name.startswith("opentelemetry")]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
