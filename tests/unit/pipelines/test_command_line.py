"""The command line of the pipelines: what it lists, how it fails, and that it needs no Spark to explain itself."""

import json
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from onemq.cli.main import app
from onemq.errors import InvalidArgument, OneMQError
from onemq.pipelines import registry, session
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.options import finish, sentence_of
from onemq.pipelines.summary import Summary

WITHOUT_SPARK = """
import sys
sys.modules["pyspark"] = sys.modules["pyarrow"] = sys.modules["numpy"] = None
from onemq.cli.main import main
sys.argv = ["onemq", "pipeline", *{words}]
main()
"""


def test_all_pipelines_are_listed_with_what_they_do() -> None:
    shown = CliRunner().invoke(app, ["pipeline", "--help"], env={"COLUMNS": "200"}).output
    for name, what in registry.PIPELINES.items():
        assert name in shown
        assert what.split()[0] in shown


@pytest.mark.parametrize("words", [["--help"], *([name, "--help"] for name in ("archive", "compact", "replay"))])
def test_help_needs_no_spark(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK.format(words=words)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--help" in done.stdout


def test_without_spark_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: None)
    with pytest.raises(OneMQError, match=r"pip install 'onemq\[spark\]'"):
        session.session()


def test_without_java_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda name: object())
    monkeypatch.setattr(session, "_java", lambda: None)
    with pytest.raises(OneMQError, match="Java 17"):
        session.session()


def test_settings_of_spark_are_pairs() -> None:
    assert session.parse_settings(["spark.a=1=2", "spark.b="]) == {"spark.a": "1=2", "spark.b": ""}
    with pytest.raises(InvalidArgument, match=r"spark\.executor.memory=4g"):
        session.parse_settings(["executor.memory=4g"])


def test_the_broker_is_named_by_the_option_or_by_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ONEMQ_URL", raising=False)
    assert broker().servers == "localhost:6379"
    monkeypatch.setenv("ONEMQ_URL", "onemq://ann:secret@shop:7000")
    assert broker() == Broker("shop:7000", "ann", "secret")
    assert broker("a:1,b:2") == Broker("a:1,b:2")
    assert broker("a:1").options == {"servers": "a:1"}


def test_a_summary_is_tables_for_people_and_a_document_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    summary = Summary("archive", {"messages": 3, "seconds": 1.5}, {"topics": [{"topic": "orders", "key": b"\x00a"}]})
    summary.show()
    assert capsys.readouterr().out == (
        "pipeline  archive\nmessages  3\nseconds   1.5\n\ntopics\ntopic   key\norders  \\x00a\n"
    )
    summary.show(as_json=True)
    topics = [{"topic": "orders", "key": "\0a"}]
    assert json.loads(capsys.readouterr().out) == {
        "pipeline": "archive", "messages": 3, "seconds": 1.5, "topics": topics
    }  # fmt: skip


def test_what_is_not_good_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        finish(Summary("reconcile", {"lost": 1}, is_good=False), as_json=True)
    assert ended.value.exit_code == 1


def test_what_spark_says_is_cut_down_to_the_sentence_for_people() -> None:
    text = """[STREAM_FAILED] Query [id = 1] terminated with exception:
pyspark.errors.PySparkRuntimeError: Traceback (most recent call last):
Traceback (most recent call last):
  File "x.py", line 1, in read
    raise NoSuchTopic("there is no topic")
pyspark_onemq.errors.NoSuchTopic: there is no topic orders: create it
\tat org.apache.spark.Foo.bar(Foo.scala:1)"""
    assert sentence_of(Exception(text)) == "there is no topic orders: create it"
    assert sentence_of(Exception("[PATH_NOT_FOUND] no path\nmore")) == "[PATH_NOT_FOUND] no path"
