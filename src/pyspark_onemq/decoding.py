"""Record batches as Arrow."""

import pyarrow

from onemq.log.records import decode as decode_batch
from onemq.log.records import walk


def decode(
    batches: bytes, first: int, end: int, topic: str, partition: int, topic_id: int, schema: pyarrow.Schema
) -> pyarrow.RecordBatch:
    """The messages with offsets from `first` up to, and without, `end`, with the columns of the schema."""
    rows = []
    for position, header in walk(batches):
        for offset, time_ms, key, value, headers in decode_batch(batches, position, header):
            if first <= offset < end:
                own = {name: text for name, text in headers if name.startswith(b"_")}
                id = own.get(b"_id")
                rows.append({
                    "key": key, "value": value, "topic": topic, "partition": partition, "offset": offset,
                    "timestamp": time_ms * 1000,
                    "id": f"{topic_id:x}-{partition:x}-{offset:x}" if id is None else str(id, "utf-8"),
                    "tag": str(own[b"_tag"] or b"", "utf-8") if b"_tag" in own else None,
                    "headers": [{"key": name.decode(), "value": text} for name, text in headers if name not in own],
                })  # fmt: skip
    columns = [pyarrow.array([row[field.name] for row in rows], field.type) for field in schema]
    return pyarrow.RecordBatch.from_arrays(columns, schema=schema)
