"""Where a pipeline's rows go: a topic, Parquet files, or the screen; each batch once, however often it is run."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onemq.errors import InvalidArgument
from onemq.pipelines.broker import Broker
from onemq.pipelines.summary import show_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TOPIC = "topic:"
CONSOLE = "console"
CONSOLE_ROWS = 100
"""So many rows of a batch are printed."""


@dataclass(frozen=True, slots=True)
class Outlet:
    """`topic:NAME`, `console`, or else a path or URL for Parquet."""

    kind: str
    name: str

    def write(self, broker: Broker, rows: DataFrame, unit: str, number: int) -> None:
        """Writes the rows of a batch; for a topic they are messages (`as_messages`, copies.py).

        What was written under the same unit and number before is not written again
        (topics), or replaced (files)."""
        if self.kind == TOPIC:
            kind = {} if "headers" in rows.columns else {"contentType": "json"}
            broker.write(rows, topic=self.name, unit=unit, unitNumber=number, **kind).save()
        elif self.kind == CONSOLE:
            show_rows([row.asDict(recursive=True) for row in rows.limit(CONSOLE_ROWS).collect()], rows.columns)
            sys.stdout.flush()
        else:
            rows.write.mode("overwrite").parquet(f"{self.name}/query={unit.rpartition(':')[2]}/batch={number}")


def parse_outlet(text: str) -> Outlet:
    """Raises `InvalidArgument`."""
    if text.startswith(TOPIC) and text != TOPIC:
        return Outlet(TOPIC, text.removeprefix(TOPIC))
    if text == CONSOLE:
        return Outlet(CONSOLE, CONSOLE)
    if "/" in text:
        return Outlet("path", text.rstrip("/"))
    raise InvalidArgument(f"{text!r} is no place to write to: write topic:NAME, console, or a path or URL with a /")


def as_messages(rows: DataFrame, key: list[str] | None = None) -> DataFrame:
    """A row as a JSON body. The key is made of the columns that are named, joined with `|`."""
    from pyspark.sql import functions as F

    body = F.to_json(F.struct(*rows.columns), {"ignoreNullFields": "false"}).alias("value")
    return rows.select(body, F.concat_ws("|", *key).alias("key")) if key else rows.select(body)
