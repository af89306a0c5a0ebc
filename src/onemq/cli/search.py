"""`onemq search` and `onemq trace`: finding messages, and what happened to one."""

from typing import Annotated

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, option
from onemq.cli.output import Json, show_facts, show_json, show_messages


def search(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    id_: Annotated[str | None, typer.Option("--id", metavar="ID")] = None,
    key: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Stored then or later.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Stored then or before.")] = None,
    condition: Annotated[str | None, typer.Option("--filter", metavar="CONDITION", help="Tags, or SQL-92.")] = None,
    partition: Annotated[int | None, typer.Option(metavar="N", help="In this one only.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 10,
    newest: Annotated[bool, typer.Option("--newest", help="The last ones first.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Finds messages by id, key, time or condition. It changes nothing."""
    with Broker(url) as broker:
        found = broker.ask(
            "MQ.SEARCH", topic, *option("ID", id_), *option("KEY", key), *option("FROM", start), *option("TO", end),
            *option("FILTER", condition), *option("PARTITION", partition), "COUNT", count, *option("NEWEST", newest),
        )  # fmt: skip
    if as_json:
        show_json(found)
    else:
        show_messages(found, as_json=False)


def trace(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    id_: Annotated[str, typer.Argument(metavar="ID")],
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Shows a message, how it is with each group now, and in a topic with --trace what happened to it."""
    with Broker(url) as broker:
        show_facts(broker.ask("MQ.TRACE", topic, id_), as_json)
