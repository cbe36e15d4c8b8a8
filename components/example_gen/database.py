"""A query of a database as a source of rows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from components.errors import UserError
from components.example_gen import arrow_types
from components.example_gen.config import DataConfig
from components.example_gen.hashing import row_hashes
from components.example_gen.readers import Piece
from components.example_gen.readers.objects import batch_of

_ROWS = 20_000
# Of what SQLAlchemy and its dialects speak to; anything else is a database when there is a query.
_KNOWN = re.compile(
    r"^(postgres|postgresql|mysql|mariadb|sqlite|mssql|oracle|snowflake|bigquery|redshift|duckdb|trino|clickhouse)"
    r"(\+\w+)?://"
)


def is_database(config: DataConfig) -> bool:
    """Whether the source is a database.

    Raises:
      UserError: when it is one, but no query says which rows; or there is a query, but no database.
    """
    source = config.source
    if not isinstance(source, str) or not (config.query or _KNOWN.match(source)):
        if config.query:
            raise UserError("a query needs one source: the database", where="data.query")
        return False
    if not config.query:
        raise UserError(
            f"{hidden(source)} is a database", where="data.source", fix="say which rows: data.query: SELECT …"
        )
    if "://" not in source:
        raise UserError(
            f"data.query needs a database, received data.source {source!r}",
            where="data.query",
            fix="name the database by URL, such as postgresql://host/name or sqlite:///file.db",
        )
    return True


def hidden(source: str) -> str:
    """The URL without its password."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", source)


def keep_rows(config: DataConfig, folder: str) -> list[Piece]:
    """Runs the query and keeps its rows as files in a folder of any file system that Beam knows."""
    from apache_beam.io.filesystems import FileSystems

    pieces, before = [], 0
    for index, batch in enumerate(_batches(config)):
        path = f"{folder}/query-{index:05d}.arrow"
        with FileSystems.create(path) as stream, pa.ipc.new_stream(stream, batch.schema) as writer:
            writer.write_batch(batch)
        pieces.append(Piece((path,), None, (before, before + batch.num_rows)))
        before += batch.num_rows
    return pieces


def fingerprint(config: DataConfig) -> str:
    """SHA-256 that tells whether the rows of the query changed; it runs the query.

    The order in which the database gives the rows does not matter.
    """
    total, rows, names = 0, 0, []
    for batch in _batches(config):
        names = batch.schema.names
        hashes = row_hashes(arrow_types.flatten(batch))
        total = (total + int(hashes.sum())) % 2**64
        rows += batch.num_rows
    return hashlib.sha256(f"{config.query}\0{names}\0{rows}\0{total}".encode()).hexdigest()


def _batches(config: DataConfig) -> Iterator[pa.RecordBatch]:
    with _result(config) as result:
        names = list(result.keys())
        for name in names:
            if names.count(name) > 1:
                raise UserError(
                    f"column name {name!r} stands twice in the result", where="data.query", fix="use AS"
                )
        some = result.fetchmany(_ROWS)
        while True:
            columns = list(zip(*some)) if some else [()] * len(names)
            yield batch_of(dict(zip(names, columns)))
            if len(some) < _ROWS:
                return
            some = result.fetchmany(_ROWS)
            if not some:
                return


@contextlib.contextmanager
def _result(config: DataConfig) -> Iterator[Any]:
    import sqlalchemy
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

    source = _expanded(str(config.source))
    _check_file(source)
    try:
        engine = sqlalchemy.create_engine(source)
    except (NoSuchModuleError, ImportError) as error:
        raise UserError(
            f"no driver for {hidden(source).split(':')[0]}: {error}",
            where="data.source",
            fix="install it, such as `pip install psycopg2-binary` for postgresql:// or "
            "`pip install pymysql` for mysql+pymysql://",
        ) from error
    except ArgumentError as error:
        raise UserError(f"not a database URL: {hidden(source)}", where="data.source") from error
    try:
        with engine.connect() as connection:
            streaming = connection.execution_options(stream_results=True, max_row_buffer=_ROWS)
            result = streaming.execute(sqlalchemy.text(str(config.query)))
            if not result.returns_rows:
                raise UserError("the query gives no rows", where="data.query", fix="use a SELECT")
            yield result
    except SQLAlchemyError as error:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise UserError(
            f"{hidden(source)} says: {cause.replace(source, hidden(source))}", where="data.query"
        ) from error
    finally:
        engine.dispose()


def _expanded(source: str) -> str:
    """The URL with ${NAME} replaced by the environment, so that a password need not stand in a file."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise UserError(
                f"the environment has no {match[1]}", where="data.source", fix=f"export {match[1]}=…"
            )
        return os.environ[match[1]]

    return re.sub(r"\$\{(\w+)\}", value, source)


def _check_file(source: str) -> None:
    """SQLite would make a file that is not there."""
    path = source.removeprefix("sqlite:///") if source.startswith("sqlite:///") else ""
    if path and path != ":memory:" and not Path(path).exists():
        raise UserError(f"no such file: {path}", where="data.source")
