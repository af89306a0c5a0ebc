"""Exactly-once effects: the note of a message and its effect are there together, once, or not at all."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
import sqlalchemy
from psycopg.rows import dict_row
from sqlalchemy.orm import Session

from onemq.client import once as module
from onemq.client.once import clean, key_of, once, prepare
from onemq.errors import InvalidArgument
from onemq.testing import broker
from tests import postgres

Connect = Callable[[], Any]


@dataclass
class Told:
    """As much of a message as matters here."""

    id: str = "1-0-5"
    topic: str = "orders"
    key: str | None = "10001"
    headers: dict[str, Any] = field(default_factory=dict)


class Refused(Exception):
    pass


# The databases


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    with postgres.running() as place:
        yield place


@pytest.fixture
def postgres_place(postgres_server: str) -> str:
    """With an empty database."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return postgres_server


def _sqlite(**options: Any) -> Callable[[Path], Connect]:
    return lambda folder: lambda: sqlite3.connect(folder / "db", timeout=30, **options)


def _sqlite_of_rows(folder: Path) -> Connect:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(folder / "db", timeout=30)
        connection.row_factory = lambda cursor, row: {
            column[0]: value for column, value in zip(cursor.description, row, strict=True)
        }
        return connection

    return connect


def _alchemy(url: str, kind: type) -> Connect:
    return lambda: kind(sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool))


def _postgres_url(place: str) -> str:
    parts = dict(part.split("=", 1) for part in place.split())
    return f"postgresql+psycopg://onemq@/postgres?host={parts['host']}&port={parts['port']}"


SQLITE = {
    "sqlite3": _sqlite(),
    "sqlite3 in autocommit": _sqlite(isolation_level=None),
    "sqlite3 with dict rows": _sqlite_of_rows,
    "SQLAlchemy connection": lambda folder: lambda: sqlalchemy.create_engine(
        f"sqlite:///{folder / 'db'}", poolclass=sqlalchemy.NullPool
    ).connect(),
    "SQLAlchemy session": lambda folder: _alchemy(f"sqlite:///{folder / 'db'}", Session),
}
POSTGRES: dict[str, Callable[[str], Connect]] = {
    "psycopg": lambda place: lambda: psycopg.connect(place),
    "psycopg in autocommit": lambda place: lambda: psycopg.connect(place, autocommit=True),
    "psycopg with dict rows": lambda place: lambda: psycopg.connect(place, row_factory=dict_row),
    "SQLAlchemy connection to PostgreSQL": lambda place: lambda: sqlalchemy.create_engine(
        _postgres_url(place), poolclass=sqlalchemy.NullPool
    ).connect(),
    "SQLAlchemy session on PostgreSQL": lambda place: _alchemy(_postgres_url(place), Session),
}


@pytest.fixture(params=[*SQLITE, *POSTGRES])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    """Opens a connection to a database with an empty table of effects."""
    name = request.param
    opened = SQLITE[name](tmp_path) if name in SQLITE else POSTGRES[name](request.getfixturevalue("postgres_place"))
    with closing(opened()) as connection:
        run(connection, "CREATE TABLE effects (what TEXT)")
        connection.commit()
    return opened


def run(connection: Any, sql: str) -> Any:
    if type(connection).__module__.startswith("sqlalchemy"):
        return connection.execute(sqlalchemy.text(sql))
    return connection.execute(sql)


def effect(connection: Any) -> None:
    run(connection, "INSERT INTO effects VALUES ('done')")


def count(connect: Connect, table: str = "effects") -> int:
    with closing(connect()) as connection:
        rows = run(connection, f"SELECT * FROM {table}").fetchall()
        connection.rollback()
    return len(rows)


# What it promises


def test_the_first_time_has_an_effect_and_the_second_has_none(connect: Connect) -> None:
    """C14"""
    seen = []
    for _ in range(3):
        with closing(connect()) as connection, once(connection, Told(), group="points") as first:
            seen.append(first)
            if first:
                effect(connection)
    assert seen == [True, False, False]
    assert count(connect) == count(connect, "onemq_done") == 1


