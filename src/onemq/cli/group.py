"""`onemq group`: the groups of a topic, how far they are, and moving them."""

from typing import Annotated

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, confirm, option, place_words
from onemq.cli.output import Json, plural, say, show_facts, show_table

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

PLACE = "first|last|@OFFSET|TIME"
Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Group = Annotated[str, typer.Argument(metavar="GROUP")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Retry = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY", help='What follows a failure: ladder, "none [TIMES]" or "backoff FIRST FACTOR MOST TIMES".'
    ),
]
Dead = Annotated[str | None, typer.Option(metavar="TOPIC", help="Where dead letters go.")]
Lease = Annotated[str | None, typer.Option(metavar="DURATION|none", help="How long a delivery may take.")]
Filter = Annotated[
    str | None, typer.Option("--filter", metavar="CONDITION", help="Tags, or SQL-92: \"tag = 'paid'\".")
]
Order = Annotated[str | None, typer.Option(metavar="none|partition|key", help="What is handled one by one.")]
Assign = Annotated[
    str | None,
    typer.Option(metavar="STRATEGY", help="How members share partitions: none, average, circle, config, room, hash."),
]
Once = Annotated[
    str | None, typer.Option(metavar="key|id|header:NAME|none", help="By what a message is handled only once.")
]
OnceWithin = Annotated[str | None, typer.Option(metavar="DURATION", help="For how long that is remembered.")]


def _settings(
    retry: str | None,
    dead: str | None,
    lease: str | None,
    filter_: str | None,
    order: str | None,
    assign: str | None,
    once: str | None,
    once_within: str | None,
) -> list[Word]:
    if once_within is not None and once is None:
        raise typer.BadParameter("--once-within needs --once")
    return [
        *(["RETRY", *retry.split()] if retry is not None else []),
        *option("DEAD", dead),
        *option("LEASE", lease),
        *option("FILTER", filter_),
        *option("ORDER", order),
        *option("ASSIGN", assign),
        *(["ONCE", *once.split(":", 1)] if once is not None else []),
        *option("WITHIN", once_within),
    ]


@app.command()
def create(
    topic: Topic,
    group: Group,
    start: Annotated[str, typer.Option("--from", metavar=PLACE, help="Where it begins.")] = "first",
    retry: Retry = None,
    dead: Dead = None,
    lease: Lease = None,
    filter_: Filter = None,
    order: Order = None,
    assign: Assign = None,
    once: Once = None,
    once_within: OnceWithin = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="An existing one will do.")] = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Makes a group."""
    settings = _settings(retry, dead, lease, filter_, order, assign, once, once_within)
    with Broker(url) as broker:
        broker.ask(
            "MQ.GROUP", "CREATE", topic, group, "FROM", *place_words(start), *settings,
            *option("IFNOTEXISTS", if_not_exists),
        )  # fmt: skip
    say(f"group {group} of {topic} is there", as_json, topic=topic, group=group)


@app.command()
def alter(
    topic: Topic,
    group: Group,
    retry: Retry = None,
    dead: Dead = None,
    lease: Lease = None,
    filter_: Filter = None,
    order: Order = None,
    assign: Assign = None,
    once: Once = None,
    once_within: OnceWithin = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Changes the settings that are given."""
    settings = _settings(retry, dead, lease, filter_, order, assign, once, once_within)
    if not settings:
        raise typer.BadParameter("give at least one setting to change")
    with Broker(url) as broker:
        broker.ask("MQ.GROUP", "ALTER", topic, group, *settings)
    say(f"group {group} of {topic} is changed", as_json, topic=topic, group=group)


@app.command("list")
def list_(topic: Topic, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Lists the groups of a topic."""
    with Broker(url) as broker:
        groups = broker.ask("MQ.GROUP", "LIST", topic)
    show_table(groups, ["name", "lag", "in_flight", "waiting", "members", "retry", "filter"], as_json)


@app.command()
def show(topic: Topic, group: Group, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Shows the settings of a group, how far it is behind, and its members."""
    with Broker(url) as broker:
        show_facts(broker.ask("MQ.GROUP", "INFO", topic, group), as_json)


@app.command()
def seek(
    topic: Topic,
    group: Group,
    place: Annotated[str, typer.Argument(metavar=PLACE)],
    partition: Annotated[int | None, typer.Option(metavar="N", help="This one only.")] = None,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Makes a group go on elsewhere."""
    with Broker(url) as broker:
        broker.ask("MQ.GROUP", "SEEK", topic, group, *place_words(place), *option("PARTITION", partition))
    say(f"group {group} of {topic} goes on at {place}", as_json, topic=topic, group=group, place=place)


@app.command()
def reset(topic: Topic, group: Group, yes: Yes = False, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Makes a group begin with the first message again."""
    with Broker(url) as broker:
        confirm(f"Let {group} receive everything in {topic} again?", yes)
        broker.ask("MQ.GROUP", "RESET", topic, group)
    say(f"group {group} of {topic} begins again", as_json, topic=topic, group=group)


@app.command()
def delete(topic: Topic, group: Group, yes: Yes = False, url: Url = DEFAULT_URL, as_json: Json = False) -> None:
    """Deletes a group."""
    with Broker(url) as broker:
        confirm(f"Delete group {group} of {topic}?", yes)
        count = broker.ask("MQ.GROUP", "DELETE", topic, group)
    say(f"{plural(count, 'group')} deleted", as_json, deleted=count)


@app.command()
def pending(
    topic: Topic,
    group: Group,
    member: Annotated[str | None, typer.Option(metavar="NAME", help="Of this one only.")] = None,
    count: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 100,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Lists what was handed out and is not acknowledged, and what waits to be tried again."""
    with Broker(url) as broker:
        rows = broker.ask("MQ.PENDING", topic, group, *option("MEMBER", member), "COUNT", count)
    if not as_json:
        rows = [{**row, "last_failure": _last_reason(row.get("history"))} for row in rows]
    show_table(rows, ["receipt", "member", "deliveries", "since", "idle", "due", "last_failure"], as_json)


def _last_reason(history: list[dict[str, str]] | None) -> str | None:
    return history[-1].get("reason") if history else None
