"""`onemq receive`: messages of a group, to look at or to take."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, option
from onemq.cli.output import Json, show_messages

ROUND_MAX = 100
"""So many messages are asked for at a time."""


def receive(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    group: Annotated[str, typer.Argument(metavar="GROUP")],
    count: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 1,
    wait: Annotated[str, typer.Option(metavar="DURATION", help="How long to wait for each.")] = "0",
    ack: Annotated[
        bool, typer.Option("--ack", help="Acknowledge them. Without it the group has them again when this ends.")
    ] = False,
    member: Annotated[str | None, typer.Option(metavar="NAME", help="The member that receives.")] = None,
    partition: Annotated[int | None, typer.Option(metavar="N", help="Of this one only.")] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Receives messages as a member of a group. With --json, one on each line."""
    options = [*option("MEMBER", member), *option("PARTITION", partition), "WAIT", wait]
    with Broker(url) as broker:
        show_messages(_received(broker, topic, group, count, options, ack), as_json)


def _received(
    broker: Broker, topic: str, group: str, count: int, options: list[Word], ack: bool
) -> Iterator[dict[str, Any]]:
    """Messages are acknowledged after they were shown: an interrupted command loses nothing. Those that were only
    looked at are given back at the end, not before, so that none comes twice."""
    looked_at: list[str] = []
    while count > 0:
        messages = broker.ask("MQ.RECEIVE", topic, group, "COUNT", min(count, ROUND_MAX), *options)
        if not messages:
            break
        yield from messages
        receipts = [each["receipt"] for each in messages]
        if ack:
            broker.ask("MQ.ACK", topic, group, *receipts)
        else:
            looked_at += receipts
        count -= len(messages)
    if looked_at:
        broker.ask("MQ.RELEASE", topic, group, *looked_at)
