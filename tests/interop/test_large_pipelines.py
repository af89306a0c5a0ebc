"""Streams that came in large pipelines, read in small parts and named by many ids: as redis-server does it.

What comes in one pipeline is one batch of the log, which is read in parts (`core/decoded.py`).
"""

from collections.abc import Iterator
from random import Random

import pytest

from tests.interop.pair import Pair, needs_redis_server

pytestmark = needs_redis_server

ROUNDS = 8
Words = list[str | int]


class Commands:
    """Random ones to a stream with entries of large pipelines."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._ids: list[str] = []
        self._last = 1

    def adding(self) -> Iterator[Words]:
        for _ in range(self._random.choice([1, 63, 64, 200, 500])):
            self._last += self._random.choice([1, 1, 1, 7, 1_000])
            self._ids.append(f"{self._last}-{self._random.choice([0, 0, 3])}")
            yield ["XADD", "s", self._ids[-1], "n", len(self._ids)]

    def mixed(self) -> Iterator[Words]:
        for _ in range(80):
            yield self._random.choice([
                self._range, self._range_back, self._read, self._delete, self._acknowledge, self._claim, self._pending,
                self._claim_idle, self._hand_out, self._history,
            ])()  # fmt: skip
        yield self._random.choice([["XTRIM", "s", "MAXLEN", 900], ["XTRIM", "s", "MINID", self._id()], ["XLEN", "s"]])
        yield ["XPENDING", "s", "g"]

    def _id(self) -> str:
        """Mostly of an entry that there was."""
        if self._random.random() < 0.1:
            return f"{self._random.randrange(self._last)}-1"
        return self._random.choice(self._ids)

    def _some(self) -> list[str]:
        """Ids in a row, or anywhere."""
        count, at = self._random.choice([1, 3, 20, 150]), self._random.randrange(len(self._ids))
        return self._ids[at : at + count] if self._random.random() < 0.5 else [self._id() for _ in range(count)]

    def _count(self) -> int:
        return self._random.choice([1, 1, 2, 10, 100])

    def _range(self) -> Words:
        return ["XRANGE", "s", self._id(), self._random.choice(["+", self._id()]), "COUNT", self._count()]

    def _range_back(self) -> Words:
        return ["XREVRANGE", "s", self._id(), self._random.choice(["-", self._id()]), "COUNT", self._count()]

    def _read(self) -> Words:
        return ["XREAD", "COUNT", self._count(), "STREAMS", "s", self._id()]

    def _delete(self) -> Words:
        return ["XDEL", "s", *self._some()]

    def _acknowledge(self) -> Words:
        return ["XACK", "s", "g", *self._some()]

    def _claim(self) -> Words:
        return ["XCLAIM", "s", "g", self._random.choice("abc"), 0, *self._some()]

    def _pending(self) -> Words:
        return ["XPENDING", "s", "g", "IDLE", 0, self._id(), "+", self._count()]

    def _claim_idle(self) -> Words:
        return ["XAUTOCLAIM", "s", "g", self._random.choice("abc"), 0, self._id(), "COUNT", self._count()]

    def _hand_out(self) -> Words:
        return ["XREADGROUP", "GROUP", "g", self._random.choice("abc"), "COUNT", self._count(), "STREAMS", "s", ">"]

    def _history(self) -> Words:
        who, count = self._random.choice("abc"), self._count()
        return ["XREADGROUP", "GROUP", "g", who, "COUNT", count, "STREAMS", "s", self._id()]


def without_idle_times(command: Words, reply: object) -> object:
    if command[:4] == ["XPENDING", "s", "g", "IDLE"] and isinstance(reply, list):
        return [[id, who, count] for id, who, _, count in reply]
    return reply


@pytest.mark.parametrize("seed", range(6))
def test_parts_of_large_pipelines(pair: Pair, seed: int) -> None:
    commands = Commands(seed)
    pair.same("XGROUP", "CREATE", "s", "g", "0", "MKSTREAM")
    for _ in range(ROUNDS):
        for pipeline in (list(commands.adding()), list(commands.mixed())):
            told = []
            for client in (pair.ours, pair.theirs):
                sending = client.pipeline(transaction=False)
                for words in pipeline:
                    sending.execute_command(*words)
                told.append(sending.execute(raise_on_error=False))
            for words, ours, theirs in zip(pipeline, *told, strict=True):
                assert without_idle_times(words, ours) == without_idle_times(words, theirs), words
