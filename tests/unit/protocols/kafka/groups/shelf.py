"""A catalog of topics for tests: the number of a topic is that of its letter."""

from collections.abc import Iterator

from onemq.protocols.kafka.expressions import Expression


class Shelf:
    def __init__(self, **partitions: int) -> None:
        self.partitions = partitions
        self.version = 1

    def put(self, **partitions: int) -> None:
        self.partitions |= partitions
        self.version += 1

    def named(self, name: str) -> tuple[int, int] | None:
        return (ord(name), self.partitions[name]) if name in self.partitions else None

    def matching(self, expression: Expression) -> Iterator[str]:
        return (name for name in self.partitions if expression.fullmatch(name))

    def name_of(self, number: int) -> str | None:
        return chr(number)

    def id_of(self, number: int) -> bytes:
        return number.to_bytes(16, "big")

    def number_of(self, id: bytes) -> int | None:
        return int.from_bytes(id, "big")
