"""The SDK together with a database, and with OpenTelemetry."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import onemq
from tests.process import Serve

STEPS = ("before", "noted", "effect", "committed", "acknowledged")

CONSUMER = """
import os, signal, sqlite3, sys
import onemq

url, place, kill_at = sys.argv[1:]

def step(name):
    if name == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

connection = sqlite3.connect(place)
with onemq.connect(url) as mq:
    consumer = mq.consumer("orders", group="points", acknowledge="client", retry=onemq.Immediate())
    while messages := consumer.receive(1, wait="500ms"):
        (message,) = messages
        step("before")
        with onemq.once(connection, message, group="points", by="key") as first:
            step("noted")
            if first:
                connection.execute("INSERT INTO effects VALUES (?)", (message.key,))
                step("effect")
        step("committed")
        message.ack()
        consumer.flush()
        step("acknowledged")
"""


def test_a_handler_killed_at_every_step_has_each_effect_once(tmp_path: Path) -> None:
    """C14: by the business key, although the sender has sent everything twice."""
    place = str(tmp_path / "effects")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE effects (what TEXT)")
    with Serve(tmp_path / "data") as broker:
        broker.wait_until_serving()
        url = f"onemq://127.0.0.1:{broker.port}"
        with onemq.connect(url) as mq, mq.producer() as producer:
            for number in [*range(6), *range(6)]:
                producer.send("orders", {"orderno": number}, key=str(number))
            for kill_at in (*STEPS, "never"):
                command = [sys.executable, "-c", CONSUMER, url, place, kill_at]
                ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
                assert ended.returncode == (0 if kill_at == "never" else -signal.SIGKILL), ended.stderr
            assert mq.groups.info("orders", "points")["lag"] == 0
    with closing(sqlite3.connect(place)) as connection:
        handled = [row[0] for row in connection.execute("SELECT what FROM effects ORDER BY what")]
    assert handled == ["0", "1", "2", "3", "4", "5"]


def test_spans_of_sender_and_handler_are_tied_together(
    onemq_broker: onemq.Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    tracer = provider.get_tracer("shop")
    with onemq.connect(onemq_broker.url) as mq:

        @mq.consumer("orders", group="points")
        def add_points(message: onemq.Message) -> None:
            with tracer.start_as_current_span("add points"):
                mq.stop()

        with tracer.start_as_current_span("request"):
            mq.producer().send("orders", {"orderno": 1})
        mq.run()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert spans["create orders"].parent == spans["request"].context
    (link,) = spans["process orders"].links
    assert link.context.span_id == spans["create orders"].context.span_id
    assert spans["add points"].parent == spans["process orders"].context
    provider.shutdown()
