"""`onemq send`: one message from the command line or a file, or one for each line."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, option
from onemq.cli.output import Json, plural, say, to_json
from onemq.cli.progress import counted
from onemq.errors import OneMQError


def send(
    topic: Annotated[str, typer.Argument(metavar="TOPIC")],
    body: Annotated[
        str | None, typer.Argument(metavar="[BODY]", help="Without it, each line of standard input is a message.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The whole file is the body; - is standard input.")
    ] = None,
    lines: Annotated[bool, typer.Option("--lines", help="Each line of the file is a message.")] = False,
    key: Annotated[str | None, typer.Option(metavar="KEY")] = None,
    tag: Annotated[str | None, typer.Option(metavar="TAG")] = None,
    header: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="May be given several times.")] = None,
    type_: Annotated[str | None, typer.Option("--type", metavar="text|bytes|json", help="What the body is.")] = None,
    ordering_key: Annotated[str | None, typer.Option(metavar="KEY", help="What the order goes by.")] = None,
    partition: Annotated[int | None, typer.Option(metavar="N")] = None,
    delay: Annotated[str | None, typer.Option(metavar="DURATION", help="Deliver after this time.")] = None,
    at: Annotated[str | None, typer.Option(metavar="TIME", help="Deliver then.")] = None,
    level: Annotated[int | None, typer.Option(metavar="1..18", help="A level of delay, from 1s to 2h.")] = None,
    every: Annotated[str | None, typer.Option(metavar="DURATION", help="Deliver again and again.")] = None,
    cron: Annotated[str | None, typer.Option(metavar="EXPRESSION", help='Such as "0 8 * * mon-fri".')] = None,
    zone: Annotated[str | None, typer.Option(metavar="ZONE", help="Of the cron expression.")] = None,
    times: Annotated[int | None, typer.Option(metavar="N", help="How often at most.")] = None,
    priority: Annotated[int | None, typer.Option(metavar="0..9", help="Higher ones come first.")] = None,
    expires: Annotated[str | None, typer.Option(metavar="DURATION", help="After this time it is of no use.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(metavar="KEY", help="A second message with the same key is not stored.")
    ] = None,
    within: Annotated[str | None, typer.Option(metavar="DURATION", help="For how long that key is known.")] = None,
    transient: Annotated[bool, typer.Option("--transient", help="Need not survive a power cut.")] = False,
    reply_to: Annotated[str | None, typer.Option(metavar="TOPIC")] = None,
    correlation: Annotated[str | None, typer.Option(metavar="ID")] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Sends messages: BODY, a file, or each line of standard input."""
    options = [
        *option("KEY", key), *option("TAG", tag), *_headers(header or []), *option("TYPE", type_),
        *option("ORDER", ordering_key), *option("PARTITION", partition),
        *option("DELAY", delay), *option("AT", at), *option("LEVEL", level),
        *option("EVERY", every), *option("CRON", cron), *option("ZONE", zone), *option("TIMES", times),
        *option("PRIORITY", priority), *option("EXPIRES", expires),
        *option("IDEMPOTENCY", idempotency_key), *option("WITHIN", within), *option("TRANSIENT", transient),
        *option("REPLYTO", reply_to), *option("CORRELATION", correlation),
    ]  # fmt: skip
    if body is not None and (file is not None or lines):
        raise typer.BadParameter("give either BODY or --file")
    with Broker(url) as broker:
        if body is not None:
            _send_one(broker, topic, body, options, as_json)
        elif file is not None and not lines:
            _send_one(broker, topic, _content(file), options, as_json)
        else:
            _send_lines(broker, topic, file, options, as_json)


def _headers(given: list[str]) -> list[Word]:
    words: list[Word] = []
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{each!r} is not NAME=VALUE", param_hint="--header")
        words += ["HEADER", name, value]
    return words


def _send_one(broker: Broker, topic: str, body: str | bytes, options: list[Word], as_json: bool) -> None:
    receipt = broker.ask("MQ.SEND", topic, body, *options)
    say(_told(receipt), as_json, **receipt)


def _told(receipt: dict[str, Any]) -> str:
    if "schedule" in receipt:
        return f"message {receipt['id']} for {receipt['topic']} waits as {receipt['schedule']}"
    known = " was known already:" if receipt.get("duplicate") else " is stored:"
    return f"message {receipt['id']}{known} {receipt['topic']} {receipt['partition']}:{receipt['offset']}"


def _content(file: Path) -> bytes:
    with _opened(file) as source:
        content: bytes = source.read()
    return content


def _send_lines(broker: Broker, topic: str, file: Path | None, options: list[Word], as_json: bool) -> None:
    """Many at a time, unless somebody types, who is not kept waiting."""
    count = 0
    with _opened(file) as source, counted("messages") as advance:
        requests = _requests(topic, source, options)
        one_by_one = (broker.ask(*words) for words in requests)
        for receipt in one_by_one if source.isatty() else broker.ask_all(requests):
            count += 1
            advance(1)
            if as_json:
                print(to_json(receipt))
    if not as_json:
        print(f"{plural(count, 'message')} sent to {topic}")


def _requests(topic: str, source: Iterable[bytes], options: list[Word]) -> Iterator[list[Word]]:
    for line in source:
        yield ["MQ.SEND", topic, line.removesuffix(b"\n"), *options]


def _opened(file: Path | None) -> Any:
    source: BinaryIO = sys.stdin.buffer
    if file is None or str(file) == "-":
        return nullcontext(source)
    try:
        return file.open("rb")
    except OSError as problem:
        raise OneMQError(f"{file} cannot be read: {problem.strerror}") from None
