"""Readers of groups: who they are and what they read."""

from onemq.core.readers import Readers


def test_readers_are_those_that_were_told_last() -> None:
    readers = Readers()
    readers.tell("g", {"one": {"t": [0, 1], "u": [0]}, "two": {"t": [2]}})
    readers.tell("h", {"three": {"t": [0]}})
    assert readers.of("t", "g") == {"one": [0, 1], "two": [2]}
    assert readers.of("u", "g") == {"one": [0]}
    readers.tell("g", {"two": {"t": [0, 1, 2]}})
    assert readers.of("t", "g") == {"two": [0, 1, 2]}
    assert readers.of("u", "g") == {}
    readers.tell("g", {})
    assert readers.of("t", "g") == {}
    assert readers.of("t", "h") == {"three": [0]}
