"""The `onemq` command: what it offers, and how it ends.

Exit status: 0 fine, 1 OneMQ cannot do it (one line on standard error says why and what to do),
2 the command line makes no sense.
"""

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

import onemq
from onemq.errors import OneMQError

app = typer.Typer(
    help="OneMQ: one message queue for Python and data teams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
