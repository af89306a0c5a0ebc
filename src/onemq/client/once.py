"""Exactly-once effects in the user's own database: the effect and a note of the message in one SQL transaction.

    def handler(message):
        with once(connection, message, group="points") as first:
            if first:
                connection.execute("UPDATE accounts SET points = points + 1 ...")

The block ends with a commit, or with a rollback if it raises. However often the message is delivered, and wherever
the process is killed, the effect is there once: without the commit neither effect nor note is there, with it both
are, and the next delivery finds the note. Notes older than a window are removed along the way; a message that
comes back later than that is new.

    onemq_done(consumer_group, message_key, done_at)     primary key (consumer_group, message_key), made on demand

Works with SQLite and PostgreSQL, through DB-API connections (sqlite3, psycopg) and SQLAlchemy connections
and sessions; `async with` for psycopg's AsyncConnection and SQLAlchemy's asyncio ones.
"""

import itertools
import time
from collections.abc import Generator, Mapping
from types import TracebackType
from typing import Any, Protocol

from onemq.client.databases import AsyncDatabase, Database, Row, Statement, async_database, database
from onemq.errors import InvalidArgument
from onemq.units import parse_duration_ms

TABLE = "onemq_done"
WINDOW = "7d"
CLEAN_EVERY = 256
"""Every so many notes of this process, old ones are removed."""
CLEAN_ROWS_MAX = 1_000
"""As many at a time, so that no handler waits for long."""
_LOCK_NUMBER = 0x6F6E656D71
"""Under this advisory lock of PostgreSQL the table is made: two processes may come at the same time."""

_notes = itertools.count(1)

Steps = Generator[Statement, Row | None, bool]
"""Statements go out; the first row of each comes back, if there was one. Only that counts, since what a row is
like is the user's choice."""


