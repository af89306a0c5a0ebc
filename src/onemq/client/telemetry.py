"""OpenTelemetry, where the program has set it up: a span for each message sent and for each handling, tied together
by the header `traceparent`.

    "create orders"    kind PRODUCER; its context travels in the headers of the message
    "process orders"   kind CONSUMER; around the handler, linked with the span that created the message

A client asks once, with `hooks()`, when its producers and consumers are made: a program sets up its tracer provider
before it connects. Nothing is loaded from here that the program has not loaded itself. Names and attributes follow
OpenTelemetry's conventions for messaging.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import onemq

Headers = Mapping[str, str | bytes]


class Traced(Protocol):
    """What is asked of a message."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def deliveries(self) -> int: ...
    @property
    def headers(self) -> Headers: ...


def hooks() -> "Telemetry | None":
    """Who wants to know of sending and handling; None if the program has set up no tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    provider = None if trace is None else trace.get_tracer_provider()
    if trace is None or isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None
    return Telemetry(provider)


class Telemetry:
    """Makes the spans. May be called from any thread."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import propagate, trace

        self._tracer = provider.get_tracer("onemq", onemq.__version__)
        self._trace = trace
        self._propagate = propagate

    def sending(self, topic: str, headers: Headers | None) -> Headers:
        """The headers to send: those given, and the context of the message's own span."""
        carrier = dict(headers) if headers else {}
        span = self._tracer.start_span(
            f"create {topic}", kind=self._trace.SpanKind.PRODUCER, attributes=_attributes(topic, "create")
        )
        self._propagate.inject(carrier, self._trace.set_span_in_context(span))
        span.end()
        return carrier

    def handling(self, message: Traced, group: str) -> AbstractContextManager[None]:
        """Around a handler, in the thread or task that runs it, so that the handler's own spans are inside."""
        return self._handling(message, group)

    @contextmanager
    def _handling(self, message: Traced, group: str) -> Iterator[None]:
        attributes = _attributes(message.topic, "process") | {
            "messaging.consumer.group.name": group,
            "messaging.message.id": message.id,
            "messaging.destination.partition.id": str(message.partition),
            "messaging.onemq.message.offset": message.offset,
            "messaging.onemq.message.deliveries": message.deliveries,
        }
        with self._tracer.start_as_current_span(
            f"process {message.topic}",
            kind=self._trace.SpanKind.CONSUMER,
            links=self._links(message.headers),
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except Exception as error:
                self._note_error(span, error)
                raise

    def _links(self, headers: Headers) -> list[Any]:
        """With the span that created the message, if it brings a context along."""
        from opentelemetry.context import Context

        carrier = {
            name: value.decode("latin-1") if isinstance(value, bytes) else value for name, value in headers.items()
        }
        # Into an empty context: a message without one must not be linked with whoever handles it.
        found = self._trace.get_current_span(self._propagate.extract(carrier, Context())).get_span_context()
        return [self._trace.Link(found)] if found.is_valid else []

    def _note_error(self, span: Any, error: Exception) -> None:
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, str(error)))


def _attributes(topic: str, operation: str) -> dict[str, str | int]:
    return {
        "messaging.system": "onemq",
        "messaging.destination.name": topic,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
    }
