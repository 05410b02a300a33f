"""Verdicts of all families are read again from their JSON values, with typed envelopes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goop_mcp import Verdict, validate
from goop_mcp.protocols import FAMILIES
from goop_mcp.validation.findings import Mode
from tests.repository import ROOT
from tests.validation.replies import EXECUTOR, changed, fenced

CASES = ROOT / "tests" / "cases"
FAMILY_NAMES = tuple(family.name for family in FAMILIES)
PATHS = sorted(
    path
    for name in FAMILY_NAMES
    for path in (CASES / name).rglob("*")
    if path.suffix in (".xml", ".json", ".md", ".txt")
)
MODES: tuple[Mode, ...] = ("lenient", "strict")


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def again(verdict: Verdict) -> Verdict:
    return Verdict.from_dict(json.loads(json.dumps(verdict.to_dict())))


def is_the_same(verdict: Verdict) -> None:
    read_again = again(verdict)
    assert read_again.to_dict() == verdict.to_dict()
    assert type(read_again.envelope) is type(verdict.envelope)
    assert (read_again.findings, read_again.repairs) == (verdict.findings, verdict.repairs)
    assert bool(read_again) == bool(verdict)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("family", FAMILY_NAMES)
def test_every_case_of_a_family_is_read_again_with_its_model(family: str, mode: Mode) -> None:
    models = 0
    for path in PATHS:
        if path.is_relative_to(CASES / family):
            verdict = validate(read(path), mode=mode)
            is_the_same(verdict)
            models += verdict.envelope is not None
            assert again(verdict).envelope == verdict.envelope

    assert models > 10


@given(st.sampled_from(PATHS), st.sampled_from(MODES), st.data())
def test_damaged_replies_are_read_again_as_well(
    path: Path, mode: Mode, data: st.DataObject
) -> None:
    text = read(path)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    put_in = data.draw(st.text(max_size=8))
    is_the_same(validate(text[:start] + put_in + text[end:], mode=mode))


def test_extensions_are_read_again_as_text() -> None:
    verdict = validate(
        fenced(changed(EXECUTOR, ("<handoff>", "<hint>one</hint><hint><b>two</b></hint><handoff>")))
    )
    assert verdict.to_dict()["envelope"]["extensions"]["hint"] == ["one", "<hint><b>two</b></hint>"]
    is_the_same(verdict)


GOOD: Mapping[str, Any] = validate(fenced(EXECUTOR)).to_dict()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "fine"}, "verdict is 'fine'; expected one of accepted, rejected"),
        ({"findings": 3}, "findings is 3; expected a list"),
        ({"findings": [{}]}, "findings[0] has no 'rule'"),
        ({"omitted": True}, "omitted is True; expected int"),
        ({"envelope": []}, "the report is not an object"),
        ({"protocol": "goop_rapport"}, "protocol is 'goop_rapport'; expected one of goop_report"),
        (
            {"envelope": {"version": "1", "status": "DONE", "agent": None}},
            "status is 'DONE'; expected one of COMPLETE",
        ),
        ({"envelope": {"extensions": {"a": 1}}}, "extensions is not an object of lists"),
        (
            {"findings": [{"rule": "a/b", "severity": "error", "message": "m", "fix": "f"}]},
            "accepted although there are errors",
        ),
    ],
    ids=str,
)
def test_what_no_verdict_wrote_is_refused_by_its_place(
    change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        Verdict.from_dict({**GOOD, **change})
    assert message in str(caught.value)


def test_what_a_newer_version_adds_is_left_out() -> None:
    assert Verdict.from_dict({**GOOD, "newer": 1}) == Verdict.from_dict(GOOD)


def test_values_that_are_nested_too_deeply_are_refused() -> None:
    child: dict[str, Any] = {"name": "a"}
    for _ in range(100_000):
        child = {"name": "a", "children": [child]}

    values = {**GOOD, "protocol": "agent_request", "envelope": {"extensions": [child]}}
    with pytest.raises(ValueError, match="nested too deeply"):
        Verdict.from_dict(values)

    while child.get("children"):
        child = child["children"].pop()
