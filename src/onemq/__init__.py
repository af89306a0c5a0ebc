"""OneMQ: one message queue for Python and data teams.

    with onemq.connect("onemq://localhost:6379") as mq:
        mq.producer().send("orders", {"orderno": 10001}, key="10001")

`onemq.aio` is the same for asyncio, `onemq.testing` a broker for tests, `onemq.errors` what can be raised. Names are
loaded when they are first asked for, so that `import onemq` costs nothing.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:  # for checkers of types only; `typing` itself takes longer to load than all of this
    from onemq import aio as aio
    from onemq.client.message import Message as Message
    from onemq.client.once import once as once
    from onemq.client.outgoing import Outgoing as Outgoing
    from onemq.client.receipt import Pending as Pending
    from onemq.client.receipt import Receipt as Receipt
    from onemq.client.retry import Backoff as Backoff
    from onemq.client.retry import Immediate as Immediate
    from onemq.client.retry import Ladder as Ladder
    from onemq.client.retry import Reject as Reject
    from onemq.client.retry import Retry as Retry
    from onemq.client.sync import Client as Client
    from onemq.client.sync import connect as connect
    from onemq.client.sync.consumer import Consumer as Consumer
    from onemq.client.sync.producer import Producer as Producer
    from onemq.client.sync.session import Session as Session
    from onemq.client.transaction import COMMIT as COMMIT
    from onemq.client.transaction import ROLLBACK as ROLLBACK
    from onemq.client.transaction import UNKNOWN as UNKNOWN
    from onemq.client.unit import Unit as Unit
    from onemq.embedded import Broker as Broker
    from onemq.errors import OneMQError as OneMQError

__version__ = "0.1.0"

_PLACES = {
    "Backoff": "onemq.client.retry",
    "Broker": "onemq.embedded",
    "COMMIT": "onemq.client.transaction",
    "Client": "onemq.client.sync",
    "Consumer": "onemq.client.sync.consumer",
    "Immediate": "onemq.client.retry",
    "Ladder": "onemq.client.retry",
    "Message": "onemq.client.message",
    "OneMQError": "onemq.errors",
    "Outgoing": "onemq.client.outgoing",
    "Pending": "onemq.client.receipt",
    "Producer": "onemq.client.sync.producer",
    "ROLLBACK": "onemq.client.transaction",
    "Receipt": "onemq.client.receipt",
    "Reject": "onemq.client.retry",
    "Retry": "onemq.client.retry",
    "Session": "onemq.client.sync.session",
    "UNKNOWN": "onemq.client.transaction",
    "Unit": "onemq.client.unit",
    "connect": "onemq.client.sync",
    "once": "onemq.client.once",
}
_MODULES = ("aio", "errors", "testing")


def __getattr__(name: str) -> object:
    import importlib

    if name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    elif name in _MODULES:
        value = importlib.import_module(f"onemq.{name}")
    else:
        raise AttributeError(f"module 'onemq' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, *_MODULES})
