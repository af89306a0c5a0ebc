"""MQ.HELP: the commands by chapter with an example each, or how one of them is used."""

import re
from typing import TYPE_CHECKING, NamedTuple

from onemq.protocols.resp import replies
from onemq.protocols.resp.errors import CommandError
from onemq.protocols.resp.mq import facts

if TYPE_CHECKING:
    from onemq.protocols.resp.session import RespSession

_TYPE = re.compile(r":[a-z]+\b")
_GROUPING = re.compile(r"[a-z_-]+=(?=[({])")


class Fact(NamedTuple):
    """What there is to tell about one command."""

    chapter: str
    arity: int
    flags: tuple[str, ...]
    topic_at: int
    """Where in the request the topic stands; 0: nowhere."""
    usage: str
    summary: str
    example: str


def _read_facts() -> dict[str, Fact]:
    found = {}
    chapter = ""
    for line in facts.FACTS.strip().splitlines():
        if line.startswith("["):
            chapter = line.strip("[]")
        else:
            name, arity, flags, topic_at, usage, summary, example = line.split(" ; ")
            found[name] = Fact(chapter, int(arity), tuple(flags.split()), int(topic_at), usage, summary, example)
    return found


FACTS = _read_facts()


def help_(session: "RespSession", request: list[bytes]) -> bytes:
    """All of them, or those whose name begins with the words given, with or without MQ."""
    if len(request) == 1:
        return replies.array([replies.simple(line) for line in _overview()])
    wanted = b" ".join(request[1:]).decode(errors="replace").lower().removeprefix("mq.")
    found = [name for name in FACTS if name == wanted or name.startswith(f"{wanted} ")]
    if not found:
        raise CommandError(f"ERR there is no command MQ.{wanted.upper()}; MQ.HELP lists them")
    return replies.array([replies.simple(line) for name in found for line in _details(name)])


def _overview() -> list[str]:
    lines = ["MQ.* are the message queue commands of OneMQ. MQ.HELP <command> shows how one is used."]
    chapter = ""
    for fact in FACTS.values():
        if fact.chapter != chapter:
            chapter = fact.chapter
            lines.append(f"-- {chapter}")
        lines += [fact.example, f"    {fact.summary}"]
    return lines


def _details(name: str) -> list[str]:
    fact = FACTS[name]
    return [usage_of(name), f"    {fact.summary}.", f"    e.g. {fact.example}"]


def usage_of(name: str) -> str:
    """What a command takes, in one line."""
    usage = _GROUPING.sub("", _TYPE.sub("", FACTS[name].usage))
    return f"MQ.{name.upper()} {usage}".rstrip()
