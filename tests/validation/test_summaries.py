"""A summary that says that something is not done is compared with the status."""

import pytest

from goop_mcp import Severity, validate
from goop_mcp.protocols.factory.samples import BLOCKING_REPLY, NOTED_REPLY
from goop_mcp.validation.check_texts import admitted_in
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.growth import assert_linear
from tests.requirements import requirement
from tests.validation.replies import MODES

SUMMARY = "<summary>Added the login endpoint.</summary>"
RULE = "goop_report/summary-contradicts-status"
ADMITTED = (
    "Added the CSV export; 2 tests still fail.",
    "Added the export, but two tests are still failing.",
    "Added the export. Some tests still fail.",
    "Added the CSV export; it is only a stub.",
    "Added the login endpoint, only a stub so far.",
    "Login works; the export is just a placeholder.",
    "Added the page. Three unit tests still fail on Windows.",
    "The endpoint is there. The build is still broken.",
    "Added the parser, but error handling is not yet implemented.",
    "Added the parser; the writer is not implemented yet.",
    "Rate limiting is still not working.",
    "Added the form. Validation is still missing.",
    "The CI still fails.",
    "Added the export. The writer still needs to be implemented.",
    "Added the endpoint; 3 of them still fail.",
    "Added the module (still only a skeleton).",
    "Added the client, but it does not compile yet.",
    "Export hinzugefügt; 2 Tests schlagen noch fehl.",
    "Der Export ist da, aber zwei Tests schlagen noch fehl.",
    "Export hinzugefügt, bisher nur ein Stub.",
    "Export ajouté ; deux tests échouent encore.",
    "Exportación añadida; todavía fallan dos pruebas.",
    "Exportação adicionada; dois testes ainda falham.",
    "Экспорт добавлен; два теста всё ещё падают.",
    "已添加导出；仍有两个测试失败。",
    "エクスポートを追加しました。2件のテストがまだ失敗しています。",
)
HONEST = (
    "Added the CSV export; all tests pass.",
    "Added the CSV export. The tests still pass.",
    "Replaced what was only a stub with the real client.",
    "Mail sending is only a stub, as specified.",
    "Mail sending is only a stub, as agreed for this wave.",
    "Methods that are not yet implemented return 501.",
    "Shows a message when an export is not implemented yet.",
    "The test uses only a stub of the payment client.",
    "Added only a stub server for the tests.",
    "OAuth is not implemented yet (planned for W2.T1).",
    "OAuth is not yet implemented; it is out of scope here.",
    "2 tests still fail on main for unrelated reasons.",
    "Two tests still fail, both pre-existing and unrelated to this change.",
    "Retries while the call still fails, at most 3 times.",
    "Locks the account if the login still fails.",
    "Ensures that a build that still fails is reported.",
    "Detects tests that still fail after a retry.",
    "Added a placeholder to the search field.",
    "The search field has a placeholder.",
    "The loading page is only a skeleton until data arrives.",
    "Added the skeleton loader component.",
    "Removed the placeholder; the page is complete.",
    "The two tests that still failed are fixed.",
    "No test is still failing.",
    "Nothing is missing any more, and no tests still fail.",
    'Users see "2 tests still fail" in the banner.',
    "Added a report that lists features that are not done yet.",
    "The dashboard now shows which checks are still red.",
    "The old build was still broken; it passes now.",
    "Old clients still work.",
    "The flag is not set yet when the page loads; handled.",
    "Keeps working even if the cache is still missing.",
    "Before the change 2 tests still failed.",
    "Documented what is not implemented yet.",
    "The stub of the server is only used in tests.",
    "Zeigt an, welche Tests noch fehlschlagen.",
    "Export hinzugefügt, alle Tests bestehen noch.",
    "Ersetzt den Platzhalter durch den echten Client.",
    "Zwei Tests schlagen noch fehl, beide unabhängig von dieser Änderung.",
    "Noch nicht bezahlte Rechnungen werden gelistet.",
    "Export ajouté, tous les tests passent encore.",
    "Affiche les tests qui échouent encore.",
    "Deux tests échouent encore, comme sur la branche principale.",
    "Exportación añadida, todavía pasan todas las pruebas.",
    "Lista las facturas todavía no pagadas.",
    "Exportação adicionada, todos os testes ainda passam.",
    "Показывает ещё не оплаченные счета.",
    "Экспорт добавлен, все тесты по-прежнему проходят.",
    "已添加导出，所有测试仍然通过。",
    "显示仍未支付的发票。",
    "エクスポートを追加、テストはまだすべて成功しています。",
    "まだ支払われていない請求書を表示します。",
)


def report_with(summary: str) -> str:
    return COMPLETE_REPLY.replace(SUMMARY, f"<summary>{summary}</summary>")


@requirement("G-47")
@pytest.mark.parametrize("summary", ADMITTED)
def test_complete_report_that_says_what_is_not_done_gets_a_finding(summary: str) -> None:
    found = {mode: validate(report_with(summary), mode=mode).findings for mode in MODES}

    assert {
        mode: [each.severity for each in findings if each.rule == RULE]
        for mode, findings in found.items()
    } == {"lenient": [Severity.WARNING], "strict": [Severity.ERROR]}


@requirement("G-47")
@pytest.mark.parametrize("summary", HONEST)
def test_honest_summary_gets_none(summary: str) -> None:
    verdict = validate(report_with(summary))

    assert {each.rule for each in verdict.findings if each.severity is not Severity.INFO} == set()


@requirement("G-47")
def test_unfinished_report_may_say_what_is_not_done() -> None:
    text = report_with("Added the export; 2 tests still fail.").replace("COMPLETE", "PARTIAL")

    assert RULE not in {each.rule for each in validate(text).findings}


@requirement("F-10")
@pytest.mark.parametrize(
    ("reply", "summary"),
    [
        (NOTED_REPLY, "Built the modes of the pipeline"),
        (
            "**Status:** success\n\nDeliverables:\n- `a.md`\n\nSummary: Wrote it all.\n",
            "Wrote it all.",
        ),
    ],
)
def test_success_of_a_factory_agent_is_compared_too(reply: str, summary: str) -> None:
    rule = "factory/summary-contradicts-status"
    for text, is_found in ((ADMITTED[0], True), (HONEST[0], False)):
        verdict = validate(reply.replace(summary, text), protocol="factory")
        assert (rule in {each.rule for each in verdict.findings}) is is_found

    review = BLOCKING_REPLY.replace('"summary": "', f'"summary": "{ADMITTED[0]} ')
    assert ADMITTED[0] in review
    assert rule not in {each.rule for each in validate(review, protocol="factory").findings}


@pytest.mark.parametrize(
    "unit",
    ["tests ", "still ", "a b ", "is only ", "noch ", "2 ", "a-", ";", ". ", "is still not "],
)
def test_time_is_linear_in_the_summary(unit: str) -> None:
    assert_linear(admitted_in, lambda times: "still " + unit * times, sizes=(100, 800))
