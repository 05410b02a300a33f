"""Whatever a command prints about a reply, it shows none of its secrets, at the same places."""

import json
from pathlib import Path
from xml.sax.saxutils import escape

import pytest

from goop_mcp import validate
from tests.cli.running import Ended, run, run_on_terminal
from tests.reliability.planted import Planted, plant
from tests.reliability.test_secrets import one_line, report

FORMATS = ["text", "json", "sarif", "github", "gitlab", "junit"]
# Less than this of a secret gives nothing away; a message that cuts a value must not show more.
SHOWN = 8


def rejected(planted: Planted, number: int) -> str:
    """Return a report that holds the secret in values that findings quote, some cut in it."""
    secret = escape(one_line(planted), {'"': "&quot;"})
    padded = f"{'x' * (number * 5 % 190)} {secret}"
    return (
        report(planted, number)
        .replace("<status>COMPLETE", f"<status>{padded}")
        .replace('action="created"', f'action="{padded}"')
        .replace("<phase>execute", f"<phase>{secret}")
        .replace('importance="0.8"', f'importance="{secret}"')
        .replace('agent="goop-tester"', f'agent="{padded}"')
        .replace("<summary>", "<Summary>a && b ")
        .replace("</summary>", "</Summary>")
    )


@pytest.fixture(scope="module")
def planted() -> list[Planted]:
    return plant(300)


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory, planted: list[Planted]) -> Path:
    folder = tmp_path_factory.mktemp("replies")
    for number, each in enumerate(planted):
        (folder / f"{number:02}-good.md").write_text(report(each, number), encoding="utf-8")
        (folder / f"{number:02}-bad.md").write_text(rejected(each, number), encoding="utf-8")
    return folder


def assert_shows_nothing(ended: Ended, planted: list[Planted]) -> None:
    shown = [
        each.kind
        for each in planted
        for at in range(len(each.core) - SHOWN + 1)
        if each.core[at : at + SHOWN] in ended.out + ended.err
    ]
    assert shown == []


@pytest.mark.parametrize("words", [["--format", each] for each in FORMATS] + [["-v"]])
def test_check_shows_no_secret_in_any_format(
    replies: Path, planted: list[Planted], words: list[str]
) -> None:
    ended = run("check", replies, *words)
    assert ended.code == 1, ended.err
    assert "[REDACTED]" in ended.out
    assert_shows_nothing(ended, planted)


def test_findings_keep_their_places_and_verdicts(replies: Path) -> None:
    found = json.loads(run("check", replies, "--format", "json").out)
    for each in found:
        verdict = validate(Path(each["file"]).read_text(encoding="utf-8"))
        given = [(it.rule, it.line, it.column, it.severity) for it in verdict.findings]
        shown = [(it["rule"], it["line"], it["column"], it["severity"]) for it in each["findings"]]
        assert shown == given
        assert each["verdict"] == verdict.verdict


def test_sarif_marks_as_much_of_the_file_as_the_value_is_long(tmp_path: Path) -> None:
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    file = tmp_path / "reply.md"
    file.write_text(report(plant(1)[0]).replace("<status>COMPLETE", f"<status>{token}"))
    results = json.loads(run("check", file, "--format", "sarif").out)["runs"][0]["results"]
    (status,) = [each for each in results if each["ruleId"] == "goop_report/unknown-status"]
    region = status["locations"][0]["physicalLocation"]["region"]

    assert region["endColumn"] - region["startColumn"] == len(token)
    assert "Status is '[REDACTED]'" in status["message"]["text"]


def test_the_carets_stand_below_the_value_where_a_secret_before_it_is_hidden(
    tmp_path: Path,
) -> None:
    file = tmp_path / "reply.md"
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    text = report(plant(1)[0]).replace("<status>COMPLETE", f"<!-- {token} --><status>DONE")
    file.write_text(text, encoding="utf-8")
    lines = run("check", file).out.splitlines()
    (at,) = [number for number, line in enumerate(lines) if "<status>DONE" in line]

    assert "[REDACTED]" in lines[at]
    assert lines[at].index("DONE") == lines[at + 1].index("^^^^")


