"""`onemq pipeline reconcile`: what was sent against what was handled, by business key.

It finds what was lost, handled more than once and handled out of order, each with examples, and can put the lost ones
back: each once, however often it is run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onemq.errors import InvalidArgument
from onemq.pipelines.batches import duration_ms
from onemq.pipelines.books import balance, totals, with_order
from onemq.pipelines.broker import Broker, broker
from onemq.pipelines.copies import copied, header
from onemq.pipelines.fields import check_field
from onemq.pipelines.options import Conf, Json, Master, Password, Servers, User, finish, run_main
from onemq.pipelines.picture import STATES, draw
from onemq.pipelines.session import opened
from onemq.pipelines.sides import PLACE, RESENT, Ends, Side, Sides, ends_of, is_beyond, parse_side, union
from onemq.pipelines.summary import Summary, to_json

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

BUCKETS = 40
"""Points on the time axis of the picture."""
BAD = {
    "lost": "state = 'lost'",
    "duplicated": "duplicated",
    "out_of_order": "late",
    "dead": "state = 'dead'",
    "unexpected": "state = 'unexpected'",
}
"""What examples are shown of."""
WRONG = ("duplicated", "out_of_order", "unexpected")


@dataclass(frozen=True, slots=True)
class Request:
    """What is compared, and how."""

    sent: Side
    handled: tuple[Side, ...]
    by: tuple[str, ...]
    order_by: str = "@key"
    dead: tuple[Side, ...] = ()
    """Dead letters that count as accounted for; those of groups in `handled` always do."""
    grace_ms: int = 0
    """Messages that were sent less than this before now are not judged."""
    examples: int = 5

    @property
    def is_ordered(self) -> bool:
        """Whether all that was handled tells its order."""
        return all(side.is_ordered for side in self.handled)


def run(
    spark: SparkSession, broker: Broker, request: Request, *, report: str | None = None, resend: str | None = None
) -> Summary:
    """Balances the books. `report`: a folder for reconcile.json and reconcile.png; `resend`: a topic for the lost."""
    sides = Sides(spark, broker, request.by, request.order_by)
    before = ends_of(broker, [request.sent.name]) if request.sent.kind == "topic" else None
    others = _others(sides, request)
    sent = sides.load(request.sent).persist()
    if resend is not None and Side("topic", resend) != request.sent:
        sent = sent.where("resent IS NULL").unionByName(_resent_in(sides, broker, resend))
    books = _books(request, sent, _unripe(sent, before, request.grace_ms), others).persist()
    counted = totals(books)
    tables = _examples(books, request)
    again = _send_again(broker, sent, books, resend) if resend is not None and counted["lost"] else 0
    unknown = sent.where("identity IS NULL").count()
    facts: dict[str, Any] = {"sent_side": str(request.sent), "handled_side": " ".join(map(str, request.handled))}
    facts |= counted | {"without_a_key": unknown, "resent": again if resend is not None else None}
    is_good = counted["lost"] == again and not any(counted[name] for name in WRONG)
    summary = Summary("reconcile", facts, {name: rows for name, rows in tables.items() if rows}, is_good)
    if report is not None:
        _report(report, summary, books)
    books.unpersist()
    sent.unpersist()
    return summary


def _unripe(sent: DataFrame, before: Ends | None, grace_ms: int) -> DataFrame:
    """What was sent after the other side was looked at, or too short a time ago: nothing of it is lost yet."""
    from pyspark.sql import functions as F

    latest = F.timestamp_millis(F.unix_millis(F.current_timestamp()) - grace_ms)
    is_new = F.col("timestamp") > latest if grace_ms else F.lit(False)
    for topic, ends in (before or {}).items():
        is_new = is_new | ((F.col("topic") == topic) & is_beyond(ends))
    return sent.where(is_new)


def _resent_in(sides: Sides, broker: Broker, topic: str) -> DataFrame:
    """What was sent again before."""
    with broker.connect() as connection:
        connection.call("MQ.TOPIC", "CREATE", topic, "IFNOTEXISTS")
    return sides.load(Side("topic", topic)).where("resent IS NOT NULL")


@dataclass(frozen=True, slots=True)
class _Others:
    """What became of messages."""

    handled: list[DataFrame]
    dead: list[DataFrame]
    open: list[DataFrame]


def _others(sides: Sides, request: Request) -> _Others:
    others = _Others([], [sides.load(side) for side in request.dead], [])
    for side in request.handled:
        if side.kind != "group":
            others.handled.append(sides.load(side))
            continue
        done, left = sides.group(side)
        others.handled.append(done)
        others.open.append(left)
        others.dead.append(sides.letters(side.name, side.part))
    return others


def _books(request: Request, sent: DataFrame, unripe: DataFrame, others: _Others) -> DataFrame:
    dead = union(others.dead) if others.dead else _without_reason(unripe.where("false"))
    books = balance(sent, union(others.handled), dead, union([unripe, *others.open]))
    return with_order(books) if request.is_ordered else books


def _without_reason(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.withColumn("reason", F.lit(None).cast("string"))


def _examples(books: DataFrame, request: Request) -> dict[str, list[dict[str, Any]]]:
    """Some keys of each kind, those that were sent first, and where their messages are."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    kinds = {kind: condition for kind, condition in BAD.items() if kind != "out_of_order" or request.is_ordered}
    flags = F.array_compact(F.array(*(F.when(F.expr(condition), F.lit(kind)) for kind, condition in kinds.items())))
    line = Window.partitionBy("kind").orderBy(F.coalesce("sent_at", "handled_at"), "identity")
    ranked = books.withColumn("kind", F.explode(flags)).withColumn("turn", F.row_number().over(line))
    chosen = ranked.where(F.col("turn") <= request.examples).orderBy("kind", "turn")
    columns = ("kind", "identity", "sent", "handled", _place("sent"), _place("handled"))
    rows = chosen.select(*columns, F.col("sent_at.timestamp").alias("at"), "reason").collect()
    return {f"{kind}_examples": [_known(row) for row in rows if row["kind"] == kind] for kind in kinds}


