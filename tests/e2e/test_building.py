"""In real clients a report is built from fields, accepted at once, and recorded by reference."""

import json
from collections.abc import Callable

import pytest

from goop_mcp.context import AppContext
from goop_mcp.services.recorded_reports import list_reports
from goop_mcp.settings import Settings
from goop_mcp.validation.feedback import OPENING
from tests.e2e import claude_code, opencode
from tests.e2e.building import FIELDS, build_and_record
from tests.e2e.clients import CLAUDE_CODE, OPENCODE, Client, Ended, Sandbox
from tests.e2e.pace import patience
from tests.e2e.script import DONE
from tests.e2e.scripted_model import ScriptedModel, scripted_model
from tests.services.reporting import record, report, working_in


def in_claude_code(sandbox: Sandbox, model: ScriptedModel) -> Ended:
    claude_code.write_project(sandbox, settings=claude_code.hook_settings())
    return claude_code.run_claude(sandbox, model, "GOOP-MAIN delegate")


def in_opencode(sandbox: Sandbox, model: ScriptedModel) -> Ended:
    opencode.write_project(sandbox)
    opencode.install(sandbox)
    return opencode.delegate(sandbox, model, "GOOP-MAIN delegate")


def on(client: Client, run: Callable[[Sandbox, ScriptedModel], Ended]) -> object:
    reason = client.missing_reason()
    skip = pytest.mark.skipif(reason is not None, reason=reason or "")
    return pytest.param(run, id=client.program, marks=skip)


@pytest.mark.requirement("P-20")
@pytest.mark.parametrize("records", [False, True], ids=["kept", "recorded"])
@pytest.mark.parametrize("run", [on(CLAUDE_CODE, in_claude_code), on(OPENCODE, in_opencode)])
def test_a_built_report_is_accepted_at_once_and_recorded_without_writing_it_again(
    sandbox: Sandbox, run: Callable[[Sandbox, ScriptedModel], Ended], *, records: bool
) -> None:
    folder = sandbox.project / ".goopspec"
    folder.mkdir(parents=True)
    (folder / "hooks.json").write_text(json.dumps({"record": records}), encoding="utf-8")
    with working_in(sandbox.project) as context:
        record(context, report("W1.T1"))

    with scripted_model(build_and_record) as model:
        ended = run(sandbox, model)

    assert ended.code == 0, ended.err
    assert DONE in ended.out
    assert ended.seconds < patience()
    turns = [each for each in model.conversations if "GOOP-SUB" in each.first_text]
    assert turns[-1].times_received(OPENING) == 0
    assert any("build_report" in call for each in turns[-1].messages for call in each.calls)

    with AppContext(Settings(project=sandbox.project)) as application:
        found = list_reports(application.store)
    assert [(each.report, each.task, each.summary) for each in found.reports][:1] == [
        (2, "W1.T2", FIELDS["summary"])
    ]
    assert len(found.reports) == 2

    main = [each for each in model.conversations if "GOOP-MAIN" in each.first_text][-1]
    answered = main.messages[-1].text
    assert ("duplicate" if records else "recorded") in answered
    assert "the last reply of goop-executor, kept at" in answered
