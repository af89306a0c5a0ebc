"""Requests and answers with asyncio: a price service with two instances, and a shop that asks a hundred things at once.

What a handler returns is the answer; whoever asked gets it, in whatever order the answers come.

    python examples/request_reply.py
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass

from here import broker, own

import onemq
import onemq.aio


@dataclass
class Question:
    article: str
    pieces: int


PRICES = {"chair": 40, "table": 90, "lamp": 25}


def start_service(mq: onemq.aio.Client, topic: str, name: str, answered: Counter[str]) -> None:
    @mq.consumer(topic, group="prices", concurrency=20, prefetch=20)
    async def price(question: Question) -> dict[str, object]:
        await asyncio.sleep(random.uniform(0, 0.02))
        answered[name] += 1
        return {"article": question.article, "total": PRICES[question.article] * question.pieces}


async def ask(mq: onemq.aio.Client, topic: str, question: Question) -> int:
    answer = await mq.request(topic, question, timeout="10s")
    reply = answer.json()
    assert reply["article"] == question.article
    return int(reply["total"])


async def main() -> None:
    topic, answered = own("prices"), Counter[str]()
    with broker() as url:
        async with (
            onemq.aio.connect(url) as shop,
            onemq.aio.connect(url) as one,
            onemq.aio.connect(url) as two,
        ):
            for name, client in (("one", one), ("two", two)):
                start_service(client, topic, name, answered)
                await client.start()
            questions = [Question(random.choice(list(PRICES)), number) for number in range(100)]
            totals = await asyncio.gather(*(ask(shop, topic, question) for question in questions))
    for name, count in sorted(answered.items()):
        print(f"   instance {name} answered {count}")
    assert totals == [PRICES[question.article] * question.pieces for question in questions]
    print(f"{len(totals)} questions, {len(totals)} right answers.")


if __name__ == "__main__":
    asyncio.run(main())
