"""Streams over a restart: everything that clients can see is the same afterwards, however the broker ended."""

from pathlib import Path
from typing import Any

import hiredis
import pytest

from tests.crash.stream_commands import MoreCommands, everything
from tests.crash.wire import Wire
from tests.interop.streams_random import Step
from tests.process import Serve

COMMANDS = 200


class Client(Wire):
    """A connection whose errors are replies, too."""

    def ask(self, *words: object) -> Any:
        try:
            return self.command(*words)
        except AssertionError as error:
            return hiredis.ReplyError(str(error))

    def step(self, step: Step) -> list[Any]:
        """The replies to a command, or to several that are one transaction."""
        if len(step) == 1:
            return [self.ask(*step[0])]
        for words in (("MULTI",), *step):
            self.ask(*words)
        answers = self.ask("EXEC")
        return answers if isinstance(answers, list) else []


def config_of(folder: Path, flush: str) -> str:
    config = folder / "onemq.toml"
    config.write_text(f'[log]\nflush = "{flush}"\n')
    return str(config)


@pytest.mark.parametrize(
    ("seed", "flush", "ends"),
    [
        (1, "sync", ("kill", "stop", "kill")),  # entries only, a snapshot only, a snapshot and entries after it
        (2, "async", ("stop", "kill")),
        (3, "async", ("kill", "kill")),
    ],
)
def test_all_that_can_be_seen_is_the_same_after_every_restart(
    tmp_path: Path, seed: int, flush: str, ends: tuple[str, ...]
) -> None:
    config, commands = config_of(tmp_path, flush), MoreCommands(seed)
    seen: dict[bytes, Any] = {}
    for number, how in enumerate((*ends, "")):
        with Serve(tmp_path / "data", "--config", config) as broker:
            broker.wait_until_serving()
            client = Client(broker.port)
            assert everything(client.ask) == seen, f"seed {seed}, restart {number}"
            for step in commands.steps(COMMANDS) if how else []:
                for words, answer in zip(step, client.step(step), strict=False):
                    commands.learn(words, answer)
            seen = everything(client.ask)
            client.close()
            if how == "kill":
                broker.kill()
            else:
                assert broker.stop() == 0
    assert seen, "some streams were there"
