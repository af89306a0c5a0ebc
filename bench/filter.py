"""Filters: what reading a topic through a group costs with one, beside reading all of it."""

import time
from collections.abc import Iterator
from random import Random

from bench.broker import fresh_core, turn_done
from bench.report import Result
from onemq.core.core import Core
from onemq.core.filter import compile_filter
from onemq.core.receive import Handed
from onemq.core.search import Query
from onemq.core.start import FIRST
from onemq.core.topics import TopicConfig
from onemq.message import TAG

BODY = b"x" * 100
FILTER = "tag IN ('created', 'paid') AND amount > 100"
_PER_TURN = 1_000
_RUNS = 3


def filtered(parent: str | None, quick: bool) -> Iterator[Result]:
    """Reads and acknowledges everything, by turns without and with a filter; the best run of each counts."""
    messages = 50_000 if quick else 1_000_000
    compile_filter(FILTER)  # loading the parser is not what is measured
    with fresh_core(parent) as core:
        _fill(core, messages)
        plain_s, filtered_s = float("inf"), float("inf")
        for run in range(_RUNS):
            plain_s = min(plain_s, _read(core, f"all-{run}", None))
            filtered_s = min(filtered_s, _read(core, f"some-{run}", FILTER))
        name = f"reading {messages:,} messages with 3 headers, unfiltered"
        yield Result(name, messages / plain_s, "messages/s", None)
        yield Result("the same with a filter", messages / filtered_s, "messages/s", None)
        yield Result("time with the filter, of that without", filtered_s / plain_s, "", 2, False)
        for name, query in _searches():
            yield Result(f"search {name}", messages / _search(core, query), "messages/s", None)


def _fill(core: Core, messages: int) -> None:
    random = Random(1)
    core.tick(1)
    core.topics.create("orders", 1, TopicConfig(flush="async"))
    for turn in range(messages // _PER_TURN):
        core.tick(2 + turn)
        for _ in range(_PER_TURN):
            tag = random.choice((b"created", b"paid", b"sent"))
            amount = b"%d" % random.randrange(1_000)
            core.send("orders", BODY, headers=((TAG, tag), (b"region", b"emea"), (b"amount", amount)))
        core.settle()
        core.flush(turn_done)


def _read(core: Core, name: str, filter: str | None) -> float:
    """Seconds until a group has acknowledged everything."""
    core.create_group("orders", name, FIRST, filter=filter)
    group = core.groups.get("orders", name)
    got: list[Handed] = []
    started = time.process_time()
    now_ms = core.stage.now_ms
    while group.lag:
        now_ms += 1
        core.tick(now_ms)
        got.clear()
        core.receiving.receive(group, "bench", _PER_TURN, got.extend)
        if got:
            core.groups.acknowledge_known(group, 0, [record[0] for _, record, _ in got])
        core.settle()
        core.flush(turn_done)
    return time.process_time() - started


def _searches() -> list[tuple[str, Query]]:
    return [
        ("for a key that nobody has", Query(key=b"nobody")),
        ("by a filter that nothing matches", Query(filter=compile_filter("amount > 1000"))),
    ]


def _search(core: Core, query: Query) -> float:
    """Seconds until a search has looked at everything."""
    done: list[object] = []
    started = time.process_time()
    core.searching.search("orders", query, done.append)
    while not done:
        core.scans.tick(core.stage.now_ms)
    return time.process_time() - started
