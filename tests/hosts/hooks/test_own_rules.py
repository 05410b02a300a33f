"""Custom rules, which the command of the hook names, and no file of the project."""

from dataclasses import replace

import pytest

from tests.hosts.hooks.hooks import GOOD, Host
from tests.validation.shop import FIX, TICKET

WITH_TICKET = GOOD.replace("<summary>", "<summary>SHOP-17: ")
FILE = """\
from tests.validation.shop import BROKEN, TICKET

print("loaded")
RULES = [TICKET]
"""


@pytest.fixture(
    params=[{}, {"check_workspace": True}, {"record": True}], ids=["text", "workspace", "record"]
)
def shop(host: Host, request: pytest.FixtureRequest) -> Host:
    """Return a host with a custom rule, with each setting that selects another code path."""
    host.configure(**request.param)
    (host.project / "shop_rules.py").write_text(FILE, encoding="utf-8")
    return replace(host, options=("--rules", "shop_rules.py"))


def test_an_agent_is_sent_back_for_them_and_passes_when_it_has_fixed_that(shop: Host) -> None:
    assert f"({TICKET.id}). {FIX}" in shop.send("SubagentStop", last_assistant_message=GOOD).reason
    fixed = shop.send("SubagentStop", last_assistant_message=WITH_TICKET, stop_hook_active=True)
    assert TICKET.id not in fixed.ended.out


PRINTING = """\
from dataclasses import replace

from tests.validation.shop import TICKET


def check(report, expected):
    print("judged", flush=True)
    return TICKET.check(report, expected)


RULES = replace(TICKET, check=check)
"""


def test_what_a_rule_prints_is_not_part_of_the_answer(shop: Host) -> None:
    (shop.project / "shop_rules.py").write_text(PRINTING, encoding="utf-8")
    answer = shop.send("SubagentStop", last_assistant_message=GOOD)
    assert f"({TICKET.id}). {FIX}" in answer.reason
    assert "judged" in answer.ended.err


def test_no_file_of_the_project_names_them(shop: Host) -> None:
    answer = replace(shop, options=()).send("SubagentStop", last_assistant_message=GOOD)
    assert TICKET.id not in answer.ended.out
    assert "loaded" not in answer.ended.err


def test_a_report_that_violates_them_is_marked(host: Host) -> None:
    host = replace(host, options=("--rules", "tests.validation.shop:TICKET"))
    content = [{"type": "text", "text": GOOD}]
    answer = host.send(
        "PostToolUse", tool_response={"agentType": "goop-executor", "content": content}
    )
    assert TICKET.id in answer.context


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("tests.validation.shop:BROKEN", "rule shop/ticket-missing failed: LookupError"),
        ("nothere.py", "'nothere.py' does not exist"),
    ],
)
def test_when_they_fail_the_report_passes_and_the_user_is_informed(
    host: Host, named: str, why: str
) -> None:
    answer = replace(host, options=("--rules", named)).send(
        "SubagentStop", last_assistant_message=GOOD
    )
    assert answer.passed
    assert answer.message.startswith("goop-mcp did not judge a report and allows it: ")
    assert why in answer.message


def test_an_option_without_a_value_is_reported(host: Host) -> None:
    answer = replace(host, options=("--rules",)).send("SubagentStop")
    assert answer.passed
    assert "--rules WHERE" in answer.ended.err
