"""Versions, session ids, and sessions that wait for each other."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Expectations
from goop_mcp.protocols.agent_request.rules.session import schema_files
from goop_mcp.protocols.agent_request.sessions import find_cycle, is_session_id, mentioned_sessions
from goop_mcp.services.schemas import find_schema
from tests.protocols.agent_request.prompts import (
    PROMPT,
    changed,
    judge,
    judge_both,
    read_case,
    request_of,
    rules_of,
    the_finding,
)
from tests.requirements import requirement

OWN = "20260114-093000-login"


def waiting_for(*sessions: str) -> str:
    return changed(PROMPT, ('priority="high"', f'depends_on="{",".join(sessions)}"'))


@requirement("H-50")
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_versions_1_0_and_1_1_are_judged_by_one_schema(version: str) -> None:
    verdict = judge(changed(PROMPT, ('version="1.0"', f'version="{version}"')))

    assert rules_of(verdict) == []
    assert verdict.version == version
    assert find_schema("agent_request", version).file == "agent-handoff-v1.xsd"


@requirement("H-50", "H-51")
@pytest.mark.parametrize("version", ["2.0", "9.9", "1", "1.2", "", "one"])
def test_another_version_is_refused_and_its_schema_named(version: str) -> None:
    for verdict in judge_both(changed(PROMPT, ('version="1.0"', f'version="{version}"'))):
        finding = the_finding(verdict, "agent_request/unsupported-version")
        assert rules_of(verdict) == ["agent_request/unsupported-version"]
        assert f"agent-handoff-v{version}.xsd" in finding.message
        assert finding.expected == ("1.0", "1.1")


@requirement("H-51", "H-13")
def test_a_request_without_a_version_is_version_1_0() -> None:
    verdict = judge(changed(PROMPT, (' version="1.0"', "")))

    assert rules_of(verdict) == []
    assert request_of(verdict).version == "1.0"


@requirement("H-52")
def test_the_longer_name_of_a_schema_is_looked_for_first() -> None:
    assert schema_files("1.0") == ("agent-handoff-v1.0.xsd", "agent-handoff-v1.xsd")
    assert schema_files("2.0") == ("agent-handoff-v2.0.xsd", "agent-handoff-v2.xsd")


@requirement("H-45")
@pytest.mark.parametrize(
    "id", ["20251119-153042-grafana", "20251119-160000-backend-api", "20260101-000000-x1"]
)
def test_ids_of_date_time_and_name_are_session_ids(id: str) -> None:
    assert is_session_id(id)


@requirement("H-45")
@pytest.mark.parametrize(
    "id",
    ["grafana", "20251119-grafana", "20251119-153042", "20251119-153042-", "20251119-153042-A b"],
)
def test_another_form_is_a_warning(id: str) -> None:
    assert not is_session_id(id)
    for verdict in judge_both(changed(PROMPT, (OWN, id))):
        assert rules_of(verdict) == ["agent_request/session-id-form"]
        assert verdict.accepted


@requirement("H-45")
def test_an_id_that_is_not_the_name_of_the_folder_is_a_warning() -> None:
    folder = "docs/.scratch/sessions/20260114-093000-logout"
    prompt = changed(PROMPT, ("src/login.py", f"{folder}/login.py"))

    for verdict in judge_both(prompt, expected=Expectations(session_folder=folder)):
        assert rules_of(verdict) == ["agent_request/session-id-differs"]
        assert verdict.accepted

    assert rules_of(judge(prompt, expected=Expectations(session_id=OWN))) == []


@requirement("H-47")
def test_sibling_sessions_are_read_out_of_the_notes() -> None:
    notes = request_of(judge(read_case("6_4b_prometheus"))).backlog_notes

    assert mentioned_sessions(notes or "") == (
        "20251119-180000-validate-grafana",
        "20251119-180002-validate-traefik",
    )
    assert mentioned_sessions("no session, and 20251119 is a date") == ()


def test_a_session_that_nobody_knows_is_a_warning_only_where_the_caller_knows_the_sessions() -> (
    None
):
    prompt = waiting_for("20260113-080000-a", "20990101-000000-x")

    assert rules_of(judge(prompt)) == []
    for verdict in judge_both(prompt, expected=Expectations(sessions={"20260113-080000-a": ()})):
        finding = the_finding(verdict, "agent_request/dependency-unknown")
        assert finding.found == "20990101-000000-x"
        assert verdict.accepted


def test_a_session_that_waits_for_itself_is_refused_whatever_the_caller_knows() -> None:
    for verdict in judge_both(waiting_for(OWN)):
        assert rules_of(verdict) == ["agent_request/dependency-cycle"]
        assert not verdict.accepted


def test_sessions_that_wait_for_each_other_are_refused_and_named_in_order() -> None:
    a, b = "20260113-080000-a", "20260113-080000-b"
    verdict = judge(waiting_for(a), expected=Expectations(sessions={a: (b,), b: (OWN,)}))

    assert (
        f"{OWN} after {a} after {b} after {OWN}"
        in the_finding(verdict, "agent_request/dependency-cycle").message
    )


def test_a_long_chain_of_sessions_is_no_cycle() -> None:
    chain = {f"s{number}": (f"s{number + 1}",) for number in range(5_000)}

    assert find_cycle("s0", chain) == ()
    assert find_cycle("s0", {**chain, "s5000": ("s2500",)})[0] == "s2500"


NAMES = st.sampled_from("abcdef")


@given(st.dictionaries(NAMES, st.lists(NAMES, max_size=4)), NAMES)
def test_a_cycle_that_is_found_is_one_and_none_is_missed(
    waits_for: dict[str, list[str]], start: str
) -> None:
    cycle = find_cycle(start, waits_for)

    if cycle:
        assert cycle[0] == cycle[-1]
        assert all(later in waits_for[earlier] for earlier, later in pairwise(cycle))
    else:
        reached = {start}
        for _ in range(6):
            reached |= {each for name in reached for each in waits_for.get(name, ())}

        order: list[str] = []

        while len(order) < len(reached):
            ready = [
                name
                for name in reached
                if name not in order and set(waits_for.get(name, ())) <= set(order)
            ]
            assert ready, "no order in which each can start"
            order += ready
