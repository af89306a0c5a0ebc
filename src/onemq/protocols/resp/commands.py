"""The command table: one line for each family of commands."""

from collections.abc import Iterable

from onemq.protocols.resp import (
    administration,
    blocking,
    client,
    combining,
    configuration,
    connection,
    expiry,
    hashes,
    info,
    introspection,
    keys,
    lists,
    mq,
    objects,
    pubsub,
    scanning,
    score_ranges,
    scripts,
    sets,
    sorted_sets,
    streams,
    strings,
    transactions,
)
from onemq.protocols.resp.command import Command

COMMANDS: tuple[Command, ...] = (
    *connection.COMMANDS,
    *client.COMMANDS,
    *introspection.COMMANDS,
    *info.COMMANDS,
    *configuration.COMMANDS,
    *administration.COMMANDS,
    *transactions.COMMANDS,
    *pubsub.COMMANDS,
    *keys.COMMANDS,
    *expiry.COMMANDS,
    *objects.COMMANDS,
    *strings.COMMANDS,
    *lists.COMMANDS,
    *blocking.COMMANDS,
    *hashes.COMMANDS,
    *sets.COMMANDS,
    *sorted_sets.COMMANDS,
    *score_ranges.COMMANDS,
    *combining.COMMANDS,
    *scanning.COMMANDS,
    *streams.COMMANDS,
    *mq.COMMANDS,
    *scripts.COMMANDS,
)


def by_name(rows: Iterable[Command]) -> dict[bytes, Command]:
    """The rows under their names as clients mostly write them: all small or all capital letters."""
    table: dict[bytes, Command] = {}
    for row in rows:
        assert row.name.encode() not in table, f"two rows for {row.name}"
        table[row.name.encode()] = table[row.name.upper().encode()] = row
    return table
