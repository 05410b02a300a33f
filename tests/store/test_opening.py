"""A URL chooses the database; nothing is opened by that, and no password is shown."""

import subprocess
import sys
from pathlib import Path

import pytest

from goop_mcp.errors import StoreError
from goop_mcp.settings import DatabaseUrl, SettingsError, read_settings
from goop_mcp.store.opening import open_store
from tests.store.rows import add_named

SECRET = "hunter2"  # noqa: S105 - what must not be shown


@pytest.mark.parametrize(
    ("url", "place"),
    [
        (None, ".goopspec/goop.db"),
        ("sqlite:///rows/own.db", "rows/own.db"),
        ("sqlite:///with%20blank.db", "with blank.db"),
        ("SQLITE:///upper.db", "upper.db"),
    ],
)
def test_sqlite_urls_name_a_file_of_the_project(
    tmp_path: Path, url: str | None, place: str
) -> None:
    store = open_store(url, project=tmp_path)
    assert (store.location, store.exists()) == (place, False)
    add_named(store, "one")
    store.close()
    assert (tmp_path / place).is_file()


def test_the_project_may_be_named_by_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for project in (str(tmp_path / "whole"), "relative"):
        Path(project).mkdir()
        store = open_store(None, project=project)
        add_named(store, "one")
        store.close()
        assert (tmp_path / project / ".goopspec" / "goop.db").is_file()


def test_a_path_with_a_slash_of_its_own_is_absolute_and_shown_by_its_name_only(
    tmp_path: Path,
) -> None:
    elsewhere, project = tmp_path / "elsewhere", tmp_path / "project"
    elsewhere.mkdir()
    project.mkdir()
    store = open_store(f"sqlite:///{elsewhere}/goop.db", project=project)
    add_named(store, "one")
    store.close()
    assert (elsewhere / "goop.db").is_file()
    assert store.location == "goop.db"
    assert list(project.iterdir()) == []


def test_no_folder_is_made_outside_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    for url in (f"sqlite:///{tmp_path}/typo/goop.db", "sqlite:///../typo/goop.db"):
        store = open_store(url, project=project)
        with pytest.raises(
            StoreError, match=r"the folder of \S*goop\.db does not exist; create it"
        ):
            add_named(store, "one")

        store.close()

    assert [each.name for each in tmp_path.iterdir()] == ["project"]


@pytest.mark.parametrize(
    "url",
    [
        *("goop.db", "", "mysql://u:hunter2@host/db", "postgresql://u:hunter2@h/d"),
        *(
            "sqlite://",
            "sqlite:///",
            "sqlite:///:memory:",
            "sqlite://host/x.db",
            "sqlite:///folder/",
        ),
        *("sqlite:///a.db?mode=ro&key=hunter2", "sqlite:///a%00b"),
    ],
)
def test_other_urls_are_refused_with_what_was_expected_and_without_the_password(
    tmp_path: Path, url: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        open_store(url, project=tmp_path)

    assert "database" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql://user:hunter2@host:5432/rows?password=hunter2",
            "postgresql://user@host:5432/rows",
        ),
        ("postgresql://user:hun@ter2@host/rows", "postgresql://user@host/rows"),
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("hunter2", "***"),
    ],
)
def test_a_shown_url_has_no_password(url: str, shown: str) -> None:
    hidden = DatabaseUrl(url)
    assert str(hidden) == shown
    assert f"{hidden!r} {hidden}" == f"DatabaseUrl({shown!r}) {shown}"
    assert hidden.reveal() == url


def test_settings_take_the_database_from_the_option_then_from_the_environment(
    tmp_path: Path,
) -> None:
    environment = {
        "GOOP_PROJECT_DIR": str(tmp_path),
        "GOOP_DATABASE_URL": "sqlite:///e.db",
        "GOOP_PROJECT_ID": "e",
    }
    from_environment = read_settings(environment)
    assert (from_environment.database, from_environment.project_id) == (
        DatabaseUrl("sqlite:///e.db"),
        "e",
    )
    from_options = read_settings(environment, database="sqlite:///o.db", project_id="o")
    assert (from_options.database, from_options.project_id) == (DatabaseUrl("sqlite:///o.db"), "o")
    unset = read_settings(environment | {"GOOP_DATABASE_URL": "", "GOOP_PROJECT_ID": ""})
    assert (unset.database, unset.project_id) == (None, None)


def test_settings_show_no_password(tmp_path: Path) -> None:
    environment = {
        "GOOP_PROJECT_DIR": str(tmp_path),
        "GOOP_DATABASE_URL": f"postgresql://u:{SECRET}@h/d",
    }
    assert SECRET not in repr(read_settings(environment))


def test_importing_the_package_and_the_opening_loads_no_database() -> None:
    code = (
        "import goop_mcp, goop_mcp.store.opening, sys; print({'apsw', 'psycopg', 'sqlite3'} &"
        " set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"
