"""Hooks: who wants to know when messages are sent and handled. OpenTelemetry, where it is installed."""

import importlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from onemq.client.message import Message


class Hooks(Protocol):
    """Called for every message, so only where someone listens."""

    def sending(self, topic: str, headers: Mapping[str, str | bytes] | None) -> Mapping[str, str | bytes] | None:
        """The headers to send, with those added that carry the trace."""

    def handling(self, message: "Message", group: str) -> AbstractContextManager[Any]:
        """Around a handler."""


def find() -> Hooks | None:
    """The hooks of this process, if there are any."""
    try:
        telemetry = importlib.import_module("onemq.client.telemetry")
    except ImportError:
        return None
    found: Hooks | None = telemetry.hooks()
    return found
