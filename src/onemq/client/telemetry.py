"""OpenTelemetry, where the program uses it: a span for each send and for each handling, tied together by headers.

    sending = on_send(topic, headers)        # starts "send orders"; headers gain traceparent
    ...
    if sending is not None:
        sending.done(message_id)             # or sending.failed(error)

    with handling(message, group="points"):  # "process orders", linked with the span of the sender
        handler(message)

Nothing is loaded from here that the program has not loaded itself, and as long as it has set up no tracer provider
there is nothing to pay but one look. Names and attributes follow OpenTelemetry's conventions for messaging.
"""

import sys
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import Any, Protocol

import onemq

_NOTHING: AbstractContextManager[None] = nullcontext()


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
    def body(self) -> bytes: ...
    @property
    def deliveries(self) -> int: ...
    @property
    def headers(self) -> Any: ...


class Sending:
    """The span of a message, or of a batch, that is under way. Ends with `done` or `failed`, from any thread."""

    __slots__ = ("_span",)

    def __init__(self, span: Any) -> None:
        self._span = span

    def done(self, message_id: str | None = None) -> None:
        """The broker has it."""
        if message_id is not None:
            self._span.set_attribute("messaging.message.id", message_id)
        self._span.end()

    def failed(self, error: BaseException) -> None:
        """It was not sent, or nobody knows."""
        _note_error(self._span, error)
        self._span.end()


def on_send(
    topic: str, headers: MutableMapping[str, Any], *, body_bytes: int | None = None, count: int = 1
) -> Sending | None:
    """Starts the span of a send and puts its context into the headers. None where nothing is traced."""
    tracer = _tracer()
    if tracer is None:
        return None
    from opentelemetry import propagate, trace

    attributes = _attributes(topic, "send", body_bytes, count)
    span = tracer.start_span(f"send {topic}", kind=trace.SpanKind.PRODUCER, attributes=attributes)
    propagate.inject(headers, trace.set_span_in_context(span))
    return Sending(span)


def handling(message: Traced | Sequence[Traced], *, group: str | None = None) -> AbstractContextManager[None]:
    """The block in which a message, or a batch of one topic, is handled. To be entered in the thread or task that
    runs the handler, so that the spans of the handler become its children."""
    tracer = _tracer()
    if tracer is None:
        return _NOTHING
    messages = message if isinstance(message, Sequence) else [message]
    return _handled(tracer, messages, group) if messages else _NOTHING


@contextmanager
def _handled(tracer: Any, messages: Sequence[Traced], group: str | None) -> Iterator[None]:
    from opentelemetry import trace

    topic = messages[0].topic
    links = [trace.Link(context) for context in map(_context_of, messages) if context is not None]
    attributes = _attributes(topic, "process", None, len(messages))
    if group is not None:
        attributes["messaging.consumer.group.name"] = group
    if len(messages) == 1:
        attributes |= _attributes_of(messages[0])
    name, kind = f"process {topic}", trace.SpanKind.CONSUMER
    with tracer.start_as_current_span(
        name, kind=kind, links=links, attributes=attributes, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        except Exception as error:
            _note_error(span, error)
            raise


def _tracer() -> Any:
    """The tracer of the program's provider; None where it has none."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    return _tracer_of(trace.get_tracer_provider())


@lru_cache(maxsize=1)
def _tracer_of(provider: Any) -> Any:
    """Kept, so that not each message has to ask for it."""
    from opentelemetry import trace

    is_set = not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)
    return provider.get_tracer("onemq", onemq.__version__) if is_set else None


def _context_of(message: Traced) -> Any:
    """The context of the span that sent the message, if it brings one along."""
    from opentelemetry import propagate, trace

    if not message.headers:
        return None
    carrier = {name: value.decode(errors="replace") if isinstance(value, bytes) else str(value)
               for name, value in dict(message.headers).items()}  # fmt: skip
    context = trace.get_current_span(propagate.extract(carrier, context=_empty_context())).get_span_context()
    return context if context.is_valid else None


def _empty_context() -> Any:
    """Not the current one: a message without a context must not be linked with whoever handles it."""
    from opentelemetry.context import Context

    return Context()


def _attributes(topic: str, operation: str, body_bytes: int | None, count: int) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "messaging.system": "onemq",
        "messaging.destination.name": topic,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
    }
    if body_bytes is not None:
        attributes["messaging.message.body.size"] = body_bytes
    if count > 1:
        attributes["messaging.batch.message_count"] = count
    return attributes


def _attributes_of(message: Traced) -> dict[str, Any]:
    return {
        "messaging.message.id": message.id,
        "messaging.destination.partition.id": str(message.partition),
        "messaging.message.body.size": len(message.body),
        "messaging.onemq.offset": message.offset,
        "messaging.onemq.deliveries": message.deliveries,
    }


def _note_error(span: Any, error: BaseException) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.record_exception(error)
    span.set_attribute("error.type", type(error).__qualname__)
    span.set_status(Status(StatusCode.ERROR, str(error)))