class HasIdentity(Protocol):
    """What is asked of a message."""

    @property
    def topic(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def key(self) -> Any: ...
    @property
    def headers(self) -> Any: ...


class Once:
    """The block in which a message has its effect. Made by `once`; for one use."""

    def __init__(self, connection: Any, key: str, group: str, window_ms: int, commit: bool) -> None:
        self._connection = connection
        self._identity = {"consumer_group": group, "message_key": key}
        self._window_ms = window_ms
        self._commit = commit
        self._database: Database
        self._async_database: AsyncDatabase

    def __enter__(self) -> bool:
        """Whether the message is here for the first time."""
        self._database = database(self._connection)
        self._database.begin()
        try:
            return _run(_note(self._database.dialect, self._identity, self._window_ms), self._database)
        except BaseException:
            self._end(failed=True)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(failed=kind is not None)

    def _end(self, failed: bool) -> None:
        if self._commit:
            self._database.end("ROLLBACK" if failed else "COMMIT")

    async def __aenter__(self) -> bool:
        self._async_database = await async_database(self._connection)
        await self._async_database.begin()
        try:
            steps = _note(self._async_database.dialect, self._identity, self._window_ms)
            return await _run_async(steps, self._async_database)
        except BaseException:
            await self._aend(failed=True)
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._aend(failed=kind is not None)

    async def _aend(self, failed: bool) -> None:
        if self._commit:
            await self._async_database.end("ROLLBACK" if failed else "COMMIT")


def once(
    connection: Any,
    message: HasIdentity | str,
    *,
    group: str,
    by: str = "id",
    window: str | int = WINDOW,
    commit: bool = True,
) -> Once:
    """A block that tells whether this message is here for the first time, and that ends the transaction.

    `by` says what makes two messages the same: "id", "key" or "header:<name>"; or `message` is text that says so
    itself. What is uncommitted on the connection when the block begins belongs to it. With `commit=False` the note
    becomes part of a transaction that the caller ends. Fails with InvalidArgument, and as the database does.
    """
    key = message if isinstance(message, str) else key_of(message, by)
    return Once(connection, key, group, _window_ms(window), commit)


def clean(connection: Any, *, window: str | int = WINDOW) -> int:
    """Removes all notes older than the window, and commits. Returns how many. For a job of one's own: handlers
    remove a few each time by themselves."""
    done = database(connection)
    removed = 0
    while True:
        done.begin()
        try:
            _run(_prepare(done.dialect), done)
            rows = done.execute(_clean(done.dialect, _window_ms(window)))
        except BaseException:
            done.end("ROLLBACK")
            raise
        done.end("COMMIT")
        removed += len(rows)
        if len(rows) < CLEAN_ROWS_MAX:
            return removed


def prepare(connection: Any) -> None:
    """Makes the table, and commits: for a deployment whose handlers may not make tables."""
    made = database(connection)
    made.begin()
    _run(_prepare(made.dialect), made)
    made.end("COMMIT")


def key_of(message: HasIdentity, by: str = "id") -> str:
    """What the note of a message is kept under. An id is unique in a broker, keys and headers are in their topic."""
    if by == "id":
        return f"id:{message.id}"
    value = message.key if by == "key" else message.headers.get(by.removeprefix("header:"))
    if by != "key" and not by.startswith("header:"):
        raise InvalidArgument(f'by={by!r} is unknown; write "id", "key" or "header:<name>"')
    if value is None:
        raise InvalidArgument(f'message {message.id} of {message.topic} has no {by}; send it with one, or use by="id"')
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return f"{by}:{message.topic}:{text}"


# The steps, without I/O


def _note(dialect: str, identity: Mapping[str, object], window_ms: int) -> Steps:
    """Notes the message; returns whether it was new."""
    yield from _prepare(dialect)
    row = yield Statement(
        f"INSERT INTO {TABLE} (consumer_group, message_key, done_at) "
        "VALUES ({consumer_group}, {message_key}, {done_at}) ON CONFLICT DO NOTHING RETURNING 1",
        {**identity, "done_at": _now_ms()},
    )
    if row is not None and next(_notes) % CLEAN_EVERY == 0:
        yield _clean(dialect, window_ms)
    return row is not None


def _prepare(dialect: str) -> Steps:
    """Makes the table unless it is there; returns whether it was made."""
    if dialect == "postgresql":
        row = yield Statement("SELECT 1 WHERE to_regclass({name}) IS NOT NULL", {"name": TABLE})
        if row is not None:
            return False
        yield Statement("SELECT pg_advisory_xact_lock({number})", {"number": _LOCK_NUMBER})
    yield Statement(
        f"CREATE TABLE IF NOT EXISTS {TABLE} (consumer_group TEXT NOT NULL, message_key TEXT NOT NULL, "
        "done_at BIGINT NOT NULL, PRIMARY KEY (consumer_group, message_key))"
    )
    yield Statement(f"CREATE INDEX IF NOT EXISTS {TABLE}_at ON {TABLE} (done_at)")
    return True


def _clean(dialect: str, window_ms: int) -> Statement:
    """Removes some old notes; those that somebody else is about to remove are left to them."""
    row, skip = ("ctid", " FOR UPDATE SKIP LOCKED") if dialect == "postgresql" else ("rowid", "")
    return Statement(
        f"DELETE FROM {TABLE} WHERE {row} IN (SELECT {row} FROM {TABLE} WHERE done_at < {{until}} "
        f"ORDER BY done_at LIMIT {CLEAN_ROWS_MAX}{skip}) RETURNING 1",
        {"until": _now_ms() - window_ms},
    )


def _run(steps: Steps, on: Database) -> bool:
    row: Row | None = None
    while True:
        try:
            statement = steps.send(row)
        except StopIteration as end:
            return bool(end.value)
        row = next(iter(on.execute(statement)), None)


async def _run_async(steps: Steps, on: AsyncDatabase) -> bool:
    row: Row | None = None
    while True:
        try:
            statement = steps.send(row)
        except StopIteration as end:
            return bool(end.value)
        row = next(iter(await on.execute(statement)), None)


def _window_ms(window: str | int) -> int:
    try:
        return parse_duration_ms(window)
    except ValueError as problem:
        raise InvalidArgument(str(problem)) from None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
