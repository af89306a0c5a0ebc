"""The options that all pipelines share, and how their command lines end."""

import functools
import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from onemq.errors import OneMQError
from onemq.pipelines.broker import DEFAULT_SERVERS
from onemq.pipelines.summary import Summary

Servers = Annotated[
    str | None,
    typer.Option(metavar="HOST:PORT,...", help=f"The broker; else ONEMQ_URL names it.  [{DEFAULT_SERVERS}]"),
]
User = Annotated[str | None, typer.Option(metavar="NAME", help="As whom.")]
Password = Annotated[
    str | None, typer.Option(envvar="ONEMQ_PASSWORD", metavar="TEXT", help="The user's password.", show_envvar=True)
]
Master = Annotated[
    str | None, typer.Option(metavar="URL", help="Spark's master; under spark-submit the one named there.  [local[*]]")
]
Conf = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark; may be given several times.")
]
Once = Annotated[
    bool, typer.Option("--once/--continuous", help="What is there now and then end, or go on until Ctrl-C.")
]
Interval = Annotated[
    str | None, typer.Option(metavar="DURATION", help="With --continuous: a batch so often, e.g. '10 seconds'.")
]
Json = Annotated[bool, typer.Option("--json", help="For programs: JSON on standard output.")]

_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:\s.*\n)*(?:[\w.]+: )?(.+)", re.MULTILINE)
"""A traceback of a Python worker, as it stands within a message of Spark; the group is what was said at last."""


def finish(summary: Summary, as_json: bool) -> None:
    """Prints what a pipeline did; status 1 if that is not good."""
    summary.show(as_json)
    if not summary.is_good:
        raise typer.Exit(1)


def run_main(command: Callable[..., Any], argv: Sequence[str] | None = None) -> None:
    """The command line of one pipeline by itself: `python -m onemq.pipelines.archive`, or under spark-submit."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(with_clear_errors(command))
    try:
        app(args=None if argv is None else list(argv))
    except OneMQError as error:
        print(f"onemq: {error.text}", file=sys.stderr)
        sys.exit(1)


def with_clear_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same command; what Spark fails with becomes an error of one sentence."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        try:
            return command(*arguments, **options)
        except Exception as error:
            if not _is_of_spark(error):
                raise
            raise OneMQError(sentence_of(error)) from error

    return run


def sentence_of(error: Exception) -> str:
    """What a person needs of an error that came through Spark: neither Java's stack nor Python's."""
    text = str(error)
    said = _RAISED.findall(text)
    return str(said[-1] if said else next((line for line in text.splitlines() if line.strip()), text)).strip()


def _is_of_spark(error: Exception) -> bool:
    return any(kind.__module__.startswith(("pyspark", "py4j")) for kind in type(error).__mro__)
