"""`onemq dead`: dead letters, and what to do with them."""

from typing import Annotated, Any

import typer

from onemq.cli.broker import DEFAULT_URL, Broker, Url, Word, confirm, option
from onemq.cli.output import Json, plural, say, show_facts, show_table
from onemq.cli.progress import counted
from onemq.errors import NotFound

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic that they came from, or one of dead letters.")]
Group = Annotated[str | None, typer.Option(metavar="GROUP", help="Those of this group only.")]
Filter = Annotated[str | None, typer.Option("--filter", metavar="CONDITION", help="Tags, or SQL-92.")]
Ids = Annotated[list[str] | None, typer.Option("--id", metavar="ID", help="This one; may be given several times.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only tell how many it would be.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

ROUND = 500
"""So many are replayed at a time."""


@app.command("list")
def list_(
    topic: Topic,
    group: Group = None,
    condition: Filter = None,
    count: Annotated[int, typer.Option(metavar="N", help="At most so many.")] = 100,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Lists dead letters, with the reason of each."""
    with Broker(url) as broker:
        rows = broker.ask("MQ.DEAD", "LIST", topic, *_chosen(group, condition, None), "COUNT", count)
    columns = ["id", "at", "group", "deliveries", "reason", "key", "body"]
    show_table(rows if as_json else [{**row, **(row.get("dead") or {})} for row in rows], columns, as_json)


@app.command()
def show(
    topic: Topic,
    id_: Annotated[str, typer.Argument(metavar="ID")],
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Shows a dead letter with its history."""
    with Broker(url) as broker:
        facts = broker.ask("MQ.DEAD", "GET", topic, id_)
    if facts is None:
        raise NotFound(f"{topic} has no dead letter {id_}; `onemq dead list {topic}` shows those it has")
    show_facts(facts if as_json else _flat(facts), as_json)


@app.command()
def replay(
    topic: Topic,
    group: Group = None,
    condition: Filter = None,
    ids: Ids = None,
    count: Annotated[int | None, typer.Option(metavar="N", help="At most so many.")] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Sends dead letters back to the topic they came from, for a new series of deliveries."""
    limit = option("COUNT", count)
    with Broker(url) as broker:
        found = _replay(broker, topic, group, condition, ids, [*limit, "DRYRUN"])["found"]
        if dry_run or not found:
            say(f"{plural(found, 'dead letter')} found", as_json, found=found, sent=0)
            return
        confirm(f"Send {plural(found, 'dead letter')} back to {topic}?", yes)
        sent = 0
        with counted("dead letters", found) as advance:
            while sent < found:
                some = _replay(broker, topic, group, condition, ids, ["COUNT", min(ROUND, found - sent)])["sent"]
                if not some:
                    break
                sent += some
                advance(some)
    say(f"{plural(sent, 'dead letter')} sent back", as_json, found=found, sent=sent)


@app.command()
def purge(
    topic: Topic,
    group: Group = None,
    condition: Filter = None,
    ids: Ids = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    url: Url = DEFAULT_URL,
    as_json: Json = False,
) -> None:
    """Removes dead letters for good."""
    with Broker(url) as broker:
        found = _replay(broker, topic, group, condition, ids, ["DRYRUN"])["found"]
        if dry_run or not found:
            say(f"{plural(found, 'dead letter')} found", as_json, found=found, removed=0)
            return
        confirm(f"Remove {plural(found, 'dead letter')} of {topic} for good?", yes)
        removed = broker.ask("MQ.DEAD", "PURGE", topic, *_chosen(group, condition, ids))
    say(f"{plural(removed, 'dead letter')} removed", as_json, found=found, removed=removed)


def _replay(
    broker: Broker, topic: str, group: str | None, condition: str | None, ids: list[str] | None, how: list[Word]
) -> dict[str, int]:
    """The ids stand last, so that anything may be an id."""
    if ids and condition is not None:
        raise typer.BadParameter("give either --filter or --id")
    words = [*_chosen(group, condition, None), *how, *_chosen(None, None, ids)]
    reply: dict[str, int] = broker.ask("MQ.DEAD", "REPLAY", topic, *words)
    return reply


def _chosen(group: str | None, condition: str | None, ids: list[str] | None) -> list[Word]:
    return [*option("GROUP", group), *option("FILTER", condition), *(["IDS", *ids] if ids else [])]


def _flat(facts: dict[str, Any]) -> dict[str, Any]:
    """The death beside the message, its history as a table."""
    death = facts.pop("dead", None) or {}
    return facts | {f"dead_{name}": value for name, value in death.items() if name not in ("history", "at")} | {
        "at": death.get("at"), "history": death.get("history")
    }  # fmt: skip
