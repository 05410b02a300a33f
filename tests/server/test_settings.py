import logging
import sys
from pathlib import Path

import pytest

from goop_mcp.errors import GoopError
from goop_mcp.logs import configure_logging
from goop_mcp.settings import SettingsError, read_settings


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, str]:
    """Make one folder a source and return them by name."""
    names = ["option", "goop", "claude"]
    for name in names:
        (tmp_path / name).mkdir()
    return {name: str(tmp_path / name) for name in names}


def test_project_is_that_of_the_option_then_ours_then_the_hosts_then_the_current_folder(
    folders: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    environment = {"GOOP_PROJECT_DIR": folders["goop"], "CLAUDE_PROJECT_DIR": folders["claude"]}
    assert (
        read_settings(environment, project=folders["option"]).project
        == Path(folders["option"]).resolve()
    )
    assert read_settings(environment).project == Path(folders["goop"]).resolve()
    del environment["GOOP_PROJECT_DIR"]
    assert read_settings(environment).project == Path(folders["claude"]).resolve()
    assert read_settings({}).project == tmp_path.resolve()


def test_empty_variable_counts_as_unset(folders: dict[str, str]) -> None:
    environment = {
        "GOOP_PROJECT_DIR": "",
        "CLAUDE_PROJECT_DIR": folders["claude"],
        "GOOP_LOG_LEVEL": "",
    }
    settings = read_settings(environment)
    assert (settings.project, settings.log_level) == (Path(folders["claude"]).resolve(), "WARNING")


@pytest.mark.parametrize("folder", ["no-such-folder", "a\0b", "x" * 5000, __file__])
def test_project_that_is_no_folder_is_refused_under_the_name_of_its_source(folder: str) -> None:
    with pytest.raises(SettingsError, match=r"^CLAUDE_PROJECT_DIR is '"):
        read_settings({"CLAUDE_PROJECT_DIR": folder})


@pytest.mark.parametrize("given", ["debug", " Debug ", "DEBUG"])
def test_log_level_is_read_in_any_case(given: str) -> None:
    assert read_settings({"GOOP_LOG_LEVEL": given}).log_level == "DEBUG"


def test_unknown_log_level_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(GoopError) as refusal:
        read_settings({"GOOP_LOG_LEVEL": "WARN"})

    assert (
        str(refusal.value)
        == "GOOP_LOG_LEVEL is 'WARN'; expected one of DEBUG, INFO, WARNING, ERROR, CRITICAL; did"
        " you mean WARNING?"
    )


def test_record_with_a_traceback_is_one_line_on_stderr(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    configure_logging("INFO", clean=lambda text: text)

    try:
        raise RuntimeError("first\r\nsecond")
    except RuntimeError:
        logging.getLogger("goop_mcp.test").exception("it broke\nhere")

    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert r"ERROR goop_mcp.test: it broke\nhere\nTraceback" in line
    assert r"RuntimeError: first\r\nsecond" in line
    assert sys.stderr is not None


@pytest.mark.parametrize("given", ["json", " JSON ", "Json"])
def test_log_format_is_read_in_any_case(given: str) -> None:
    assert read_settings({"GOOP_LOG_FORMAT": given}).log_format == "json"
    assert read_settings({}).log_format == "text"


def test_unknown_log_format_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError) as refusal:
        read_settings({"GOOP_LOG_FORMAT": "jsonl"})

    assert (
        str(refusal.value)
        == "GOOP_LOG_FORMAT is 'jsonl'; expected one of text, json; did you mean json?"
    )