def test_a_secret_over_several_lines_is_hidden_in_each(tmp_path: Path) -> None:
    lines = ("MIIQ7aK3jd8sLw0Zx1", "Q7kd93jdk2Rt5Yu8Op")
    key = "-----BEGIN RSA PRIVATE" + " KEY-----\n{}\n{}\n-----END RSA PRIVATE".format(*lines)
    file = tmp_path / "reply.md"
    text = report(plant(1)[0]).replace("<summary>", f"<summary>{key}" + " KEY-----<Wrong/>")
    file.write_text(
        text.replace("execute</phase>", f"execute {lines[1]}</phase>"), encoding="utf-8"
    )
    for form in FORMATS:
        ended = run("check", file, "--format", form)
        assert not any(line in ended.out for line in lines)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("quote", ["&quot;", "&#34;", "&#x27;", "&apos;"])
def test_a_secret_in_quotes_of_markup_is_hidden(tmp_path: Path, quote: str, form: str) -> None:
    # In a step that no finding quotes, and in an element that is cut off.
    value = "f8a9c2e1b7d64503a1e8"
    pair = f"{{{quote}api_key{quote}: {quote}{value}{quote}}}"
    text = report(plant(1)[0]).replace('agent="goop-tester"', f'agent="{pair}"')
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    (tmp_path / "b.md").write_text(f'```xml\n<goop_report>\n<agent {pair}="x">\n```\n')
    ended = run("check", tmp_path, "--format", form, "-v")
    assert value not in ended.out + ended.err


@pytest.mark.parametrize("form", ["text", "json"])
def test_route_shows_no_secret(replies: Path, planted: list[Planted], form: str) -> None:
    for number, kind in ((3, "good"), (3, "bad"), (15, "good"), (19, "bad"), (36, "good")):
        reply = replies / f"{number:02}-{kind}.md"
        ended = run("route", "--no-workspace", reply, "--format", form)
        assert "[REDACTED]" in ended.out or "[PRIVATE]" in ended.out
        assert_shows_nothing(ended, planted)


def test_repair_prints_the_reply_as_it_is_and_notes_without_its_secrets(
    tmp_path: Path, planted: list[Planted]
) -> None:
    each = planted[3]
    file = tmp_path / "reply.md"
    text = report(each).replace("<summary>", "<Summary>a && b ")
    file.write_text(text.replace("</summary>", "</Summary>"), encoding="utf-8")
    ended = run("repair", file)

    assert ended.code == 0
    assert each.core in ended.out
    assert "repaired" in ended.err
    assert_shows_nothing(Ended(0, "", ended.err), planted)
    # A diff is for programs that apply it.
    assert each.core in run("repair", file, "--diff").out

    file.write_text(rejected(each, 7), encoding="utf-8")
    refused = run("repair", file)
    assert (refused.code, refused.out) == (1, "")
    assert_shows_nothing(refused, planted)
    assert_shows_nothing(run("repair", file, "--write"), planted)


def test_the_gate_shows_no_secret_and_hands_on_what_was_written(tmp_path: Path) -> None:
    token = "gh" + "p_a8Kd92LmQz71Xw4Tn0Vb3Rc6Yp5Hs7Je1Gf9"
    prompt = tmp_path / "prompt.md"
    prompt.write_text(
        "```xml\n<agent_request>\n"
        f"<original_intent>Deploy with {token}</original_intent>\n"
        f"<current_task_summary>Deploy it now</current_task_summary>\n<mode>{token}</mode>\n"
        "<task_details>All of it</task_details>\n</agent_request>\n```\n",
        encoding="utf-8",
    )
    log = tmp_path / "session.log"
    ended = run("gate", prompt, "--session-log", log, cwd=tmp_path)

    assert ended.code == 1
    assert "[REDACTED]" in ended.err
    assert token not in ended.err + log.read_text(encoding="utf-8")


def test_verify_shows_no_secret_of_a_report(tmp_path: Path, planted: list[Planted]) -> None:
    (tmp_path / ".goopspec").mkdir()
    checks = tmp_path / ".goopspec" / "checks.toml"
    checks.write_text('[checks.lint]\ncommand = ["true"]\n', encoding="utf-8")
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    trusted = run_on_terminal("run", "--trust", cwd=tmp_path, env=state, typed="y\n")
    assert trusted.code == 0, trusted.out
    reply = tmp_path / "reply.md"
    text = report(planted[20]).replace('name="tests"', f'name="{one_line(planted[20])}"')
    reply.write_text(text, encoding="utf-8")
    words = ("evidence", "verify", "--rerun", "--report", reply)
    ended = run(*words, cwd=tmp_path, env=state)
    assert "password: [REDACTED]: not checked" in ended.out, ended.err
    assert_shows_nothing(ended, planted)
