"""`onemq topic`: making, changing, looking at and deleting topics."""

from typing import Annotated

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, confirm, option, yes_or_no
from onemq.cli.output import Json, plural, say, show_facts, show_table

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Partitions = Annotated[int | None, typer.Option(metavar="N", help="How many; they can only grow.")]
Kind = Annotated[
    str | None, typer.Option(metavar="stream|queue", help="A queue drops what every group has acknowledged.")
]
Flush = Annotated[str | None, typer.Option(metavar="sync|async", help="Whether a send waits for the disk.")]
Retention = Annotated[str | None, typer.Option(metavar="DURATION|none", help="How long messages are kept.")]
RetentionBytes = Annotated[str | None, typer.Option(metavar="SIZE|none", help="How much of each partition is kept.")]
Compact = Annotated[bool | None, typer.Option("--compact/--no-compact", help="Keep the last message of each key only.")]
MaxBytes = Annotated[str | None, typer.Option(metavar="SIZE", help="The largest message.")]
Expires = Annotated[str | None, typer.Option(metavar="DURATION|none", help="After this time messages are of no use.")]
Expired = Annotated[str | None, typer.Option(metavar="drop|dead", help="What becomes of those.")]
Trace = Annotated[bool | None, typer.Option("--trace/--no-trace", help="Note what happens to each message.")]


def _settings(
    partitions: int | None,
    kind: str | None,
    flush: str | None,
    retention: str | None,
    retention_bytes: str | None,
    compact: bool | None,
    max_bytes: str | None,
    expires: str | None,
    expired: str | None,
    trace: bool | None,
) -> list[Word]:
    return [
        *option("PARTITIONS", partitions),
        *option("KIND", kind),
        *option("FLUSH", flush),
        *option("RETENTION", retention),
        *option("RETENTIONBYTES", retention_bytes),
        *yes_or_no("COMPACT", compact),
        *option("MAXBYTES", max_bytes),
        *option("EXPIRES", expires),
        *option("EXPIRED", expired),
        *yes_or_no("TRACE", trace),
    ]


@app.command()
def create(
    topic: Name,
    partitions: Partitions = None,
    kind: Kind = None,
    flush: Flush = None,
    retention: Retention = None,
    retention_bytes: RetentionBytes = None,
    compact: Compact = None,
    max_bytes: MaxBytes = None,
    expires: Expires = None,
    expired: Expired = None,
    trace: Trace = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing one will do.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Makes a topic."""
    settings = _settings(
        partitions, kind, flush, retention, retention_bytes, compact, max_bytes, expires, expired, trace
    )
    with Broker(url) as broker:
        broker.ask("MQ.TOPIC", "CREATE", topic, *settings, *option("IFNOTEXISTS", if_not_exists))
    say(f"topic {topic} is there", as_json, topic=topic)


@app.command()
def alter(
    topic: Name,
    partitions: Partitions = None,
    kind: Kind = None,
    flush: Flush = None,
    retention: Retention = None,
    retention_bytes: RetentionBytes = None,
    compact: Compact = None,
    max_bytes: MaxBytes = None,
    expires: Expires = None,
    expired: Expired = None,
    trace: Trace = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Changes the settings that are given."""
    settings = _settings(
        partitions, kind, flush, retention, retention_bytes, compact, max_bytes, expires, expired, trace
    )
    if not settings:
        raise typer.BadParameter("give at least one setting to change")
    with Broker(url) as broker:
        broker.ask("MQ.TOPIC", "ALTER", topic, *settings)
    say(f"topic {topic} is changed", as_json, topic=topic)


@app.command("list")
def list_(
    match: Annotated[str | None, typer.Option(metavar="PATTERN", help="Such as order*.")] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Lists the topics."""
    with Broker(url) as broker:
        topics = broker.ask("MQ.TOPIC", "LIST", *option("MATCH", match))
    show_table(topics, ["name", "kind", "partitions", "messages", "groups", "dead"], as_json)


@app.command()
def show(topic: Name, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Shows the settings of a topic, what it holds and who reads it."""
    with Broker(url) as broker:
        facts = broker.ask("MQ.TOPIC", "INFO", topic)
    if not as_json:
        offsets = facts.pop("offsets", [])
        facts["offsets"] = [{"partition": number, "start": start, "end": end}
                            for number, (start, end) in enumerate(offsets)]  # fmt: skip
    show_facts(facts, as_json)


@app.command()
def delete(
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Deletes topics with their messages and groups."""
    with Broker(url) as broker:
        confirm(f"Delete {', '.join(topics)} with all messages and groups?", yes)
        count = broker.ask("MQ.TOPIC", "DELETE", *topics)
    say(f"{plural(count, 'topic')} deleted", as_json, deleted=count)
