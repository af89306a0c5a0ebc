import pytest

from pyspark_onemq import staging
from pyspark_onemq.connection import Refused, Unreachable
from pyspark_onemq.sealing import Append
from pyspark_onemq.staging import Staging


class Broker:
    """Stands in for a connection: breaks it where it is told to, before or after the request was heard."""

    def __init__(self, *problems):
        self.problems = list(problems)
        self.staged = {}
        self.rolled_back = []

    def call_all(self, requests):
        problem = self.problems.pop(0) if self.problems else None
        for _, topic, partition, batch, _, name, _, group in requests:
            assert group == "spark"
            if problem != "before":
                self.staged.setdefault(name, []).append((topic, partition, batch))
        if isinstance(problem, Exception):
            raise problem
        if problem is not None:
            raise Unreachable("gone")
        return []

    def call(self, *words):
        self.rolled_back.append(words[-1])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(staging, "_PAUSE_S", 0.001)


def put_all(broker, *portions):
    writer = Staging(broker, "spark.job.0.")
    for portion in portions:
        writer.put([Append("t", 0, body) for body in portion])
    return writer


@pytest.mark.parametrize("problems", [(), ("before",), ("after",), (None, "after", "after"), ("before", None, "after")])
def test_what_is_named_in_the_end_holds_every_batch_once_and_in_order(problems):
    broker = Broker(*problems)
    names = put_all(broker, [b"1", b"2"], [b"3"], [b"4"]).finish()
    assert [batch for name in names for _, _, batch in broker.staged[name]] == [b"1", b"2", b"3", b"4"]
    assert len(names) == 3
    assert all(name.startswith("spark.job.0.") for name in names)


def test_names_of_two_attempts_differ():
    broker = Broker()
    first, second = put_all(broker, [b"1"]).finish(), put_all(broker, [b"1"]).finish()
    assert not set(first) & set(second)


def test_a_refusal_fails_the_task_and_what_was_staged_is_taken_back():
    broker = Broker(None, Refused("TOOLARGE this is too large"))
    writer = put_all(broker, [b"1"], [b"2"])
    with pytest.raises(Refused, match="too large"):
        writer.finish()
    writer.abandon()
    assert all(name.startswith(broker.rolled_back[0]) for name in broker.staged)


def test_patience_has_an_end(monkeypatch):
    monkeypatch.setattr(staging, "PATIENCE_S", 0.0)
    with pytest.raises(Unreachable):
        put_all(Broker("before"), [b"1"]).finish()
