"""The rows of an answer: one for each partition that there is something to say of."""

from onemq.core.whole import Share
from onemq.errors import OneMQError
from onemq.protocols.kafka.errors import code_of
from onemq.protocols.kafka.schemas import share_acknowledge, share_fetch
from onemq.protocols.kafka.sharing.sessions import Place

_COUNT_MAX = (1 << 15) - 1


class Rows:
    """What is told of partitions: what was acquired, and what became of acknowledgements."""

    def __init__(self) -> None:
        self._rows: dict[Place, share_fetch.PartitionData] = {}
        self.failed = False
        """Whether a partition cannot be fetched."""

    def settled(self, place: Place, error: OneMQError | None) -> None:
        """What was said of messages of a partition is done, or refused."""
        row = self._row(place)
        if error is not None:
            row.acknowledge_error_code, row.acknowledge_error_message = code_of(error), error.text

    def named(self, place: Place) -> None:
        """The answer has a row for the partition in any case."""
        self._row(place)

    def refused(self, place: Place, error: OneMQError) -> None:
        """The partition cannot be fetched."""
        row = self._row(place)
        row.error_code, row.error_message = code_of(error), error.text
        self.failed = True

    def acquired(self, topic_id: bytes, share: Share) -> int:
        """Messages of a partition are the member's now. Returns how many."""
        row = self._row((topic_id, share.number))
        row.records = share.batches
        row.acquired_records = [
            share_fetch.AcquiredRecords(first, last, min(count, _COUNT_MAX)) for first, last, count in share.runs
        ]
        return sum(last - first + 1 for first, last, _ in share.runs)

    def _row(self, place: Place) -> share_fetch.PartitionData:
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = share_fetch.PartitionData(place[1])
        return row

    def fetched(self, lock_ms: int) -> share_fetch.ShareFetchResponse:
        """The answer to a ShareFetch."""
        topics: dict[bytes, list[share_fetch.PartitionData]] = {}
        for (topic_id, _), row in self._rows.items():
            topics.setdefault(topic_id, []).append(row)
        responses = [share_fetch.ShareFetchableTopicResponse(topic_id, rows) for topic_id, rows in topics.items()]
        return share_fetch.ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms, responses=responses)

    def acknowledged(self, lock_ms: int) -> share_acknowledge.ShareAcknowledgeResponse:
        """The answer to a ShareAcknowledge."""
        topics: dict[bytes, list[share_acknowledge.PartitionData]] = {}
        for (topic_id, number), row in self._rows.items():
            told = share_acknowledge.PartitionData(number, row.acknowledge_error_code, row.acknowledge_error_message)
            topics.setdefault(topic_id, []).append(told)
        responses = [share_acknowledge.ShareAcknowledgeTopicResponse(id, rows) for id, rows in topics.items()]
        return share_acknowledge.ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_ms, responses=responses)
