"""How a line of usage becomes arguments."""

from onemq.protocols.resp.command import Argument
from onemq.protocols.resp.usage import arguments


def test_plain_arguments_and_their_types() -> None:
    assert arguments("") == ()
    assert arguments("key value count:integer pattern") == (
        Argument("key", "key"), Argument("value"), Argument("count", "integer"), Argument("pattern", "pattern")
    )  # fmt: skip


def test_what_may_be_left_out_or_repeated() -> None:
    assert arguments("key ... [value] [more ...]") == (
        Argument("key", "key", flags=("multiple",)),
        Argument("value", flags=("optional",)),
        Argument("more", flags=("optional", "multiple")),
    )


def test_words_that_stand_for_themselves_or_before_an_argument() -> None:
    assert arguments("[NX] [change=CH] COUNT count:integer") == (
        Argument("nx", "pure-token", "NX", ("optional",)),
        Argument("change", "pure-token", "CH", ("optional",)),
        Argument("count", "integer", "COUNT"),
    )


def test_choices_and_blocks() -> None:
    assert arguments("where=(LEFT | EX seconds:integer) [LIMIT pair={offset:integer count} ...]") == (
        Argument("where", "oneof", arguments=(
            Argument("left", "pure-token", "LEFT"), Argument("seconds", "integer", "EX"),
        )),
        Argument("pair", "block", "LIMIT", ("optional", "multiple"), (
            Argument("offset", "integer"), Argument("count"),
        )),
    )  # fmt: skip
