"""Our messages are those of another library: what we write, kafka-python reads and writes again, byte for byte."""

import importlib
import pkgutil
from random import Random

import kafka.protocol
import pytest
from kafka.protocol.api_message import ApiMessage

from onemq.protocols.kafka.schema import Message
from tests.unit.protocols.kafka.samples import all_messages, packed, sample

for module in pkgutil.walk_packages(kafka.protocol.__path__, "kafka.protocol."):
    if ".old" not in module.name and "stubs" not in module.name:
        importlib.import_module(module.name)

THEIRS = {kind.__name__: kind for kind in ApiMessage.__subclasses__()}
del THEIRS["ApiVersionsResponse"]  # it reads version 0 where there is an error
SHARED = [kind for kind in all_messages() if kind.__name__ in THEIRS]


def test_most_messages_are_compared() -> None:
    assert len(SHARED) > 70


@pytest.mark.parametrize("kind", SHARED, ids=lambda kind: kind.__name__)
def test_kafka_python_agrees(kind: type[Message]) -> None:
    theirs, random = THEIRS[kind.__name__], Random(kind.__name__)
    for version in kind.versions[: theirs.max_version + 1 - kind.versions[0]]:
        for _ in range(2):
            data = packed(sample(random, kind, version), version)
            found = theirs.decode(data, version=version)
            found._header = None  # some of its messages look at it
            assert found.encode() == data
