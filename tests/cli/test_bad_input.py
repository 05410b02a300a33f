"""Invalid input is reported in one sentence with a fix: exit code 2, no traceback."""

import json
from pathlib import Path

import pytest

from goop_mcp.cli import main
from goop_mcp.validation.limits import DEFAULT_LIMITS
from tests.cli.running import ACCEPTED, CASES, REJECTED, Ended, run, run_in_shell, unverified
from tests.rights import ordinary_rights

LIMIT = f"{DEFAULT_LIMITS.text_bytes:,}"


def assert_refused(ended: Ended, sentence: str) -> None:
    """Assert that nothing but `sentence` was printed."""
    assert (ended.code, ended.out, ended.err) == (2, "", f"goop-mcp: {sentence}\n")


@pytest.mark.parametrize("command", ["check", "repair"])
@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"caf\xe9 x", "is not UTF-8 (byte 0xe9 at offset 3); save it as UTF-8."),
        ("<goop_report>".encode("utf-16"), "is UTF-16; save it as UTF-8."),
        ("<goop_report>".encode("utf-16-le"), "is UTF-16, or no text at all; save it as UTF-8."),
        ("<goop_report>".encode("utf-32"), "is UTF-32; save it as UTF-8."),
    ],
)
def test_a_file_in_another_encoding_is_refused(
    command: str, content: bytes, error: str, tmp_path: Path
) -> None:
    (tmp_path / "reply.md").write_bytes(content)
    assert_refused(run(command, "reply.md", cwd=tmp_path), f"'reply.md' {error}")


@pytest.mark.parametrize("command", ["check", "repair"])
def test_a_file_that_does_not_exist_is_refused(command: str, tmp_path: Path) -> None:
    assert_refused(
        run(command, "reply.md", cwd=tmp_path), "'reply.md' does not exist; check the path."
    )


def test_a_folder_without_replies_is_refused(tmp_path: Path) -> None:
    (tmp_path / "code.py").touch()
    (tmp_path / ".hidden.md").touch()
    assert_refused(
        run("check", ".", cwd=tmp_path),
        "'.' has no file that ends with .json, .md, .txt or .xml; name the files.",
    )
    assert_refused(
        run("repair", ".", cwd=tmp_path),
        "'.' is a folder; add --diff to see changes, --write to make them.",
    )


def test_a_file_without_permission_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = tmp_path / "reply.md"
    reply.touch(mode=0)
    with ordinary_rights():
        code = main(["check", str(reply)])

    output = capsys.readouterr()
    sentence = f"'{reply}' may not be read by you; change its permissions."
    assert_refused(Ended(code, output.out, output.err), sentence)


def test_a_path_that_leads_through_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "reply.md").touch()
    sentence = "'reply.md/x' cannot be read (not a directory); name a text file."
    assert_refused(run("check", "reply.md/x", cwd=tmp_path), sentence)


@pytest.mark.parametrize("name", ["/dev/zero", "-"])
def test_an_endless_file_is_refused_without_reading_it_to_the_end(name: str) -> None:
    called = "standard input" if name == "-" else f"'{name}'"
    sentence = (
        f"{called} has more than {LIMIT} bytes, the most that is read; keep only the end of the"
        " reply, where"
    )
    ended = run_in_shell(f'"$@" check {name} < /dev/zero')
    assert_refused(ended, f"{sentence} the envelope stands.")


