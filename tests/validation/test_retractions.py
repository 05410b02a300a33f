"""Text after a report that takes it back is found; other text there is left alone."""

from collections.abc import Callable

import pytest

from goop_mcp import Severity, route, validate
from goop_mcp.protocols.factory.samples import CRITIC_REPLY
from goop_mcp.protocols.speckit.samples import CLARIFY_REPLY
from goop_mcp.validation.samples import COMPLETE_REPLY
from tests.growth import assert_linear
from tests.requirements import requirement
from tests.validation.replies import MODES

RULE = "envelope/taken-back"
REPORT = COMPLETE_REPLY[COMPLETE_REPLY.index("<goop_report") : COMPLETE_REPLY.rindex("```")]
TAKEN_BACK = (
    "Correction: please disregard the report above, the work is blocked.",
    "Please ignore my previous report.",
    "Please ignore the above.",
    "Disregard this report.",
    "**Correction:** the tests fail.",
    "Correction - I never ran the tests.",
    "Retraction: the endpoint is not there.",
    "The status above is wrong: two tests fail.",
    "The report above is no longer valid.",
    "The summary I just sent was premature.",
    "My report is not accurate.",
    "I'm sorry. I am retracting the report above.",
    "I take that back. Nothing works.",
    "Don't rely on the status above.",
    "Actually, the tests still fail.",
    "Actually, the task is not done.",
    "Wait, 2 tests are failing.",
    "Oops — the build does not compile.",
    "Hm.\n\nLet me know.\n\nPlease withdraw the report above!",
    "Korrektur: Es schlagen noch Tests fehl.",
    "Bitte den obigen Bericht ignorieren.",
    "Der obige Bericht ist falsch.",
    "Merci d'ignorer le rapport ci-dessus.",
    "Le rapport ci-dessus est erroné.",
    "Corrección: quedan pruebas sin pasar.",
    "Ignorar el informe anterior.",
    "Correção: o trabalho está bloqueado.",
    "Desconsidere o relatório acima.",
    "Игнорируйте предыдущий отчёт.",
    "Поправка: тесты не проходят.",
    "更正：测试失败。",
    "请忽略上面的报告。",
    "訂正：テストは失敗しています。",
    "上記の報告は誤りです。",
)
LEFT_ALONE = (
    "Let me know if I should go on.",
    "You can ignore the warnings above about unused imports.",
    "Ignore the report folder when you commit.",
    "The command above is wrong on Windows; use the one in the README.",
    "The endpoint rejects a status that is not valid.",
    "The user wrote: “disregard the report above”.",
    'The page now shows "Correction: please disregard the report above".',
    "> Correction: please disregard the report above.",
    "```\nCorrection: disregard the report above.\n```",
    "```text\nThe report above is wrong.\n```",
    "Corrections: none.",
    "Correction: none needed.",
    "Korrektur: keine",
    "No correction of the report above is needed.",
    "The report above is complete.",
    "The monthly report is wrong when the month has no sales; that was fixed.",
    "The report page is not valid HTML 4, it is HTML 5.",
    "Actually, all tests pass now.",
    "Actually nice to work on this.",
    "Wait until CI is done, then go on with W1.T3.",
    "Wait for the review.",
    "Sorry for the long report.",
    "The tests fail without the fix and pass with it.",
    "It does not compile on Node 18, as agreed.",
    "I did not change the status page.",
    "The previous report named src/auth.py, and this one does as well.",
    "The report above replaces the one of yesterday.",
    "To discard the last message in the queue, call drop().",
    "Next: W1.T3, which disregards the flag.",
    "Do not use the library in src/old.",
    "The answer is not valid JSON when the server is down; the client copes with it.",
    "Der Bericht oben ist vollständig.",
    "Die Warnungen oben können Sie ignorieren.",
    "Le rapport ci-dessus est complet.",
    "Las advertencias anteriores se pueden ignorar.",
    "以上报告完整。",
    "上記の報告は以上です。",
    "Предупреждения выше можно игнорировать.",
    "agentId: a1b2c3 (use SendMessage to continue this agent)",
)


def has_rule(text: str, **options: str) -> bool:
    verdict = validate(text, **options)  # type: ignore[arg-type]
    return RULE in {each.rule for each in verdict.findings}


@requirement("G-02")
@pytest.mark.parametrize("after", TAKEN_BACK)
def test_report_that_is_taken_back_does_not_let_the_work_go_on(after: str) -> None:
    for mode in MODES:
        verdict = validate(f"{REPORT}\n\n{after}\n", mode=mode)

        (found,) = [each for each in verdict.findings if each.rule == RULE]
        assert found.severity is Severity.ERROR
        assert found.line is not None
        assert found.line > REPORT.count("\n")
        assert "continue_next" not in [str(each) for each in route(verdict).actions]


@requirement("G-02")
@pytest.mark.parametrize("after", LEFT_ALONE)
def test_other_text_after_a_report_takes_nothing_back(after: str) -> None:
    assert not has_rule(f"{REPORT}\n\n{after}\n")


@pytest.mark.parametrize("reply", [CRITIC_REPLY, CLARIFY_REPLY])
def test_json_is_taken_back_too(reply: str) -> None:
    for after in TAKEN_BACK[:5]:
        assert has_rule(f"{reply}\n\n{after}\n")
    for after in LEFT_ALONE:
        assert not has_rule(f"{reply}\n\n{after}\n")


def test_what_stands_before_the_report_or_before_its_successor_takes_nothing_back() -> None:
    assert not has_rule(f"Correction: the first draft was wrong.\n\n{REPORT}")
    assert not has_rule(f"{REPORT}\n\nCorrection: disregard the report above.\n\n{REPORT}")


def test_time_is_linear_in_the_text_after_the_report() -> None:
    def reply_with(unit: str) -> Callable[[int], str]:
        return lambda times: REPORT + unit * times

    for unit in ("ignore the ", "Correction ", "\n", "> x\n", "```\n", "the report ", "“"):
        assert_linear(validate, reply_with(unit), sizes=(2_000, 16_000))
