"""The play: the acts in their order, from the start of the broker to the last table."""

import time
from pathlib import Path

import report
from analysts import Analysts, reason_without_spark
from books import Books, open_books
from broker import Broker
from crew import Crew
from orders import PARTITIONS, TOPIC, Evening
from rush import Rush
from service import RESULTS
from story import Story

import onemq

READY_SECONDS_MAX = 60
CHARTS = ("flow.png", "minutes.png", "books.png")
WHAT = {
    "report.json": "all numbers",
    "flow.png": "orders sent and handled, second by second",
    "minutes.png": "orders per minute, by the time in the order",
    "books.png": "what became of every order",
    "broker": "the broker's data: onemq serve --data, and look around",
    "lake": "the archive: Parquet, by topic and date",
    "reconcile-points": "Spark's books of the points service",
    "reconcile-push": "Spark's books of the push service",
    "window": "the open windows",
    "broker.log": "what the broker said",
    "spark.log": "what Spark said",
}


def play(story: Story, folder: Path, evening: Evening, with_spark: bool, forgets: int | None) -> bool:
    """The whole of it; whether the books balance."""
    if with_spark and (reason := reason_without_spark()):
        story.say(f"[yellow]Without Spark:[/] {reason}. Its acts are left out; the books are balanced all the same.")
        with_spark = False
    broker = Broker(folder / "broker")
    crew = Crew(broker.url, evening, forgets)
    try:
        start_broker(story, broker)
        with onemq.connect(broker.url) as mq:
            start_services(story, mq, crew)
            rush = hurry(story, mq, broker, crew, evening)
            books = balance(story, mq, evening, rush.held)
            analysts = analyse(story, mq, broker, folder, books) if with_spark else None
            finish(story, folder, rush, books, analysts)
        assert broker.stop() == 0, "the broker did not stop cleanly"
    finally:
        crew.kill()
        broker.kill()
    return is_good(books, analysts)


def is_good(books: Books, analysts: Analysts | None) -> bool:
    """Whether every order is accounted for, and Spark says the same."""
    return books.are_balanced and (analysts is None or analysts.are_content)


def start_broker(story: Story, broker: Broker) -> None:
    story.act("A broker starts with one command")
    broker.folder.mkdir()
    seconds = broker.start()
    story.say(f"$ onemq serve --data {broker.folder} --resp {broker.address}", f"It serves after {seconds:.1f} s.")


def start_services(story: Story, mq: onemq.Client, crew: Crew) -> None:
    story.act("Two services start, two instances each")
    mq.topics.create(TOPIC, PARTITIONS)
    for results in RESULTS.values():
        mq.topics.create(results, PARTITIONS)
    names = crew.start()
    give_up = time.monotonic() + READY_SECONDS_MAX
    while not crew.are_ready(mq):
        if time.monotonic() > give_up:
            raise SystemExit("the services did not start")
        time.sleep(0.05)
    story.say(
        f"{', '.join(names)}: processes of examples/demo/service.py. Each service is a group: both see every order.",
        "Points go wrong on every 50th order at first, pushes on every 40th: they are tried again after 0.3 s.",
    )


def hurry(story: Story, mq: onemq.Client, broker: Broker, crew: Crew, evening: Evening) -> Rush:
    story.act(f"{evening.count:,} orders come in, half by redis-py, half by the SDK")
    story.say(f"{len(evening.flaws)} of them are poison: without a customer, an amount or a device.")
    rush = Rush(story, mq, broker, crew, evening)
    rush.run()
    crew.stop()
    story.say(f"Nobody has anything left to do, after {rush.watch.seconds:.0f} s.")
    return rush


def balance(story: Story, mq: onemq.Client, evening: Evening, held: set[str]) -> Books:
    story.act("The books: every order is looked for in what each service has done")
    books = open_books(mq, evening, held)
    for table in (report.books_table(books), report.work_table(books), report.dead_table(books)):
        story.table(table)
    story.say(f"Points given: {books.points:,}; points due: {books.points_due:,}.")
    return books


def analyse(story: Story, mq: onemq.Client, broker: Broker, folder: Path, books: Books) -> Analysts:
    analysts = Analysts(story, mq, broker.url, folder)
    analysts.start()
    points, push = books.accounts
    story.say("Orders per minute, by the time in the order; some come late.")
    analysts.count_minutes(books)
    story.say("All topics into a lake of Parquet files, each message once.")
    analysts.archive(books)
    story.say("What was sent against what was handled: from the topics, and then from the archive.")
    analysts.reconcile(points, sent=f"topic:{TOPIC}")
    analysts.reconcile(push, sent=f"archive:{folder / 'lake'}#{TOPIC}")
    analysts.stop()
    story.table(report.findings_table(analysts))
    return analysts


def finish(story: Story, folder: Path, rush: Rush, books: Books, analysts: Analysts | None) -> None:
    import charts  # matplotlib takes a second to load

    story.act("What is left")
    flow, minutes, picture = (folder / name for name in CHARTS)
    charts.draw_flow(rush.watch, flow)
    charts.draw_minutes(books.minutes, analysts.minutes if analysts is not None else {}, minutes)
    charts.draw_books(books, picture)
    good = is_good(books, analysts)
    told = analysts.told() if analysts is not None else None
    report.write_report(folder / "report.json", books, told, good, story.seconds)
    story.say(f"In {folder}:")
    for name, what in WHAT.items():
        if (folder / name).exists():
            story.say(f"  {name:<18}[dim]{what}[/]")
    if good:
        story.say("[bold green]Every order is accounted for.[/] Read on in README.md.")
    else:
        story.say("[bold red]The books do not balance.[/]")
