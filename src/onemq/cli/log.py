"""`onemq log`: looks into a data folder, without a broker."""

from pathlib import Path
from typing import Annotated

import typer

from onemq.errors import OneMQError

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The data folder.")]


@app.command()
def dump(folder: Folder) -> None:
    """Prints what is stored, entry by entry."""
    raise OneMQError("`onemq log dump` is not there yet")


@app.command()
def verify(folder: Folder) -> None:
    """Checks every checksum and says what is damaged."""
    raise OneMQError("`onemq log verify` is not there yet")
