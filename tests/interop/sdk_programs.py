"""Programs that tests run, and kill: `python -m tests.interop.sdk_programs <name> <url> ...`"""

import os
import sys
import threading
import time

import onemq


def half(url: str, step: str) -> None:
    """Sends a half message and dies at a step: before it, between it and its commit, or after that."""
    mq = onemq.connect(url)
    producer = mq.producer(group="shop")
    transaction = producer.transaction("orders", b"order", key="10002")
    if step == "before":
        os._exit(1)
    transaction.__enter__()
    print(transaction.id, flush=True)
    if step == "between":
        os._exit(1)
    transaction.commit()
    os._exit(1)


def consume(url: str, topic: str, order: str) -> None:
    """Handles messages in order and says when each begins and ends, until it is killed."""
    with onemq.connect(url) as mq:
        lock = threading.Lock()

        def say(line: str) -> None:
            with lock:
                os.write(1, line.encode() + b"\n")

        @mq.consumer(topic, group="g", order=order, concurrency=4, retry=onemq.Immediate())  # type: ignore[arg-type]
        def handle(message: onemq.Message) -> None:
            say(f"begin {message.key} {message.text()} {time.monotonic_ns()}")
            time.sleep(0.002)
            say(f"end {message.key} {message.text()} {time.monotonic_ns()}")

        mq.run()


def stop(url: str, topic: str) -> None:
    """Handles messages slowly until it is told to stop, and says how many it finished."""
    finished = 0
    with onemq.connect(url) as mq:

        @mq.consumer(topic, group="g")
        def handle(message: onemq.Message) -> None:
            nonlocal finished
            if not finished:
                print("begun", flush=True)
            time.sleep(0.2)
            finished += 1

        mq.run()
    print(f"finished {finished}", flush=True)


if __name__ == "__main__":
    {"half": half, "consume": consume, "stop": stop}[sys.argv[1]](*sys.argv[2:])
