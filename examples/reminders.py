"""A reminder after some time, one that is cancelled, and one that comes again and again by a cron expression.

They wait in the broker, on disk: nothing runs here in between, and a restart would lose none of them.

    python examples/reminders.py
"""

import time
from datetime import datetime

from here import broker, own

import onemq


def main() -> None:
    topic = own("reminders")
    with broker() as url, onemq.connect(url) as mq:
        producer = mq.producer()
        once = producer.send(topic, "your table is ready", delay="700ms")
        paid = producer.send(topic, "please pay your order", delay="30m")
        producer.send(topic, "a new second has begun", cron="* * * * * *", times=3)
        for row in mq.schedule.list(topic):
            due = datetime.fromtimestamp(row["due"] / 1000)
            print(f"   waits: {row['body'].decode()!r}, due at {due:%H:%M:%S.%f}")
        print(f"   paid in time, so cancelled: {mq.schedule.cancel(paid.schedule or '')}")

        came: list[onemq.Message] = []
        for message in mq.consumer(topic, group="mails"):
            print(f"   {datetime.fromtimestamp(message.stored / 1000):%H:%M:%S.%f}  {message.text()}")
            came.append(message)
            if len(came) == 4:
                message.ack()
                break

        assert sorted({message.text() for message in came}) == ["a new second has begun", "your table is ready"]
        (table,) = (message for message in came if message.id == once.id)
        assert once.due is not None
        assert table.stored >= once.due, "too early"
        assert table.stored < time.time() * 1000
        assert mq.schedule.list(topic) == []
    print("All reminders came, none too early, and the cancelled one did not.")


if __name__ == "__main__":
    main()
