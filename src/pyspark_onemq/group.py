"""The position of a query, told to the broker as that of a group, so that its lag shows beside other consumers'."""

from pyspark_onemq.connection import Connection, Refused, Word
from pyspark_onemq.offsets import Offsets


class Group:
    """Remembers what it has told, and tells only what is new."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told: dict[str, dict[int, int]] = {}

    def report(self, connection: Connection, position: Offsets) -> None:
        """Everything below `position` is done."""
        news: dict[str, dict[int, int]] = {}
        for (topic, number), offset in position.next.items():
            news.setdefault(topic, {})[number] = offset
        for topic, offsets in news.items():
            if self._told.get(topic) != offsets:
                self._mark(connection, topic, offsets)
                self._told[topic] = offsets

    def _mark(self, connection: Connection, topic: str, offsets: dict[int, int]) -> None:
        words: list[Word] = [word for place in sorted(offsets.items()) for word in place]
        try:
            connection.insist("MQ.GROUP", "MARK", topic, self._name, *words)
        except Refused as refused:
            if refused.word != "NOTOPIC":  # gone: that is for the reader to judge
                raise
