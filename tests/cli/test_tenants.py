"""`--tenant`: each command shows what belongs to one tenant of a database."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import Ended, run
from tests.postgres import Database
from tests.retry.agents import GOOD

SHOWN: Mapping[str, tuple[str, ...]] = {
    "reports": ("reports", "list"),
    "memory": ("memory", "list"),
    "stats": ("stats",),
    "status": ("status",),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "reply.md").write_text(GOOD, encoding="utf-8")
    # The files that the report claims, since claims are verified before they are recorded.
    (tmp_path / "src" / "auth").mkdir(parents=True)
    for name in ("service", "middleware", "types"):
        (tmp_path / "src" / "auth" / f"{name}.ts").touch()

    return tmp_path


def call(folder: Path, database: Database, *words: str, tenant: str) -> Ended:
    where = ("--database", database.url(), "--project-id", "shop", "--tenant", tenant)
    return run(*words, *where, cwd=folder)


def test_each_command_shows_the_rows_of_the_tenant_that_is_named(
    folder: Path, database: Database
) -> None:
    for words in (("reports", "record", "reply.md"), ("memory", "save", "Login", "By session")):
        assert call(folder, database, *words, tenant="acme").code == 0

    acme, rival = (
        {name: call(folder, database, *words, tenant=tenant).out for name, words in SHOWN.items()}
        for tenant in ("acme", "rival")
    )
    assert "goop-executor" in acme["reports"]
    assert "Login" in acme["memory"]
    assert "Nothing is recorded yet" not in acme["stats"]
    assert "1 report, " in acme["status"]

    assert "goop-executor" not in rival["reports"]
    assert "Login" not in rival["memory"]
    assert "Nothing is recorded yet" in rival["stats"]
    assert "0 reports" in rival["status"]
