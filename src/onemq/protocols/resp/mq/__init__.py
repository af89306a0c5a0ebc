"""MQ.*: OneMQ's own commands, the whole message API for everything that speaks RESP.

    topics.py      MQ.TOPIC                              places.py      topics and groups by name
    sending.py     MQ.SEND MQ.SENDMANY                   arguments.py   the words of requests
    appending.py   MQ.APPEND MQ.PRODUCER                 messages.py    messages as replies and pushes
    receiving.py   MQ.RECEIVE MQ.SUBSCRIBE ...           subscription.py, connection.py, members.py   who receives
    settling.py    MQ.ACK MQ.NACK MQ.REJECT ...          receipts.py    what messages are acknowledged by
    groups.py      MQ.GROUP                              group_settings.py
    pending.py     MQ.PENDING MQ.CLAIM                   schedule.py    MQ.SCHEDULE
    dead.py        MQ.DEAD                               sweep.py       looking at whole topics, over several turns
    transactions.py  MQ.TX                               searching.py   MQ.SEARCH  tracing.py  MQ.TRACE
    reading.py     MQ.READ                               waiting.py     replies that come later
    fetching.py    MQ.FETCH                              offsets.py     MQ.OFFSETS
    facts.py, help.py                                    what COMMAND DOCS and MQ.HELP tell
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from onemq.errors import OneMQError
from onemq.protocols.resp.command import Check, Command, Handler, container
from onemq.protocols.resp.errors import CommandError, mq_error_line
from onemq.protocols.resp.mq import (
    appending,
    dead,
    fetching,
    groups,
    offsets,
    pending,
    reading,
    receiving,
    schedule,
    searching,
    sending,
    settling,
    topics,
    tracing,
    transactions,
)
from onemq.protocols.resp.mq.help import FACTS, Fact, help_
from onemq.protocols.resp.usage import arguments

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_SINCE = "0.3.0"
_HANDLERS: Mapping[str, Handler] = {
    "topic create": topics.create,
    "topic alter": topics.alter,
    "topic info": topics.info,
    "topic list": topics.list_,
    "topic delete": topics.delete,
    "send": sending.send,
    "sendmany": sending.send_many,
    "append": appending.append,
    "producer": appending.producer,
    "receive": receiving.receive,
    "subscribe": receiving.subscribe,
    "credit": receiving.credit,
    "unsubscribe": receiving.unsubscribe,
    "ack": settling.ack,
    "nack": settling.nack,
    "reject": settling.reject,
    "release": settling.release,
    "extend": settling.extend,
    "pending": pending.pending,
    "claim": pending.claim,
    "tx commit": transactions.commit,
    "tx rollback": transactions.rollback,
    "tx unit": transactions.unit,
    "tx unknown": transactions.unknown,
    "tx listen": transactions.listen,
    "tx unlisten": transactions.unlisten,
    "tx list": transactions.list_,
    "group create": groups.create,
    "group alter": groups.alter,
    "group info": groups.info,
    "group list": groups.list_,
    "group backlog": groups.backlog,
    "group seek": groups.seek,
    "group mark": groups.mark,
    "group reset": groups.reset,
    "group delete": groups.delete,
    "schedule list": schedule.list_,
    "schedule get": schedule.get,
    "schedule cancel": schedule.cancel,
    "schedule move": schedule.move,
    "dead list": dead.list_,
    "dead get": dead.get,
    "dead replay": dead.replay,
    "dead purge": dead.purge,
    "read": reading.read,
    "search": searching.search,
    "trace": tracing.trace,
    "fetch": fetching.fetch,
    "offsets": offsets.offsets,
    "help": help_,
}
_CHECKS: Mapping[str, Check] = {
    "send": sending.check,
    "ack": settling.check,
}
_CONTAINERS = {
    "topic": "Make, change, show and delete topics",
    "group": "Make, change, show, move and delete groups",
    "tx": "Commit and roll back transactions, and be asked about them",
    "schedule": "Show, cancel and move messages that are due later",
    "dead": "Show, send again and remove messages that failed for good",
}


_R = TypeVar("_R")


def _telling(handler: Callable[["RespSession", list[bytes]], _R]) -> Callable[["RespSession", list[bytes]], _R]:
    """The handler, with errors worded as these commands word them."""

    def tell(session: "RespSession", request: list[bytes]) -> _R:
        try:
            return handler(session, request)
        except OneMQError as error:
            raise CommandError(mq_error_line(error)) from None

    return tell


def _row(name: str, fact: Fact) -> Command:
    keys = (fact.topic_at, -1 if "topic ..." in fact.usage else fact.topic_at, 1) if fact.topic_at else (0, 0, 0)
    return Command(
        f"mq.{name.replace(' ', '|')}", fact.arity, _telling(_HANDLERS[name]), fact.summary, _SINCE, "mq",
        flags=fact.flags, keys=keys, arguments=arguments(fact.usage),
        check=_telling(_CHECKS[name]) if name in _CHECKS else None,
    )  # fmt: skip


def _commands() -> tuple[Command, ...]:
    rows = {name: _row(name, fact) for name, fact in FACTS.items()}
    plain = [row for name, row in rows.items() if " " not in name]
    containers = []
    for name, summary in _CONTAINERS.items():
        inner = [row for each, row in rows.items() if each.startswith(f"{name} ")]
        containers.append(container(f"mq.{name}", summary, _SINCE, "mq", inner))
    return (*containers, *plain)


COMMANDS = _commands()
