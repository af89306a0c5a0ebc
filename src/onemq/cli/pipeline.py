"""`onemq pipeline`: the pipelines on Spark by name, each loaded when it is asked for."""

from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from onemq.pipelines.options import with_clear_errors
from onemq.pipelines.registry import PIPELINES, command_of


class Pipelines(TyperGroup):
    """Knows the names and what each does without loading any."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of the registry."""
        return list(PIPELINES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; its module is loaded here."""
        if cmd_name not in PIPELINES:
            return None
        info: Any = CommandInfo(name=cmd_name, callback=with_clear_errors(command_of(cmd_name)))
        return get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The names with what each does on one line."""
        with formatter.section("Commands"):
            formatter.write_dl(list(PIPELINES.items()))


app = typer.Typer(cls=Pipelines, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def pipeline() -> None:
    """Data pipelines on Spark. They need `pip install 'onemq[spark]'`."""
