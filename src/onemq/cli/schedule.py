"""`onemq schedule`: the messages that are due later."""

from typing import Annotated, Any

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, confirm, option
from onemq.cli.output import Json, plural, say, show_facts, show_table
from onemq.errors import NotFound

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Id = Annotated[str, typer.Argument(metavar="ID")]
PAGE = 1_000


@app.command("list")
def list_(
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Those for this one only.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 100,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Lists scheduled messages, the next one first."""
    rows: list[dict[str, Any]] = []
    cursor: object = None
    with Broker(url) as broker:
        while len(rows) < count:
            cursor, page = broker.ask(
                "MQ.SCHEDULE", "LIST", *option("TOPIC", topic), "COUNT", min(PAGE, count - len(rows)),
                *option("AFTER", cursor),
            )  # fmt: skip
            rows += page
            if cursor is None:
                break
    show_table(rows, ["id", "due", "topic", "key", "every", "cron", "left", "body"], as_json)


@app.command()
def show(id_: Id, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Shows a scheduled message."""
    with Broker(url) as broker:
        facts = broker.ask("MQ.SCHEDULE", "GET", id_)
    if facts is None:
        raise NotFound(f"no message waits as {id_}; `onemq schedule list` shows those that do")
    show_facts(facts, as_json)


@app.command()
def cancel(
    ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Cancels scheduled messages: they are never delivered."""
    with Broker(url) as broker:
        confirm(f"Cancel {plural(len(ids), 'scheduled message')}?", yes)
        count = broker.ask("MQ.SCHEDULE", "CANCEL", *ids)
    say(f"{plural(count, 'scheduled message')} cancelled", as_json, cancelled=count)


@app.command()
def move(
    id_: Id,
    delay: Annotated[str | None, typer.Option(metavar="DURATION", help="Deliver so long from now.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Deliver then.")] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Makes a scheduled message due at another time."""
    if (delay is None) == (at is None):
        raise typer.BadParameter("give --delay or --at")
    with Broker(url) as broker:
        broker.ask("MQ.SCHEDULE", "MOVE", id_, *option("DELAY", delay), *option("AT", at))
    say(f"message {id_} is due {f'in {delay}' if delay else f'at {at}'}", as_json, id=id_)
