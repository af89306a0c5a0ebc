"""A share consumer that tells how many messages it has, and holds them until it is killed."""

import sys
import time

from confluent_kafka import ShareConsumer


def main(bootstrap: str, topic: str, group: str) -> None:
    mode = {"share.acknowledgement.mode": "explicit", "log_level": 0}
    consumer = ShareConsumer({"bootstrap.servers": bootstrap, "group.id": group} | mode)
    consumer.subscribe([topic])
    while not (got := consumer.poll(1)):
        pass
    print(len(got), flush=True)
    time.sleep(600)


main(*sys.argv[1:])
