"""What the examples share: a broker to talk to, and topics of their own."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import onemq


@contextmanager
def broker() -> Iterator[str]:
    """The address of the broker that ONEMQ_URL names; else of one inside this process, in a temporary folder."""
    given = os.environ.get("ONEMQ_URL")
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="onemq-example-") as folder, onemq.Broker(folder) as own:
        yield own.url


def own(name: str) -> str:
    """A name that nobody else uses, so that an example disturbs nobody on a shared broker."""
    return f"{name}-{uuid.uuid4().hex[:6]}"
