"""MQ.ACK, MQ.NACK, MQ.REJECT, MQ.RELEASE, MQ.EXTEND: what became of messages that were handed out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from onemq.core.core import Core
from onemq.core.cursor import Cursor
from onemq.core.group import Group
from onemq.protocols.resp import replies
from onemq.protocols.resp.mq.arguments import Words
from onemq.protocols.resp.mq.places import existing_group
from onemq.protocols.resp.mq.receipts import Offsets, all_wait, delivered

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_REASON = "the consumer failed"
_REJECTED = "the consumer rejected it"


def ack(session: "RespSession", request: list[bytes]) -> bytes:
    core = session.service.core
    core.check_writable()
    group = existing_group(session, request[1], request[2])
    done = 0
    for cursor, offsets in delivered(group, request[3:]).items():
        core.groups.acknowledge_known(group, cursor.partition.number, offsets)
        done += len(offsets)
    return replies.integer(done)


def check(session: "RespSession", request: list[bytes]) -> bool:
    """Raises what `ack` surely would, and changes nothing. Says whether all of the messages wait for it."""
    return all_wait(existing_group(session, request[1], request[2]), request[3:])


def nack(session: "RespSession", request: list[bytes]) -> bytes:
    receipts, words = _apart(request, "MQ.NACK")
    delay_ms, reason = None, _REASON
    while words:
        match words.option():
            case "DELAY":
                delay_ms = words.duration_ms("DELAY")
            case "REASON":
                reason = words.value("REASON").decode(errors="replace")
            case other:
                raise words.unknown(other)
    return _settle(
        session, request, receipts,
        lambda core, group, cursor, offsets: core.groups.fail(
            group, cursor.partition.number, offsets, reason, delay_ms
        ),
    )  # fmt: skip


def reject(session: "RespSession", request: list[bytes]) -> bytes:
    receipts, words = _apart(request, "MQ.REJECT")
    reason = _REJECTED
    while words:
        match words.option():
            case "REASON":
                reason = words.value("REASON").decode(errors="replace")
            case other:
                raise words.unknown(other)

    def bury(core: Core, group: Group, cursor: Cursor, offsets: Offsets) -> int:
        return sum(core.groups.reject(group, cursor.partition.number, offset, reason) for offset in offsets)

    return _settle(session, request, receipts, bury)


def release(session: "RespSession", request: list[bytes]) -> bytes:
    return _settle(
        session, request, request[3:],
        lambda core, group, cursor, offsets: core.groups.give_back(group, cursor.partition.number, offsets),
    )  # fmt: skip


def extend(session: "RespSession", request: list[bytes]) -> bytes:
    return _settle(
        session, request, request[3:],
        lambda core, group, cursor, offsets: core.groups.extend(group, cursor.partition.number, offsets),
    )  # fmt: skip


def _apart(request: list[bytes], command: str) -> tuple[list[bytes], Words]:
    """The receipts, and the options behind them."""
    at = 3
    while at < len(request) and request[at][:1].isdigit():
        at += 1
    words = Words(request, at, command)
    if at == 3:
        raise words.problem("after the group come the receipts, as in 0:42 or 0:42-99")
    return request[3:at], words


def _settle(
    session: "RespSession", request: list[bytes], receipts: list[bytes],
    act: Callable[[Core, Group, Cursor, Offsets], int],
) -> bytes:  # fmt: skip
    core = session.service.core
    core.check_writable()
    group = existing_group(session, request[1], request[2])
    named = delivered(group, receipts)
    return replies.integer(sum(act(core, group, cursor, offsets) for cursor, offsets in named.items()))
