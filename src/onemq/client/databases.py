"""The user's database, as far as exactly-once effects need it: begin, execute, end.

One small face over DB-API connections and SQLAlchemy's, sync and asyncio. None of these packages is loaded from
here unless the user has: what a connection is, its class says.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from onemq.errors import InvalidArgument

Row = Any

_DIALECTS = {"sqlite3": "sqlite", "psycopg": "postgresql"}
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with {name} for each value; the values stand in the order of their places."""

    sql: str
    values: Mapping[str, object] = field(default_factory=dict)

    def positional(self, placeholder: str) -> str:
        return self.sql.format_map(dict.fromkeys(self.values, placeholder))

    def named(self) -> str:
        return self.sql.format_map({name: f":{name}" for name in self.values})


class Database(Protocol):
    """A connection in whose transaction things happen."""

    dialect: str

    def begin(self) -> None:
        """Begins a transaction unless one is open."""

    def execute(self, statement: Statement) -> Sequence[Row]:
        """Returns the rows, if the statement gives any."""

    def end(self, how: str) -> None:
        """COMMIT or ROLLBACK."""


class AsyncDatabase(Protocol):
    """The same for asyncio."""

    dialect: str

    async def begin(self) -> None: ...
    async def execute(self, statement: Statement) -> Sequence[Row]: ...
    async def end(self, how: str) -> None: ...


def database(connection: Any) -> Database:
    """The face of a connection; InvalidArgument if it is of a kind that is not supported."""
    if _is_from("sqlalchemy", connection):
        return _SqlAlchemy(connection)
    return _DbApi(connection, *_driver_of(connection))


async def async_database(connection: Any) -> AsyncDatabase:
    """The same for a connection whose methods are awaited."""
    if _is_from("sqlalchemy", connection):
        face = await connection.run_sync(_SqlAlchemy)
        return _AsyncSqlAlchemy(connection, face)
    return _AsyncDbApi(connection, *_driver_of(connection))


def _is_from(package: str, connection: Any) -> bool:
    return any(kind.__module__.partition(".")[0] == package for kind in type(connection).__mro__)


def _driver_of(connection: Any) -> tuple[str, str]:
    """The dialect and the placeholder of a DB-API connection."""
    for kind in type(connection).__mro__:
        package = kind.__module__.partition(".")[0]
        if package in _DIALECTS:
            return _DIALECTS[package], _PLACEHOLDERS[sys.modules[package].paramstyle]
    raise InvalidArgument(
        f"a connection of {type(connection).__module__}.{type(connection).__qualname__} is not supported; "
        "use one of sqlite3, psycopg or SQLAlchemy, to SQLite or PostgreSQL"
    )


class _DbApi:
    """A connection as PEP 249 has it."""

    def __init__(self, connection: Any, dialect: str, placeholder: str) -> None:
        self._connection = connection
        self.dialect = dialect
        self._placeholder = placeholder
        self._begun = False

    def begin(self) -> None:
        begin = _begin(self._connection, self.dialect)
        if begin is not None:
            self._begun = True
            self.execute(Statement(begin))

    def execute(self, statement: Statement) -> Sequence[Row]:
        cursor = self._connection.cursor()
        try:
            cursor.execute(statement.positional(self._placeholder), tuple(statement.values.values()))
            return list(cursor.fetchall()) if cursor.description is not None else []
        finally:
            cursor.close()

    def end(self, how: str) -> None:
        if self._begun:  # drivers ignore commit() where they believe that no transaction is open
            self._begun = False
            self.execute(Statement(how))
        elif how == "COMMIT":
            self._connection.commit()
        else:
            self._connection.rollback()


class _AsyncDbApi:
    """A connection of psycopg for asyncio."""

    def __init__(self, connection: Any, dialect: str, placeholder: str) -> None:
        self._connection = connection
        self.dialect = dialect
        self._placeholder = placeholder
        self._begun = False

    async def begin(self) -> None:
        begin = _begin(self._connection, self.dialect)
        if begin is not None:
            self._begun = True
            await self.execute(Statement(begin))

    async def execute(self, statement: Statement) -> Sequence[Row]:
        async with self._connection.cursor() as cursor:
            await cursor.execute(statement.positional(self._placeholder), tuple(statement.values.values()))
            return list(await cursor.fetchall()) if cursor.description is not None else []

    async def end(self, how: str) -> None:
        if self._begun:
            self._begun = False
            await self.execute(Statement(how))
        elif how == "COMMIT":
            await self._connection.commit()
        else:
            await self._connection.rollback()


def _begin(connection: Any, dialect: str) -> str | None:
    """What begins a transaction, where the driver does not by itself."""
    if dialect == "sqlite":
        return None if connection.in_transaction else "BEGIN IMMEDIATE"
    return "BEGIN" if connection.autocommit and not _is_in_transaction(connection) else None


def _is_in_transaction(connection: Any) -> bool:
    status = connection.info.transaction_status
    return bool(int(status) != 0)  # 0 is libpq's PQTRANS_IDLE


class _SqlAlchemy:
    """A Connection or a Session, which begin by themselves."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        bind = connection.get_bind() if hasattr(connection, "get_bind") else connection
        self.dialect = str(bind.dialect.name)
        if self.dialect not in _DIALECTS.values():
            raise InvalidArgument(f"{self.dialect} is not supported; use SQLite or PostgreSQL")

    def begin(self) -> None:
        """With the first statement."""

    def execute(self, statement: Statement) -> Sequence[Row]:
        from sqlalchemy import text

        result = self._connection.execute(text(statement.named()), dict(statement.values))
        return list(result.fetchall()) if result.returns_rows else []

    def end(self, how: str) -> None:
        if how == "COMMIT":
            self._connection.commit()
        else:
            self._connection.rollback()


class _AsyncSqlAlchemy:
    """An AsyncConnection or an AsyncSession."""

    def __init__(self, connection: Any, face: _SqlAlchemy) -> None:
        self._connection = connection
        self._face = face
        self.dialect = face.dialect

    async def begin(self) -> None:
        """With the first statement."""

    async def execute(self, statement: Statement) -> Sequence[Row]:
        rows: Sequence[Row] = await self._connection.run_sync(lambda _: self._face.execute(statement))
        return rows

    async def end(self, how: str) -> None:
        await self._connection.run_sync(lambda _: self._face.end(how))
