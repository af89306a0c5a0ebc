"""Replies: values to bytes, for RESP2 and RESP3.

    +OK\\r\\n    simple        $2\\r\\nhi\\r\\n   bulk       *2\\r\\n...   array
    -ERR ..     error         :42\\r\\n          integer    what RESP3 adds has a RESP2 form, too

The functions are the same in both versions; where they differ, a session asks its `Replies`.
Items of arrays, maps and sets are encoded already: a reply is joined once, from the inside out.
"""

from collections.abc import Iterable, Sequence

from onemq.errors import TooLarge
from onemq.limits import RESP_REPLY_BYTES_MAX

OK = b"+OK\r\n"
EMPTY_ARRAY = b"*0\r\n"
EMPTY_BULK = b"$0\r\n\r\n"

# Formatting is dear: a reply put together from ready-made parts costs a third of it.
SMALL_INTEGERS_END = 1000
SMALL_INTEGERS = tuple(b":%d\r\n" % value for value in range(SMALL_INTEGERS_END))
THOUSANDS = tuple(b":%d" % value for value in range(1000))
REST = tuple(b"%03d\r\n" % value for value in range(1000))
BULK_HEADERS_END = 1024
BULK_HEADERS = tuple(b"$%d\r\n" % length for length in range(BULK_HEADERS_END))
ZERO, ONE = SMALL_INTEGERS[:2]
UNITS = tuple(b"%d\r\n" % value for value in range(1000))


def simple(text: str) -> bytes:
    return b"+%b\r\n" % text.encode()


def error(text: str) -> bytes:
    """An error; `text` begins with its prefix, such as ERR. Line ends at its end go, others become blanks."""
    line = text.rstrip("\r\n").replace("\r", " ").replace("\n", " ")
    return b"-%b\r\n" % line.encode(errors="surrogateescape")


def integer(value: int) -> bytes:
    if 0 <= value < 1_000_000:
        return SMALL_INTEGERS[value] if value < SMALL_INTEGERS_END else THOUSANDS[value // 1000] + REST[value % 1000]
    return b":%d\r\n" % value


def bulk(value: bytes) -> bytes:
    length = len(value)
    if length < BULK_HEADERS_END:
        return BULK_HEADERS[length] + value + b"\r\n"
    return b"$%d\r\n%b\r\n" % (length, value)


def numbered(head: bytes, first: int, count: int) -> bytes:
    """So many replies one after the other: each is the head and a number, and the numbers count up from the first."""
    if count == 1:
        return b"%b%d\r\n" % (head, first)
    return b"".join([start + start.join(rests) for start, rests in _thousands(head, first, count)])


def _thousands(head: bytes, first: int, count: int) -> list[tuple[bytes, tuple[bytes, ...]]]:
    """How the replies of `numbered` begin and end: a thousand of them at a time differ in ready-made parts only."""
    found = []
    end = first + count
    while first < end:
        thousands, at = divmod(first, 1000)
        stop = min(at + end - first, 1000)
        start = b"%b%d" % (head, thousands) if thousands else head
        found.append((start, (REST if thousands else UNITS)[at:stop]))
        first += stop - at
    return found


def shares(head: bytes, first: int, counts: Sequence[int]) -> list[bytes]:
    """As `numbered`, for several clients with so many replies each."""
    if max(counts) == 1:
        return [start + rest for start, rests in _thousands(head, first, len(counts)) for rest in rests]
    found = []
    for count in counts:
        found.append(numbered(head, first, count))
        first += count
    return found


def bulk_run(values: Sequence[bytes]) -> bytes:
    """Bulk strings one after the other, at least one."""
    length = len(values[0])
    if len(values) == 1 or set(map(len, values)) != {length}:
        return b"".join(map(bulk, values))
    header = b"$%d\r\n" % length
    return b"".join((header, (b"\r\n" + header).join(values), b"\r\n"))


def bulk_each(values: Sequence[bytes]) -> list[bytes]:
    """Bulk strings one by one."""
    lengths = set(map(len, values))
    if len(lengths) != 1:
        return list(map(bulk, values))
    header = b"$%d\r\n" % lengths.pop()
    return [header + value + b"\r\n" for value in values]


def text(value: str) -> bytes:
    """A bulk string of text."""
    return bulk(value.encode(errors="surrogateescape"))


def array(items: Sequence[bytes]) -> bytes:
    return b"*%d\r\n%b" % (len(items), b"".join(items))


def bulks(values: Sequence[bytes]) -> bytes:
    """An array of bulk strings."""
    return array(list(map(bulk, values)))


def too_large(advice: str = "") -> TooLarge:
    """A reply that cannot be sent, and perhaps what to ask for instead."""
    return TooLarge(f"the reply would have more than {RESP_REPLY_BYTES_MAX} bytes{advice}")


def check_size(size: int) -> None:
    """To be called before something is taken that a reply tells of. Raises TooLarge if it is more than that may be:
    nobody would get it."""
    if size > RESP_REPLY_BYTES_MAX:
        raise too_large(": use a smaller count")


def check_sizes(values: Iterable[bytes | None]) -> None:
    """To be called before values are put together that a request may name again and again. Raises TooLarge if they are
    more than a reply may be."""
    if sum(map(len, filter(None, values))) > RESP_REPLY_BYTES_MAX:
        raise too_large(": ask for fewer at a time")


def lines(text: str) -> bytes:
    """An array of the lines of a text, as HELP answers."""
    return array([simple(line) for line in text.splitlines()])


class Replies:
    """The forms that differ between the versions, here in RESP2."""

    version = 2
    null = b"$-1\r\n"
    null_array = b"*-1\r\n"
    true = b":1\r\n"
    false = b":0\r\n"

    def map(self, pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
        return array([item for pair in pairs for item in pair])

    def pairs(self, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
        """An array of pairs, which RESP2 has one after the other."""
        return array([item for pair in pairs for item in pair])

    def set(self, items: Sequence[bytes]) -> bytes:
        return array(items)

    def push(self, items: Sequence[bytes]) -> bytes:
        """A message that answers no request."""
        return array(items)

    def double(self, value: float) -> bytes:
        return bulk(_decimal(value))

    def boolean(self, value: bool) -> bytes:
        return self.true if value else self.false

    def verbatim(self, value: str) -> bytes:
        """Text for people."""
        return text(value)


class Resp3Replies(Replies):
    version = 3
    null = b"_\r\n"
    null_array = b"_\r\n"
    true = b"#t\r\n"
    false = b"#f\r\n"

    def map(self, pairs: Iterable[tuple[bytes, bytes]]) -> bytes:
        items = [item for pair in pairs for item in pair]
        return b"%%%d\r\n%b" % (len(items) // 2, b"".join(items))

    def pairs(self, pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
        return array([b"*2\r\n%b%b" % pair for pair in pairs])

    def set(self, items: Sequence[bytes]) -> bytes:
        return b"~%d\r\n%b" % (len(items), b"".join(items))

    def push(self, items: Sequence[bytes]) -> bytes:
        return b">%d\r\n%b" % (len(items), b"".join(items))

    def double(self, value: float) -> bytes:
        return b",%b\r\n" % _decimal(value)

    def verbatim(self, value: str) -> bytes:
        data = value.encode(errors="surrogateescape")
        return b"=%d\r\ntxt:%b\r\n" % (len(data) + 4, data)


RESP2 = Replies()
RESP3 = Resp3Replies()


def _decimal(value: float) -> bytes:
    """17 significant digits: exact, and what Redis 7.0 sends. Infinity and not-a-number by name."""
    return b"%.17g" % value