def test_a_file_of_50_megabytes_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "big.md").open("wb") as big:
        big.truncate(50 * 1024 * 1024)
    ended = run("check", "big.md", cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith(f"goop-mcp: 'big.md' has more than {LIMIT} bytes")


@pytest.mark.parametrize(
    "command",
    [["handoff", "draft"], ["handoff", "agent-request", "--json"], ["reports", "build", "--json"]],
    ids=" ".join,
)
def test_a_huge_file_that_is_no_reply_is_to_be_shortened(
    command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "huge").write_bytes(b"x" * (DEFAULT_LIMITS.text_bytes + 1))
    assert_refused(
        run(*command, "huge", cwd=tmp_path),
        f"'huge' has more than {LIMIT} bytes, the most that is read; shorten it.",
    )


def test_a_file_of_the_largest_size_is_judged(tmp_path: Path) -> None:
    report = ACCEPTED.read_bytes()
    (tmp_path / "large.md").write_bytes(
        b"x" * (DEFAULT_LIMITS.text_bytes - len(report) - 1) + b"\n" + report
    )
    assert run("check", "large.md", cwd=tmp_path).code == 0


def test_files_that_cannot_be_read_do_not_stop_the_others() -> None:
    ended = run("check", "missing.md", REJECTED.name, ACCEPTED.name, cwd=CASES)
    assert ended.code == 2
    assert ended.out.endswith("3 files: 1 accepted, 1 rejected, 1 not read; 1 error\n")
    missing = "goop-mcp: 'missing.md' does not exist; check the path.\n"
    assert ended.err == unverified(7) + missing


def test_a_name_with_control_characters_is_shown_with_escapes(tmp_path: Path) -> None:
    ended = run("check", "\x1b[2J.md", cwd=tmp_path)
    assert ended.err == "goop-mcp: '\\x1b[2J.md' does not exist; check the path.\n"


def test_standard_input_named_twice_is_refused() -> None:
    ended = run("check", "-", "-")
    assert_refused(ended, "standard input (-) is named twice and can be read once.")


def test_a_closed_standard_input_is_refused() -> None:
    assert_refused(run_in_shell('"$@" check - <&-'), "standard input is closed; name a file.")
    assert_refused(
        run_in_shell('"$@" check <&-'),
        "no file is named, and nothing is piped in; name a file or a folder.",
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["chek"], "there is no command 'chek'; did you mean 'check'?"),
        (["check", "--stricd"], "no such option '--stricd'; did you mean '--strict'?"),
        (
            ["check", "--protocol", "goop_reprot"],
            "there is no protocol 'goop_reprot'; did you mean 'goop_report'?",
        ),
        (
            ["check", "--protocol", "soap", "missing.md"],
            (
                "there is no protocol 'soap'; known are auto, goop_report, agent_request, speckit,"
                " factory."
            ),
        ),
        (
            ["check", "--format", "yaml"],
            (
                "invalid value for '--format': 'yaml' is not one of 'text', 'json', 'sarif',"
                " 'github', 'gitlab', 'junit'; see goop-mcp check --help."
            ),
        ),
        (
            ["repair"],
            "no reply is named; name a file, - for standard input, or --report N.",
        ),
        (
            ["rules", "goop_report/unknown-statu"],
            (
                "there is no rule 'goop_report/unknown-statu'; did you mean"
                " 'goop_report/unknown-status'?"
            ),
        ),
        (
            ["schema", "goop_reprot"],
            "there is no schema 'goop_reprot'; did you mean 'goop_report'?",
        ),
        (["schema", "--version", "0.1.6"], "--version needs a PROTOCOL before it."),
        (
            ["prompt", "goop_reprot"],
            "there is no prompt 'goop_reprot'; did you mean 'goop_report'?",
        ),
        (["check", ""], "a file name is empty; name a file or a folder."),
        (["repair", ""], "a file name is empty; name a file or a folder."),
        (
            ["repair", "."],
            "'.' is a folder; add --diff to see changes, --write to make them.",
        ),
        (
            ["delegate", "--parallel", "x"],
            "invalid value for '--parallel': 'x' is not a whole number from 1 to 1,000; see"
            " goop-mcp delegate --help.",
        ),
        (
            ["run", "--timeout", "0", "--", "true"],
            "invalid value for '--timeout': 0.0 is not a number above 0, up to 86,400; see goop-mcp"
            " run --help.",
        ),
        (
            ["evidence", "remove", "--keep", "-1"],
            "invalid value for '--keep': -1 is not a whole number from 0 up; see goop-mcp evidence"
            " remove --help.",
        ),
        (
            ["delegate", "--trust"],
            "option '--trust' requires an argument; see goop-mcp delegate --help.",
        ),
        (
            ["memory", "save", "--type"],
            "option '--type' requires an argument; see goop-mcp memory save --help.",
        ),
        (["prompt", "--set", "agent=goop-tester"], "--set needs the NAME of a prompt before it."),
        (
            ["prompt", "goop_report", "--set", "x"],
            "--set 'x' has no equals sign; write --set key=value.",
        ),
    ],
)
def test_a_usage_error_is_reported(arguments: list[str], sentence: str) -> None:
    assert_refused(run(*arguments), sentence)


@pytest.mark.parametrize(
    "arguments",
    [
        ["schema", "goop_report", "--version", "9.9"],
        ["prompt", "goop_report", "--set", "colour=red"],
        ["prompt", "repair_report"],
    ],
)
def test_values_that_do_not_fit_are_refused_without_a_traceback(arguments: list[str]) -> None:
    ended = run(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 1
    assert ended.err.startswith("goop-mcp: ")


@pytest.mark.parametrize(
    "command",
    [
        ["memory", "list"],
        ["memory", "save", "Title", "Content"],
        ["memory", "search", "words"],
        ["memory", "export"],
        ["stats"],
        ["handoff", "session"],
        ["handoff", "session", "--write"],
    ],
    ids=" ".join,
)
def test_a_database_that_cannot_be_used_is_one_exit_code_for_all_commands(
    command: list[str], tmp_path: Path
) -> None:
    (tmp_path / ".goopspec").mkdir()
    (tmp_path / ".goopspec/goop.db").write_bytes(b"this is no database" * 100)
    fix = "it was not changed: restore a copy with goop-mcp restore FILE, or move it away."
    assert_refused(run(*command, cwd=tmp_path), f".goopspec/goop.db is not a database; {fix}")


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
@pytest.mark.parametrize("character", ["\x1b[31m", "\u202e", "\x9b2J", "\u2066", "\u200b"])
def test_no_format_prints_control_characters_of_a_file_name(
    form: str, character: str, tmp_path: Path
) -> None:
    names = [f"bad{character}.md", f"missing{character}.md"]
    (tmp_path / names[0]).write_bytes(REJECTED.read_bytes())
    ended = run("check", *names, "--format", form, cwd=tmp_path)

    assert ended.code == 2
    assert character not in ended.out + ended.err
    if form == "json":
        assert json.loads(ended.out)[0]["file"] == names[0]