def _known(row: Row) -> dict[str, Any]:
    return {name: value for name, value in row.asDict().items() if value is not None and name != "kind"}


def _place(name: str) -> Column:
    from pyspark.sql import functions as F

    at = F.col(f"{name}_at")
    text = F.format_string("%s-%d-%d", at["topic"], at["partition"], at["offset"])
    return F.when(at.isNotNull(), text).alias(f"{name}_at")


def _send_again(broker: Broker, sent: DataFrame, books: DataFrame, topic: str) -> int:
    """Puts the first message of each lost key into a topic, in their order. The unit is named after what is sent: if
    this very set was sent before, nothing is."""
    from pyspark.sql import functions as F

    lost = books.where("state = 'lost'").select("identity", F.col("sent_at").alias("place"))
    rows = sent.where("resent IS NULL").withColumn("place", F.struct(*PLACE)).join(lost, ["identity", "place"])
    origin = F.format_string("%s-%d-%d", "topic", "partition", "offset")
    messages = rows.withColumn("origin", origin).persist()
    digest = F.sha2(F.array_join(F.sort_array(F.collect_list("origin")), ","), 256)
    told: Any = messages.agg(F.count(F.lit(1)), digest).first()
    ordered = messages.coalesce(1).sortWithinPartitions("place")
    broker.write(
        copied(ordered, header(RESENT, F.col("origin"))), topic=topic, unit=f"reconcile:{topic}:{told[1]}", unitNumber=1
    ).save()
    messages.unpersist()
    return int(told[0])


def _report(folder: str, summary: Summary, books: DataFrame) -> None:
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "reconcile.json").write_text(json.dumps(json.loads(to_json(summary.to_dict())), indent=2) + "\n")
    facts = summary.facts
    title = f"{facts['sent_side']} against {facts['handled_side']}: {facts['sent']:,} keys"
    draw(str(place / "reconcile.png"), title, dict(facts), _history(books))


def _history(books: DataFrame) -> list[dict[str, Any]]:
    """How many keys are in each state, by the time at which they were sent."""
    from pyspark.sql import functions as F

    sent = books.where("sent > 0").withColumn("ms", F.unix_millis("sent_at.timestamp"))
    edges: Any = sent.agg(F.min("ms"), F.max("ms")).first()
    if edges[0] is None:
        return []
    width = max(1000, -(-(edges[1] + 1 - edges[0]) // BUCKETS))
    bucket = F.floor((F.col("ms") - edges[0]) / width)
    counts = [F.count_if(F.col("state") == state).alias(state) for state in STATES]
    found = {row["bucket"]: row for row in sent.groupBy(bucket.alias("bucket")).agg(*counts).collect()}
    return [_point(edges[0] + number * width, found.get(number)) for number in range(max(found) + 2)]


def _point(at_ms: int, row: Any | None) -> dict[str, Any]:
    from datetime import UTC, datetime

    return {"at": datetime.fromtimestamp(at_ms / 1000, UTC), **{state: row[state] if row else 0 for state in STATES}}


def command(
    sent: Annotated[str, typer.Option(metavar="SIDE", help="topic:T, archive:URL, archive:URL#T")],
    handled: Annotated[
        list[str], typer.Option(metavar="SIDE", help="topic:T, group:T/G, archive:URL; may come several times.")
    ],
    by: Annotated[
        list[str], typer.Option(metavar="FIELD", help="The business key: orderno, @key, @header:name; several add up.")
    ],
    order_by: Annotated[str, typer.Option(metavar="FIELD", help="Those with the same one keep their order.")] = "@key",
    dead: Annotated[
        list[str] | None, typer.Option(metavar="TOPIC[/GROUP]", help="Dead letters that account for a message.")
    ] = None,
    grace: Annotated[str, typer.Option(metavar="DURATION", help="Do not judge what was sent in this time.")] = "0s",
    examples: Annotated[int, typer.Option(metavar="N", help="Show so many of each.", min=0)] = 5,
    report: Annotated[str | None, typer.Option(metavar="FOLDER", help="For reconcile.json and reconcile.png.")] = None,
    resend: Annotated[bool, typer.Option("--resend", help="Send the lost ones again, each once.")] = False,
    to: Annotated[str | None, typer.Option(metavar="TOPIC", help="With --resend: where to.  [where they were]")] = None,
    servers: Servers = None,
    user: User = None,
    password: Password = None,
    master: Master = None,
    conf: Conf = None,
    as_json: Json = False,
) -> None:
    """What was sent against what was handled: lost, duplicated, out of order. Status 1 if the books do not balance."""
    sides = parse_side(sent), tuple(parse_side(each) for each in handled)
    letters = tuple(parse_side(f"dead:{each}") for each in dead or ())
    request = Request(
        sides[0], sides[1], tuple(map(check_field, by)), check_field(order_by), letters, duration_ms(grace), examples
    )
    target = _target(request.sent, to) if resend else None
    with opened(master, "onemq reconcile", conf) as spark:
        summary = run(spark, broker(servers, user, password), request, report=report, resend=target)
        finish(summary, as_json)


def _target(sent: Side, to: str | None) -> str:
    if to is None and sent.kind != "topic":
        raise InvalidArgument(f"--resend needs --to TOPIC, since {sent} is no topic")
    return to if to is not None else sent.name


def main(argv: Sequence[str] | None = None) -> None:
    """The command line by itself."""
    run_main(command, argv)


if __name__ == "__main__":
    main()
