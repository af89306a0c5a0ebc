"""Where partitions and their copies lie: on the one broker there is. Asked for anything else, Kafka's refusal."""

from collections.abc import Sequence

from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.identity import NODE_ID
from onemq.protocols.kafka.schemas.create_topics import CreatableTopic

FROM_DEFAULT = -1


def partition_count(wanted: CreatableTopic, default: int) -> int:
    """How many partitions a new topic has. Raises `Refused`."""
    if wanted.assignments:
        return _assigned(wanted)
    if wanted.replication_factor < FROM_DEFAULT or wanted.replication_factor == 0:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if wanted.num_partitions < FROM_DEFAULT or wanted.num_partitions == 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    if wanted.replication_factor > 1:
        times = wanted.replication_factor
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {times} time(s): The target replication factor of {times} cannot be "
            "reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned.",
        )
    return default if wanted.num_partitions == FROM_DEFAULT else wanted.num_partitions


def _assigned(wanted: CreatableTopic) -> int:
    if wanted.replication_factor != FROM_DEFAULT:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if wanted.num_partitions != FROM_DEFAULT:
        raise Refused(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    numbers = set()
    for assignment in wanted.assignments:
        number = assignment.partition_index
        if number in numbers:
            raise _misplaced(f"Found multiple manual partition assignments for partition {number}")
        numbers.add(number)
        check_replicas(assignment.broker_ids)
    if numbers != set(range(len(numbers))):
        raise _misplaced("partitions should be a consecutive 0-based integer sequence")
    return len(numbers)


def check_replicas(brokers: Sequence[int]) -> None:
    """Raises INVALID_REPLICA_ASSIGNMENT for anything but this broker."""
    if not brokers:
        raise _misplaced("The manual partition assignment includes an empty replica list.")
    for broker in sorted(brokers):
        if broker != NODE_ID:
            raise _misplaced(
                f"The manual partition assignment includes broker {broker}, but no such broker is registered."
            )
    if len(brokers) > 1:
        raise _misplaced(f"The manual partition assignment includes the broker {NODE_ID} more than once.")


def _misplaced(text: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, text)
