"""The shops: half of the orders come by a Redis client, the other half by OneMQ's SDK, at the same time."""

import json
import threading
from itertools import islice

import redis
from orders import TOPIC, Evening

import onemq

PIPELINE = 500
"""Orders in one round trip of the Redis client."""


class Shops:
    """Two senders, each on a thread of its own."""

    def __init__(self, url: str, port: int, evening: Evening) -> None:
        self._url = url
        self._port = port
        self._evening = evening
        self._threads = [threading.Thread(target=sender) for sender in (self._web, self._app)]
        self._problems: list[Exception] = []

    def open(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def are_done(self) -> bool:
        """Whether the broker has confirmed every order. Raises what went wrong."""
        if self._problems:
            raise self._problems[0]
        return not any(thread.is_alive() for thread in self._threads)

    def _web(self) -> None:
        """By redis-py: MQ.SEND in pipelines."""
        try:
            with redis.Redis(port=self._port) as client:
                orders = self._evening.of_shop("web")
                while some := list(islice(orders, PIPELINE)):
                    pipeline = client.pipeline(transaction=False)
                    for key, body in some:
                        pipeline.execute_command("MQ.SEND", TOPIC, json.dumps(body), "KEY", key, "TYPE", "json")
                    pipeline.execute()
        except Exception as problem:
            self._problems.append(problem)

    def _app(self) -> None:
        """By the SDK: its producer makes batches by itself."""
        try:
            with onemq.connect(self._url) as mq:
                producer = mq.producer(retries=20)
                pending = [producer.send_async(TOPIC, body, key=key) for key, body in self._evening.of_shop("app")]
                for each in pending:
                    each.result()
        except Exception as problem:
            self._problems.append(problem)
