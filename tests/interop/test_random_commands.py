"""Ten thousand random commands to OneMQ and to redis-server: no difference in any reply, nor in what is left."""

from contextlib import closing
from typing import Any

import pytest
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.interop.drawn import COMMANDS, drawn, run
from tests.interop.pair import needs_redis_server
from tests.interop.random_commands import Server, Step, next_steps


class SideBySide(RuleBasedStateMachine):
    """The same commands to both."""

    ours: Server
    theirs: Server
    count = 0

    def __init__(self) -> None:
        super().__init__()
        self._differs = False
        self.ours.start_again()
        self.theirs.start_again()

    @rule(steps=drawn(next_steps))
    def take(self, steps: list[Step] | None) -> None:
        for step in steps or ():
            self._compare(step.words, self.ours.reply(step), self.theirs.reply(step))
            type(self).count += 1

    def teardown(self) -> None:
        if self._differs:
            return
        self.ours.end_transactions()
        self.theirs.end_transactions()
        found, expected = self.ours.contents(), self.theirs.contents()
        for key in sorted({*found, *expected}):
            self._compare(key, found.get(key), expected.get(key))

    def _compare(self, about: Any, found: Any, expected: Any) -> None:
        self._differs = found != expected
        assert not self._differs, f"{about}\n  OneMQ: {found!r}\n  Redis: {expected!r}"


@pytest.fixture(params=[2, 3], ids=["RESP2", "RESP3"])
def protocol(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@needs_redis_server
def test_random_commands_have_the_same_effect_as_on_redis(onemq_port: int, redis_port: int, protocol: int) -> None:
    with closing(Server(onemq_port, protocol)) as ours, closing(Server(redis_port, protocol)) as theirs:
        machine = type("Both", (SideBySide,), {"ours": ours, "theirs": theirs})
        run(machine, protocol)
        assert machine.count >= COMMANDS
