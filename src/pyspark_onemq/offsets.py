"""How far a stream is: an offset for each partition, with the id of each topic.

As JSON, which Spark keeps in the checkpoint: `{"orders": {"id": 3, "partitions": {"0": 23, "1": 5}}}`. A topic that is
made again under the same name has another id. Always in the same order, because Spark compares the text.
"""

from dataclasses import dataclass
from typing import Any

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(frozen=True, slots=True)
class Offsets:
    """The next offset to read of each partition."""

    next: dict[Place, int]
    ids: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        shown: dict[str, Any] = {topic: {"id": self.ids[topic], "partitions": {}} for topic, _ in sorted(self.next)}
        for (topic, number), offset in sorted(self.next.items()):
            shown[topic]["partitions"][str(number)] = offset
        return shown

    @classmethod
    def from_json(cls, shown: dict[str, Any]) -> "Offsets":
        places = {
            (topic, int(number)): int(offset)
            for topic, each in shown.items()
            for number, offset in each["partitions"].items()
        }
        return cls(places, {topic: int(each["id"]) for topic, each in shown.items()})
