"""From the file and the options of the command line to the settings.

Anything unknown or wrong is refused with file, line, key, reason and what to write instead.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType

from onemq.config.settings import Config, KafkaSettings, LogSettings, RespSettings, ServerSettings, TopicSettings
from onemq.config.source import Source
from onemq.config.values import OFF
from onemq.errors import ConfigError, InvalidArgument
from onemq.message import check_name
from onemq.users import Verifier

TABLES: Mapping[str, type[Struct]] = {
    "server": ServerSettings,
    "log": LogSettings,
    "resp": RespSettings,
    "kafka": KafkaSettings,
}
_NAMED = ("topics", "users")
"""Tables whose keys are names that users give."""
OPTIONS = {
    "log.data": "data",
    "resp.listen": "resp",
    "kafka.listen": "kafka",
    "server.log_format": "log-format",
    "server.log_level": "log-level",
}
"""Keys that are also options of `onemq serve`."""
Refuse = Callable[[str], NoReturn]
"""Raises the ConfigError of a key, given the reason and what to do."""


def load_config(file: Path | None = None, options: Mapping[str, object] | None = None) -> Config:
    """The configuration of a file, if one is named, with options of the command line over it.

    Options are named like their keys, {"log.data": "/data"}; None does not count. Fails with ConfigError."""
    source = Source(file)
    raw = source.tables()
    for name in raw:
        if name not in (*TABLES, *_NAMED):
            source.refuse((name,), f"unknown; {_suggestion(name, [*TABLES, *_NAMED])}")
    config = Config(
        **{name: _table(source, (name,), raw.get(name, {}), kind) for name, kind in TABLES.items()},
        topics=_topics(source, raw.get("topics", {})),
        users=_users(source, raw.get("users", {})),
        file=str(file or ""),
    )
    for key, value in (options or {}).items():
        if value is not None:
            config = _with_option(config, key, value)
    return config


def _table(source: Source, path: tuple[str, ...], raw: object, kind: type[Struct]) -> Any:
    if not isinstance(raw, dict):
        source.refuse(path, f"not a table; write [{'.'.join(path)}] and its keys below")
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    values = {}
    for key, value in raw.items():
        if key not in fields:
            source.refuse((*path, key), f"unknown; {_suggestion(key, list(fields))}")
        refuse = partial(source.refuse, (*path, key))
        values[fields[key].name] = _value(value, fields[key].type, refuse)
    return kind(**values)


def _topics(source: Source, raw: object) -> dict[str, TopicSettings]:
    if not isinstance(raw, dict):
        source.refuse(("topics",), 'not a table; write [topics."name"] and its keys below')
    topics = {}
    for name, settings in raw.items():
        try:
            check_name("topic", name)
        except InvalidArgument as problem:
            source.refuse(("topics", name), f"{problem.text}; choose another name")
        topics[name] = _table(source, ("topics", name), settings, TopicSettings)
    return topics


def _users(source: Source, raw: object) -> dict[str, str]:
    if not isinstance(raw, dict):
        source.refuse(("users",), 'not a table; write [users] and name = "password" below')
    for name, password in raw.items():
        try:
            check_name("user", name)
        except InvalidArgument as problem:
            source.refuse(("users", name), f"{problem.text}; choose another name")
        if not isinstance(password, str) or not password:
            source.refuse(("users", name), 'no password; write name = "password", or what `onemq user` prints')
        try:
            Verifier.parse(password)
        except ValueError:
            source.refuse(("users", name), "a verifier that is damaged; write again what `onemq user` prints")
    return raw


def _with_option(config: Config, key: str, value: object) -> Config:
    table, _, name = key.partition(".")
    settings = getattr(config, table)
    (found,) = (each for each in msgspec.structs.fields(settings) if each.encode_name == name)
    option = f"--{OPTIONS[key]}"

    def refuse(reason: str) -> NoReturn:
        raise ConfigError(f"{option}: {reason}")

    changed = msgspec.structs.replace(settings, **{found.name: _value(value, found.type, refuse)})
    return msgspec.structs.replace(config, **{table: changed})


def _value(value: object, kind: Any, refuse: Refuse) -> Any:
    """The value as the type of its field asks for it."""
    kinds = [each for each in _alternatives(kind) if each is not UnsetType]
    if value == OFF and NoneType in kinds:
        return None
    (wanted,) = (each for each in kinds if each is not NoneType)
    written = _how_written(wanted)
    try:
        return written.parse(value) if written else msgspec.convert(value, wanted)
    except (ValueError, msgspec.ValidationError):
        off = f', or "{OFF}"' if NoneType in kinds else ""
        refuse(f"{_shown(value)} is not accepted; write {_accepted(wanted)}{off}")


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _how_written(kind: Any) -> Any:
    """What parses a value of this type, if it has a form of its own."""
    notes = (kind, *getattr(kind, "__metadata__", ()))
    return next((note for note in notes if hasattr(note, "parse")), None)


def _accepted(kind: Any) -> str:
    """What one can write for a value of this type."""
    if written := _how_written(kind):
        return str(written.accepted())
    if get_origin(kind) is Literal:
        return " or ".join(f'"{choice}"' for choice in get_args(kind))
    return "true or false" if kind is bool else str(kind.__metadata__[0].description)


def _suggestion(name: str, known: list[str]) -> str:
    from difflib import get_close_matches  # only for mistakes

    close = get_close_matches(name, known, 1)
    return f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"


def _shown(value: object) -> str:
    """The value as TOML has it, on one line and not too long."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, str):
        text = f'"{value}"' if value.isprintable() else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
