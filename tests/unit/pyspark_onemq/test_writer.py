"""The driver's part of a write, on a stand-in for the broker's connection."""

import pytest

from pyspark_onemq import writer
from pyspark_onemq.connection import Refused
from pyspark_onemq.target import Target, Unit
from pyspark_onemq.writer import StreamWriter, Wrote


class Broker:
    def __init__(self, *problems):
        self.problems = list(problems)
        self.calls = []

    def insist(self, *words, patience_s=0.0):
        self.calls.append(words)
        if self.problems:
            raise self.problems.pop(0)
        return 1

    def call(self, *words):
        return self.insist(*words)

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        pass


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    monkeypatch.setattr(writer, "_PAUSE_S", 0.001)


@pytest.fixture
def stream(monkeypatch):
    """A writer as Spark makes it for a commit: it knows nothing but its options."""
    broker = Broker()
    monkeypatch.setattr(Target, "connect", lambda self, patience_s=0.0: broker)
    made = StreamWriter.__new__(StreamWriter)
    made._target = Target()
    return made, broker.calls


def test_a_batch_is_committed_as_a_unit_in_the_order_of_the_partitions_and_the_rest_rolled_back(stream):
    made, calls = stream
    made.commit([Wrote("q", ("a", "b")), Wrote("q", ()), Wrote("q", ("c",))], 7)
    assert calls == [
        ("MQ.TX", "COMMIT", "a", "b", "c", "UNIT", "q", 7),
        ("MQ.TX", "ROLLBACK", "PREFIX", "spark.q.7."),
        ("MQ.TX", "ROLLBACK", "PREFIX", "spark.q.6."),
    ]


def test_a_batch_without_rows_commits_nothing_and_an_aborted_one_is_rolled_back(stream):
    made, calls = stream
    made.commit([], 3)
    made.abort([None, None], 3)
    assert calls == []
    made.abort([None, Wrote("q", ("a",))], 3)
    assert calls == [("MQ.TX", "ROLLBACK", "PREFIX", "spark.q.3.")]


def test_an_interrupted_commit_is_asked_for_again_and_a_refused_one_fails():
    broker = Broker(Refused("BUSY the commit was interrupted"), Refused("TXENDED transaction 'a' was rolled back"))
    with pytest.raises(Refused, match="rolled back"):
        writer._commit(broker, [Wrote("q", ("a",))], Unit("q", 1))
    assert len(broker.calls) == 2
    writer._commit(broker, [Wrote("q", ("a",))], None)
    assert broker.calls[-1] == ("MQ.TX", "COMMIT", "a")
