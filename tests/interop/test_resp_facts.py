"""COMMAND tells of the commands on keys what Redis tells of them."""

from typing import Any

import pytest

from onemq.protocols.resp import (
    blocking,
    combining,
    expiry,
    hashes,
    keys,
    lists,
    scanning,
    score_ranges,
    sets,
    sorted_sets,
    strings,
)
from tests.interop.pair import Pair, needs_redis_server, reply
from tests.interop.script import unordered

pytestmark = needs_redis_server

FAMILIES = (
    blocking, combining, expiry, hashes, keys, lists, scanning, score_ranges, sets, sorted_sets, strings
)  # fmt: skip
NAMES = [row.name for family in FAMILIES for row in family.COMMANDS]


def as_dict(facts: Any) -> dict[bytes, Any]:
    """RESP2 has maps as flat arrays."""
    return facts if isinstance(facts, dict) else dict(zip(facts[::2], facts[1::2], strict=True))


def documented(facts: Any) -> dict[bytes, Any]:
    """What we tell: not since when each argument is there, which key specification it belongs to, the history."""
    known = as_dict(facts)
    told = {key: known[key] for key in (b"summary", b"since", b"group")}
    told[b"summary"] = told[b"summary"].rstrip(b".")
    return {**told, b"arguments": [argument(each) for each in known.get(b"arguments", [])]}


def argument(facts: Any) -> dict[bytes, Any]:
    known = as_dict(facts)
    told = {key: known[key] for key in (b"name", b"type", b"token") if key in known}
    told[b"flags"] = unordered(known.get(b"flags", []))
    return {**told, b"arguments": [argument(each) for each in known.get(b"arguments", [])]}


def details(answer: Any) -> Any:
    return [
        (found, arity, unordered(flags), first, last, step, unordered(categories), unordered(tips))
        for found, arity, flags, first, last, step, categories, tips, *_ in answer
    ]


def test_info_and_docs(pair: Pair) -> None:
    pair.same("COMMAND", "INFO", *NAMES, alike=details)
    ours, theirs = (as_dict(reply(client, "COMMAND", "DOCS", *NAMES)) for client in (pair.ours, pair.theirs))
    assert {name: documented(facts) for name, facts in ours.items()} == {
        name: documented(facts) for name, facts in theirs.items()
    }


@pytest.mark.parametrize(
    "line",
    [
        "GET k", "MSET a 1 b 2", "DEL a b c", "BLPOP a b 0", "LMOVE a b LEFT LEFT", "LMPOP 2 a b LEFT",
        "BLMPOP 0 1 a LEFT", "ZUNION 2 a b WITHSCORES", "ZUNIONSTORE d 2 a b", "SINTERCARD 1 a LIMIT 3",
        "BZMPOP 0 2 a b MIN", "RENAME a b",
        "SCAN 0", "RANDOMKEY x", "LMPOP 3 a b LEFT", "LMPOP x a LEFT", "ZUNIONSTORE d 0 a", "SUNIONSTORE d a b",
    ],
)  # fmt: skip
def test_keys_of_a_request(pair: Pair, line: str) -> None:
    pair.same("COMMAND", "GETKEYS", *line.split())
