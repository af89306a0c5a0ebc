"""What names in a filter mean: headers, fields of the message, and what JMS and RocketMQ call those."""

from dataclasses import dataclass

from onemq.core.filter.tree import Name
from onemq.errors import InvalidArgument
from onemq.message import BORN, CORRELATION, EXPIRES, ID, PRIORITY, PRIORITY_DEFAULT, REPLY_TO, TAG


@dataclass(frozen=True, slots=True)
class Field:
    """Where a value comes from. All are text or missing, those `numeric` aside, which are numbers always."""

    header: bytes | None = None
    record: int | None = None
    """The place in the record that is taken where there is no header, or the header is missing."""
    default: int | None = None
    """The number that is taken where the header is missing."""
    is_id: bool = False
    """The id: of the header, else of the place of the message."""

    @property
    def numeric(self) -> bool:
        return self.record == _TIME or self.default is not None


_TIME, _KEY = 1, 2
_STORED = Field(record=_TIME)
_FIELDS = {
    "tag": Field(TAG),
    "key": Field(record=_KEY),
    "id": Field(ID, is_id=True),
    "priority": Field(PRIORITY, default=PRIORITY_DEFAULT),
    "stored": _STORED,
    "born": Field(BORN),
    "expires": Field(EXPIRES),
    "correlation": Field(CORRELATION),
    "reply_to": Field(REPLY_TO),
    "TAGS": Field(TAG),
    "KEYS": Field(record=_KEY),
    "JMSType": Field(TAG),
    "JMSPriority": Field(PRIORITY, default=PRIORITY_DEFAULT),
    "JMSTimestamp": Field(BORN, record=_TIME),
    "JMSExpiration": Field(EXPIRES),
    "JMSCorrelationID": Field(CORRELATION),
    "JMSReplyTo": Field(REPLY_TO),
    "JMSMessageID": Field(ID, is_id=True),
}
_REFUSED = {
    "JMSDeliveryMode": "a stored message does not tell it",
    "JMSRedelivered": "it changes from delivery to delivery",
    "JMSDestination": "a filter belongs to one topic",
    "deliveries": "it changes from delivery to delivery; a header of that name is written in double quotes",
}


def field_of(name: Name) -> Field:
    """What the name means. Raises `InvalidArgument` for those that cannot be filtered by."""
    if not name.quoted:
        if name.name in _REFUSED:
            raise InvalidArgument(f"a filter cannot use {name.name}: {_REFUSED[name.name]}")
        if name.name in _FIELDS:
            return _FIELDS[name.name]
    return Field(name.name.encode("utf-8", "surrogatepass"))
