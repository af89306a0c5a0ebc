"""The `onemq` command: what it offers, and how it ends.

Exit status: 0 fine, 1 OneMQ cannot do it (one line on standard error says why and what to do),
2 the command line makes no sense. What a command needs it imports itself, so that each starts quickly.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

import onemq
from onemq.cli import bench, dead, group, log, pipeline, receive, schedule, search, send, tail, topic, user
from onemq.errors import OneMQError
from onemq.pipelines.options import with_clear_errors
from onemq.pipelines.sql import sql

app = typer.Typer(
    help="OneMQ: one message queue for Python and data teams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def serve(
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings in TOML; docs/onemq.toml shows all of them.")
    ] = None,
    data: Annotated[
        str | None, typer.Option(metavar="DIR", help='Where messages are kept, or ":memory:".  [./onemq-data]')
    ] = None,
    resp: Annotated[
        str | None, typer.Option(metavar="HOST:PORT|off", help="The Redis protocol.  [127.0.0.1:6379]")
    ] = None,
    kafka: Annotated[
        str | None, typer.Option(metavar="HOST:PORT|off", help="The Kafka protocol.  [127.0.0.1:9092]")
    ] = None,
    log_format: Annotated[str | None, typer.Option(metavar="readable|json", help="[readable]")] = None,
    log_level: Annotated[
        str | None, typer.Option(metavar="debug|info|warning|error", help="[info]")
    ] = None,
) -> None:
    """Runs a broker until SIGTERM or SIGINT. Options go before what the file says."""
    from onemq.cli.serve import run
    from onemq.config import load_config

    options = {
        "log.data": data,
        "resp.listen": resp,
        "kafka.listen": kafka,
        "server.log_format": log_format,
        "server.log_level": log_level,
    }
    run(load_config(config, options))


app.add_typer(topic.app, name="topic", help="Topics: make, change, list, look at, delete.")
app.add_typer(group.app, name="group", help="Groups of a topic: how far they are; move them.")
app.command()(send.send)
app.command()(receive.receive)
app.command()(tail.tail)
app.command()(search.search)
app.command()(search.trace)
app.add_typer(schedule.app, name="schedule", help="Messages that are due later.")
app.add_typer(dead.app, name="dead", help="Dead letters: look at them, send them back, remove them.")
app.add_typer(pipeline.app, name="pipeline", help="Data pipelines on Spark.")
app.command()(with_clear_errors(sql))
app.command()(bench.bench)
app.command()(user.user)
app.add_typer(log.app, name="log", help="Look into a data folder.")


@app.command()
def version() -> None:
    """Prints the version, and whether the broker's modules are compiled."""
    from onemq import native

    print(f"onemq {onemq.__version__} ({native.use()})")


def main() -> None:
    """The entry point."""
    try:
        app(prog_name="onemq")
    except OneMQError as error:
        print(f"onemq: {error.text}", file=sys.stderr)
        sys.exit(1)
