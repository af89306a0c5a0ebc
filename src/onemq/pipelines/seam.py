"""Where an archive ends and the broker goes on."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onemq.pipelines.store import Ends
    from pyspark_onemq.catalog import Extent


def offsets_after(ends: Ends, found: Iterable[Extent]) -> dict[str, dict[str, int]]:
    """For each partition at the broker the first offset that is not in the archive: topic -> partition -> offset.

    A topic that was deleted and made again since has another id, and nothing of it is in the archive yet.
    """
    after: dict[str, dict[str, int]] = {}
    for extent in found:
        archived = ends.get(extent.topic, {})
        is_same = archived.get("id") == extent.topic_id
        end = archived["partitions"].get(str(extent.number)) if is_same else None
        after.setdefault(extent.topic, {})[str(extent.number)] = extent.start if end is None else int(end)
    return after


def still_there(after: dict[str, dict[str, int]], found: Iterable[Extent]) -> dict[str, dict[str, int]]:
    """The same for a reader who takes what there is: not before the first message that the broker keeps."""
    kept = {topic: dict(offsets) for topic, offsets in after.items()}
    for extent in found:
        offsets, number = kept[extent.topic], str(extent.number)
        offsets[number] = min(max(offsets[number], extent.start), extent.end)
    return kept


def ends_in_checkpoint(text: str) -> Ends:
    """The offsets that a batch reads up to, from the file that Spark keeps of it: version, settings, one source."""
    ends: Ends = json.loads(text.splitlines()[2])
    return ends
