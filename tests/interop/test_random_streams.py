"""Twenty thousand random stream commands to OneMQ and to a real redis-server: no reply differs.

Sequences that delete entries leave out the estimates of XINFO (entries-read and lag); the others compare them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.interop.drawn import COMMANDS, Drawn, drawn, run
from tests.interop.forms import Node
from tests.interop.pair import Pair, last_node, needs_redis_server, reply
from tests.interop.streams import Form, another, form_of, known, known_form, texts
from tests.interop.streams_random import START, Commands, Step, Words

pytestmark = needs_redis_server

_ESTIMATES = (b"entries-read", b"lag")
_CHOSEN = re.compile(r"<(\d+)>")


@dataclass(frozen=True, slots=True)
class Turn:
    """A command, or several as one transaction; before that, perhaps WATCH and what somebody else does then."""

    step: Step
    watched: str = ""
    between: Words = ()


def next_turn(commands: Commands, random: Drawn) -> Turn:
    step = commands.step()
    if len(step) == 1 or random.random() < 0.6:
        return Turn(step)
    return Turn(step, random.choice("stv"), commands.command())


class Server:
    """One of the two, and two connections to it. The ids that it chose itself are <0>, <1>, ... here."""

    def __init__(self, *clients: Any) -> None:
        self._clients = clients
        self._chosen: list[bytes] = []
        for words in ("DISCARD", "UNWATCH", "FLUSHALL"):  # a sequence that failed ended anywhere
            reply(clients[0], words)

    def take(self, turn: Turn) -> Iterator[tuple[Words, Any, Node]]:
        """All the replies: to which words, what, and how they came."""
        if turn.watched:
            yield self._ask("WATCH", turn.watched)
            yield self._ask(*turn.between, client=1)
        if len(turn.step) == 1:
            yield self._ask(*turn.step[0])
            return
        for words in (("MULTI",), *turn.step):
            _, answer, node = self._ask(*words)
            yield ("queued",), answer, node
        answers = texts(reply(self._clients[0], "EXEC"))
        node = last_node(self._clients[0])
        if isinstance(answers, list):
            for words, answer, item in zip(turn.step, answers, node.items, strict=True):
                yield words, self._named(words, answer), item
        else:
            yield ("EXEC",), answers, node

    def _ask(self, *words: str, client: int = 0) -> tuple[Words, Any, Node]:
        real = (_CHOSEN.sub(lambda found: self._chosen[int(found[1])].decode(), word) for word in words)
        answer = reply(self._clients[client], *real)
        return words, self._named(words, answer), last_node(self._clients[client])

    def _named(self, words: Words, answer: Any) -> Any:
        if words[0] == "XADD" and "*" in words and isinstance(answer, bytes) and answer != b"QUEUED":
            self._chosen.append(answer)
        names = {id: b"<%d>" % number for number, id in enumerate(self._chosen)}

        def named(part: Any) -> Any:
            if isinstance(part, list):
                return [named(item) for item in part]
            if isinstance(part, dict):
                return {name: named(value) for name, value in part.items()}
            return names.get(part, part) if isinstance(part, bytes) else part

        return named(answer)


class SideBySide(RuleBasedStateMachine):
    """The same commands to both."""

    first: Pair
    second: Pair
    plain: bool
    count = 0

    def __init__(self) -> None:
        super().__init__()
        self.commands = Commands(Drawn(lambda _: 0), self.plain)
        self.ours = Server(self.first.ours, self.second.ours)
        self.theirs = Server(self.first.theirs, self.second.theirs)
        for words in START:
            self.take(Turn((words,)))

    @rule(turn=st.runner().flatmap(lambda machine: machine.turns()))
    def take(self, turn: Turn | None) -> None:
        if turn is None:
            return
        both = zip(self.ours.take(turn), self.theirs.take(turn), strict=True)
        for (words, answer, node), (_, expected, expected_node) in both:
            form = _form(words, self.plain)
            assert known(form(answer), form(expected)) == form(expected), f"the reply to {words}"
            assert known_form(node) == known_form(expected_node), f"the form of the reply to {words}"
            self.commands.learn(words, answer)
        type(self).count += len(turn.step)

    def turns(self) -> st.SearchStrategy[Turn | None]:
        """What may come next."""
        return drawn(lambda random: next_turn(self.commands.drawing(random), random))


@pytest.mark.parametrize("plain", [True, False], ids=["without deletions", "with deletions"])
def test_no_reply_differs(pair: Pair, plain: bool) -> None:
    with another(pair.ours) as ours, another(pair.theirs) as theirs:
        machine = type("Both", (SideBySide,), {"first": pair, "second": Pair(ours, theirs), "plain": plain})
        run(machine, pair.protocol * 2 + plain)
        assert machine.count >= COMMANDS


def _form(words: Words, plain: bool) -> Form:
    """The form in which replies are compared."""
    if words[0] == "TTL":
        return lambda answer: answer if isinstance(answer, tuple) else round(answer, -3)
    form = form_of(*words)
    return form if plain else lambda answer: _without_estimates(form(answer))


def _without_estimates(answer: Any) -> Any:
    if isinstance(answer, list):
        return [_without_estimates(item) for item in answer]
    if isinstance(answer, tuple) and len(answer) == 2:
        return (answer[0], "varies" if answer[0] in _ESTIMATES else _without_estimates(answer[1]))
    return answer
