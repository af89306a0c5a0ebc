"""What Kafka calls a topic's name, and what it says about others."""

import re

from onemq.limits import NAME_BYTES_MAX
from onemq.protocols.kafka.errors import ErrorCode, Refused

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_kafka_name(name: str) -> None:
    """Raises INVALID_TOPIC_EXCEPTION in Kafka's words."""
    if not name:
        problem = "the empty string is not allowed"
    elif name in (".", ".."):
        problem = f"'{name}' is not allowed"
    elif len(name) > NAME_BYTES_MAX:
        problem = f"the length of '{name}' is longer than the max allowed length {NAME_BYTES_MAX}"
    elif not _LEGAL.fullmatch(name):
        problem = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return
    raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
