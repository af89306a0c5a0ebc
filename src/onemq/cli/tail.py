"""`onemq tail`: the last messages of a topic, and those that follow. It changes nothing."""

from collections.abc import Iterator
from heapq import merge
from typing import Annotated, Any

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, option, place_words
from onemq.cli.output import Json, show_messages
from onemq.errors import InvalidArgument

PAGE = 100
WAIT_MS = 500
"""So long it waits for news of all partitions before it looks by itself."""

Message = dict[str, Any]


def tail(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    lines: Annotated[int, typer.Option("--lines", "-n", metavar="N", help="The last so many of each partition.")] = 10,
    start: Annotated[
        str | None, typer.Option("--from", metavar="first|last|@OFFSET|TIME", help="Begin there instead.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    partition: Annotated[int | None, typer.Option(metavar="N", help="Of this one only.")] = None,
    condition: Annotated[
        str | None, typer.Option("--filter", metavar="CONDITION", help="Only those: tags, or SQL-92.")
    ] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Shows the last messages of a topic, and with -f those that follow. With --json, one on each line."""
    with Broker(url) as broker:
        reader = _Reader(broker, topic, option("FILTER", condition))
        reader.begin(lines, start, partition)
        show_messages(reader.rest(), as_json)
        while follow:
            show_messages(reader.wait(), as_json)


class _Reader:
    """Where it is in each partition."""

    def __init__(self, broker: Broker, topic: str, condition: list[Word]) -> None:
        self._broker = broker
        self._topic = topic
        self._filter = condition
        self._places: dict[int, int] = {}

    def begin(self, lines: int, start: str | None, only: int | None) -> None:
        words = place_words(start) if start is not None else ["LAST"]
        time = words if words[0] == "TIME" else []
        for row in self._broker.ask("MQ.OFFSETS", self._topic, *time):
            number, first, end = row[:3]
            places = {"FIRST": first, "LAST": end if start is not None else max(first, end - lines)}
            places |= {"TIME": row[3]} if time else {}
            if only in (None, number):
                self._places[number] = places[str(words[0]).upper()] if words[0] != "OFFSET" else int(words[1])
        if not self._places:
            raise InvalidArgument(f"topic {self._topic} has no partition {only}")

    def rest(self) -> Iterator[Message]:
        """What there is now, in the order of time."""
        ends = {row[0]: row[2] for row in self._broker.ask("MQ.OFFSETS", self._topic)}
        partitions = [self._rest_of(number, ends[number]) for number in self._places]
        return merge(*partitions, key=lambda message: int(message["stored"]))

    def _rest_of(self, number: int, end: int) -> Iterator[Message]:
        while (place := self._places[number]) < end:
            page: list[Message] = self._broker.ask(
                "MQ.READ", self._topic, "PARTITION", number, "OFFSET", place, "COUNT", PAGE, *self._filter
            )
            self._places[number] = page[-1]["offset"] + 1 if page else end
            yield from page

    def wait(self) -> Iterator[Message]:
        """What comes next; nothing if nothing came for a while."""
        only = list(self._places) if len(self._places) == 1 else [None]
        self._broker.ask(
            "MQ.READ", self._topic, *option("PARTITION", only[0]), "FROM", "LAST", "COUNT", 1, "WAIT", WAIT_MS
        )
        return self.rest()