def test_an_error_takes_back_the_effect_and_the_note(connect: Connect) -> None:
    """C14"""
    with closing(connect()) as connection:
        with pytest.raises(Refused), once(connection, Told(), group="points"):
            effect(connection)
            raise Refused
        with once(connection, Told(), group="points") as first:
            assert first
            effect(connection)
    assert count(connect) == 1


def test_other_messages_and_other_groups_are_apart(connect: Connect) -> None:
    with closing(connect()) as connection:
        for message, group in [(Told("1-0-1"), "a"), (Told("1-0-2"), "a"), (Told("1-0-1"), "b"), ("by hand", "a")]:
            with once(connection, message, group=group) as first:
                assert first


def test_of_two_at_the_same_time_one_waits_and_skips(connect: Connect) -> None:
    inside, results = threading.Event(), []

    def second() -> None:
        inside.wait()
        with closing(connect()) as connection, once(connection, Told(), group="points") as first:
            results.append(first)

    with closing(connect()) as connection:
        prepare(connection)
        other = threading.Thread(target=second)
        other.start()
        with once(connection, Told(), group="points") as first:
            inside.set()
            effect(connection)
    other.join()
    assert (first, results) == (True, [False])


def test_many_may_begin_with_an_empty_database(connect: Connect) -> None:
    def work() -> None:
        for number in range(5):
            with closing(connect()) as connection, once(connection, Told(f"1-0-{number}"), group="points") as first:
                if first:
                    effect(connection)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(connect) == count(connect, "onemq_done") == 5


def test_a_transaction_of_the_caller_stays_in_its_hands(connect: Connect) -> None:
    with closing(connect()) as connection:
        if getattr(connection, "autocommit", False) is True or getattr(connection, "isolation_level", "") is None:
            connection.execute("BEGIN")
        with once(connection, Told(), group="points", commit=False) as first:
            assert first
            effect(connection)
        connection.execute("ROLLBACK") if getattr(connection, "autocommit", False) is True else connection.rollback()
        with once(connection, Told(), group="points") as first:
            assert first
    assert count(connect) == 0


