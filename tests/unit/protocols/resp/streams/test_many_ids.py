"""Commands that name many entries by their ids, of one pipeline: the log is read a few times, not for each id."""

import pytest

from tests.unit.protocols.resp.streams.test_pending import Told

COUNT = 300
READS_MAX = 40


class Many(Told):
    """A stream of entries that came at once, every third of which was deleted; a group has all of them in flight."""

    def __init__(self, own: bool) -> None:
        super().__init__()
        with self.broker.turn():
            words = [f"{number * number}-{number % 3}" if own else "*" for number in range(1, COUNT + 1)]
            self.ids = [self.client.ask("XADD", "s", word, "f", "v").decode() for word in words]
        self("XGROUP CREATE s g 0")
        self("XREADGROUP GROUP g a STREAMS s >")
        self.gone = self.ids[::3]
        assert self(f"XDEL s {' '.join(self.gone)}") == len(self.gone)


@pytest.mark.parametrize("own", [False, True], ids=["ids of the stream", "ids of clients"])
@pytest.mark.parametrize(
    "words",
    [
        "XCLAIM s g b 0 {ids}",
        "XAUTOCLAIM s g b 0 0 COUNT {count}",
        "XNACK s g FAIL IDS {count} {ids}",
        "XACK s g {ids}",
        "XACKDEL s g IDS {count} {ids}",
        "XACKDEL s g DELREF IDS {count} {ids}",
        "XDELEX s ACKED IDS {count} {ids}",
        "XDEL s {ids}",
    ],
)
def test_the_log_is_read_a_few_times(words: str, own: bool, reads: list[int]) -> None:
    many = Many(own)
    del reads[:]
    many(words.format(count=COUNT, ids=" ".join(many.ids)))
    assert len(reads) <= READS_MAX
    del reads[:]
    many(words.format(count=COUNT, ids=" ".join(many.ids)))
    assert len(reads) <= READS_MAX, "once more, when all of it was done"


@pytest.mark.parametrize("own", [False, True], ids=["ids of the stream", "ids of clients"])
def test_what_is_done_twice_in_one_command_counts_once(own: bool) -> None:
    many = Many(own)
    twice = " ".join([*many.ids[:3], *many.ids[:3]])
    assert many(f"XACKDEL s g IDS 6 {twice}") == [1, 1, 1, -1, -1, -1]
    assert many("XPENDING s g")[0] == COUNT - 3
