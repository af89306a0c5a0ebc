"""OneMQ for asyncio: `async with onemq.aio.connect(url) as mq:` or `mq = await onemq.aio.connect(url)`."""

from onemq.client.broadcast import AsyncBroadcast as Broadcast
from onemq.client.client import AsyncClient as Client
from onemq.client.client import connect
from onemq.client.consumer import AsyncConsumer as Consumer
from onemq.client.producer import AsyncProducer as Producer
from onemq.client.session import AsyncSession as Session
from onemq.client.transaction import AsyncTransaction as Transaction

__all__ = ["Broadcast", "Client", "Consumer", "Producer", "Session", "Transaction", "connect"]