def test_old_notes_go(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = module._now_ms()
    monkeypatch.setattr(module, "CLEAN_ROWS_MAX", 2)
    with closing(connect()) as connection:
        for number, days in enumerate((10, 9, 8, 3, 1)):
            monkeypatch.setattr(module, "_now_ms", lambda: now_ms - days * 86_400_000)
            with once(connection, Told(f"1-0-{number}"), group="points"):
                pass
        monkeypatch.setattr(module, "_now_ms", lambda: now_ms)
        assert clean(connection) == 3
        assert clean(connection, window="2d") == 1
    assert count(connect, "onemq_done") == 1


def test_old_notes_also_go_along_the_way(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    now_ms = module._now_ms()
    monkeypatch.setattr(module, "CLEAN_EVERY", 1)
    with closing(connect()) as connection:
        monkeypatch.setattr(module, "_now_ms", lambda: now_ms - 3_600_001)
        with once(connection, Told("old"), group="points", window="1h"):
            pass
        monkeypatch.setattr(module, "_now_ms", lambda: now_ms)
        with once(connection, Told("new"), group="points", window="1h"):
            pass
    assert count(connect, "onemq_done") == 1


# What makes two messages the same


def test_messages_are_the_same_by_id_key_or_header() -> None:
    message = Told(headers={"order": b"7"})
    assert key_of(message) == "id:1-0-5"
    assert key_of(message, "key") == "key:orders:10001"
    assert key_of(message, "header:order") == "header:order:orders:7"
    assert key_of(Told(key="1"), "key") != key_of(Told(key="1", topic="other"), "key")


def test_what_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="has no key"):
        key_of(Told(key=None), "key")
    with pytest.raises(InvalidArgument, match="has no header:x"):
        key_of(Told(), "header:x")
    with pytest.raises(InvalidArgument, match="unknown"):
        key_of(Told(), "body")
    with pytest.raises(InvalidArgument, match="not a duration"):
        once(None, Told(), group="g", window="long")
    with pytest.raises(InvalidArgument, match=r"builtins\.object is not supported"), once(object(), "m", group="g"):
        pass


# asyncio


def test_it_works_with_asyncio(postgres_place: str) -> None:
    from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

    async def twice(connection: Any, run_effect: Callable[[], Any], name: str) -> list[bool]:
        seen = []
        with suppress(Refused):
            async with once(connection, name, group="points"):
                await run_effect()
                raise Refused
        for _ in range(2):
            async with once(connection, name, group="points") as first:
                seen.append(first)
                if first:
                    await run_effect()
        return seen

    async def whole() -> None:
        insert = "INSERT INTO effects VALUES ('done')"
        for autocommit in (False, True):
            async with await psycopg.AsyncConnection.connect(postgres_place, autocommit=autocommit) as connection:
                await connection.execute("CREATE TABLE IF NOT EXISTS effects (what TEXT)")
                await connection.commit()
                run_effect = lambda: connection.execute(insert)  # noqa: E731
                assert await twice(connection, run_effect, f"psycopg {autocommit}") == [True, False]
        engine = create_async_engine(_postgres_url(postgres_place))
        async with AsyncSession(engine) as session, engine.connect() as plain:
            assert await twice(session, lambda: session.execute(sqlalchemy.text(insert)), "session") == [True, False]
            assert await twice(plain, lambda: plain.execute(sqlalchemy.text(insert)), "connection") == [True, False]
        await engine.dispose()

    asyncio.run(whole())
    assert count(lambda: psycopg.connect(postgres_place)) == 4


# Killed at every step

STEPS = ("before", "noted", "effect", "committed", "acknowledged")

CONSUMER = """
import os, signal, sqlite3, sys
import psycopg, redis
from onemq.client.once import once

port, where, kill_at = int(sys.argv[1]), sys.argv[2], sys.argv[3]

def step(name):
    if name == kill_at:
        os.kill(os.getpid(), signal.SIGKILL)

connection = sqlite3.connect(where) if where.startswith("/") else psycopg.connect(where)
client = redis.Redis(port=port, decode_responses=True)
for start in ("0", ">"):
    for _, entries in client.xreadgroup("points", "me", {"orders": start}, count=10) or []:
        for entry, fields in entries:
            step("before")
            with once(connection, entry, group="points") as first:
                step("noted")
                if first:
                    connection.execute("INSERT INTO effects VALUES ('" + fields["orderno"] + "')")
                    step("effect")
            step("committed")
            client.xack("orders", "points", entry)
            step("acknowledged")
"""


def killed_at_every_step(where: str, connect: Connect) -> None:
    with broker() as running, redis.Redis(port=running.port) as client:
        client.xgroup_create("orders", "points", mkstream=True)
        for number in range(6):
            client.xadd("orders", {"orderno": str(number)})
        for kill_at in (*STEPS, "never"):
            command = [sys.executable, "-c", CONSUMER, str(running.port), where, kill_at]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=os.environ)
            assert ended.returncode == (0 if kill_at == "never" else -signal.SIGKILL), ended.stderr
        assert client.xpending("orders", "points")["pending"] == 0
    with closing(connect()) as connection:
        handled = sorted(row[0] for row in connection.execute("SELECT what FROM effects"))
    assert handled == ["0", "1", "2", "3", "4", "5"]


def test_a_handler_killed_at_every_step_has_each_effect_once(tmp_path: Path) -> None:
    """C14"""
    place = str(tmp_path / "db")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("CREATE TABLE effects (what TEXT)")
    killed_at_every_step(place, lambda: sqlite3.connect(place))


def test_a_handler_killed_at_every_step_has_each_effect_once_in_postgresql(postgres_place: str) -> None:
    """C14"""
    with psycopg.connect(postgres_place) as connection:
        connection.execute("CREATE TABLE effects (what TEXT)")
    killed_at_every_step(postgres_place, lambda: psycopg.connect(postgres_place))
