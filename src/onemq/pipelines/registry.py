"""The pipelines by name. A new one is a module beside this one and a line here."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

PIPELINES = {
    "archive": "Topics to Parquet, each message exactly once.",
    "compact": "Many small files of an archive to few large ones, with the same rows.",
    "window": "Counts and sums over windows of event time.",
    "reconcile": "What was sent against what was handled: lost, duplicated, out of order.",
    "drain": "A backlog spread over a topic of more partitions.",
    "dead-letters": "Dead letters by reason, topic, group and time; send them again.",
    "replay": "A time range of an archive into a topic.",
    "dedupe": "A topic without repeated messages of the same business key.",
}
"""Name, and what it does on one line. The command line lists them in this order."""


def command_of(name: str) -> Callable[..., Any]:
    """The function `command` of a pipeline's module, whose parameters are the options of its command line."""
    function: Callable[..., Any] = import_module(module_name(name)).command
    return function


def module_name(name: str) -> str:
    """`dead-letters` is in `onemq.pipelines.dead_letters`."""
    return f"onemq.pipelines.{name.replace('-', '_')}"
