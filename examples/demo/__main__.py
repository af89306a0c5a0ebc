"""OneMQ at work: `make demo`, or `python examples/demo --help`.

An evening in a shop. Orders come in from two programs; a points service and a push service, two instances each, work on
every one of them. Handlers fail, an instance is killed, the broker is killed, some orders can never be handled. Spark
counts them by the minute, archives them and balances the books. At the end every order is accounted for, or the exit
status is 1.
"""

import logging
from pathlib import Path
from typing import Annotated

import typer
from folder import prepared
from orders import Evening
from play import play
from story import Story

import onemq

ORDERS = 100_000


def main(
    orders: Annotated[int, typer.Option(min=100, help="How many orders come in.")] = ORDERS,
    folder: Annotated[Path, typer.Option(help="Where the results are left.")] = Path("onemq-demo"),
    spark: Annotated[bool, typer.Option(help="Whether Spark has its acts.")] = True,
    forget: Annotated[
        int | None,
        typer.Option(metavar="ORDER", help="The push service acknowledges it and forgets it: the books notice."),
    ] = None,
) -> None:
    """An evening in a shop: orders, services that fail, kills, Spark, and books that balance; else exit status 1."""
    logging.getLogger("onemq").setLevel(logging.CRITICAL)  # the broker is killed on purpose
    try:
        balanced = play(Story(), prepared(folder), Evening(orders), spark, forget)
    except onemq.OneMQError as error:
        raise SystemExit(f"onemq: {error.text}") from error
    raise typer.Exit(0 if balanced else 1)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command()(main)
    app(prog_name="demo")
