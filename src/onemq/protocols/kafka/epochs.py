"""The epoch of the leader, which is always the same: there is one broker."""

from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.identity import LEADER_EPOCH

NO_EPOCH = -1


def check_epoch(epoch: int) -> None:
    """Raises `Refused` if a client takes another epoch for the current one."""
    if epoch not in (NO_EPOCH, LEADER_EPOCH):
        raise Refused(ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > LEADER_EPOCH else ErrorCode.FENCED_LEADER_EPOCH)
