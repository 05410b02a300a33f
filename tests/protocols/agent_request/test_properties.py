"""What holds for any prompt: no exception, true positions, nothing truncated is accepted."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from goop_mcp import Severity
from goop_mcp.protocols.agent_request.writing import write_prompt
from goop_mcp.validation.findings import Mode
from goop_mcp.validation.limits import DEFAULT_LIMITS
from tests.protocols.agent_request.prompts import (
    CASES,
    MODES,
    PROMPT,
    changed,
    judge,
    judge_both,
    load_cases,
    read_case,
    request_of,
    rules_of,
)
from tests.protocols.agent_request.strategies import SNIPPETS
from tests.repository import ROOT
from tests.requirements import requirement

PIECES = st.sampled_from(
    [
        *SNIPPETS,
        "\n",
        "\n```xml\n",
        "\n```\n",
        "\n~~~\n",
        "<agent_request>",
        "<agent_request",
        "</agent_request>",
        "<constraints>",
        "</constraints>",
        "<deliverables>",
        "</deliverables>",
        '<file path="a">',
        "</file>",
        "</mode>",
        ' xmlns="http://instructor-workflow.org/agent-handoff/v1"',
        '<x:y xmlns:x="urn:x">',
        "</x:y>",
        "<!--",
        "-->",
        "<!DOCTYPE a>",
        "\x00",
        "\ud800",
        " ",
    ]
)
WHOLE = [case.text for case in load_cases()]


@st.composite
def spoilt_prompts(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(WHOLE))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(PIECES) + text[at + draw(st.integers(0, 30)) :]
    return text


@given(
    st.one_of(st.lists(PIECES, max_size=30).map("".join), spoilt_prompts(), st.text(max_size=60))
)
def test_any_text_gets_a_verdict_whose_places_lie_in_it(text: str) -> None:
    lines = text.split("\n")

    for verdict in judge_both(text):
        for finding in verdict.findings:
            assert finding.line is None or 1 <= finding.line <= len(lines)
            assert (
                finding.column is None
                or 1 <= finding.column <= len(lines[(finding.line or 1) - 1]) + 1
            )

        assert verdict.accepted == all(f.severity is not Severity.ERROR for f in verdict.findings)
        assert verdict.to_dict()["envelope"] is None or verdict.protocol == "agent_request"


@given(spoilt_prompts())
def test_a_repaired_request_is_accepted_without_another_repair(text: str) -> None:
    verdict = judge(text)

    if verdict.accepted and verdict.repaired_text is not None:
        again = judge(f"`````````xml\n{verdict.repaired_text}\n`````````\n", "strict")
        errors = {f.rule for f in again.findings if f.severity is Severity.ERROR}
        assert errors <= {"agent_request/unknown-element"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name", ["6_1_backend_api", "fence_in_details_3bt", "unfenced", "namespaced_minimal"]
)
def test_a_request_cut_at_any_character_is_never_accepted_as_whole(name: str, mode: Mode) -> None:
    text = read_case(name)
    start, end = (
        text.index("<agent_request") + 1,
        text.index("</agent_request>") + len("</agent_request>"),
    )

    for length in range(start, end):
        verdict = judge(text[:length], mode)
        rules = set(rules_of(verdict))
        if verdict.accepted and verdict.envelope is not None:
            assert mode == "lenient", f"cut after {length} characters"
            assert "envelope/root-not-closed" in rules
            assert text[:length].rstrip().endswith((">", "`"))
        elif verdict.accepted:
            # Before a child tag follows, the beginning of a tag in prose is no envelope (D-16).
            assert rules == {"agent_request/no-envelope"}
            assert length < text.index("<mode>") + 2


@requirement("H-59")
def test_an_external_entity_is_refused_and_its_file_never_shown(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret of the file", encoding="utf-8")
    prompt = changed(read_case("11_1_xxe"), ("/etc/passwd", str(secret)))

    for verdict in judge_both(prompt):
        assert rules_of(verdict) == ["xml/doctype"]
        assert not verdict.accepted
        assert "the secret" not in str(verdict.to_dict())


@requirement("H-60")
def test_the_parser_resolves_nothing_and_loads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, object] = {}
    build: Callable[..., object] = etree.XMLParser

    def noting(**given: object) -> object:
        options.update(given)
        return build(**given)

    monkeypatch.setattr(etree, "XMLParser", noting)
    judge(PROMPT)
    wanted = {
        "resolve_entities": False,
        "no_network": True,
        "dtd_validation": False,
        "load_dtd": False,
    }
    assert {**options, **wanted, "huge_tree": False} == options


@requirement("H-60")
def test_entities_that_blow_up_are_refused_at_once() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    prompt = changed(PROMPT, ("```xml\n", f'```xml\n<!DOCTYPE a [<!ENTITY e0 "x">{entities}]>\n'))

    started = time.thread_time()
    assert rules_of(judge(prompt)) == ["xml/doctype"]
    assert time.thread_time() - started < 1


@requirement("H-61")
@pytest.mark.parametrize(
    "value",
    [
        '"src/&#10;x"',
        '"src/a\0.py"',
        '"src/a&#0;.py"',
        '"src/a&#x00;.py"',
        "src/a\0.py",
        "“src/a\x1b.py”",
        '"\0"',
    ],
)
def test_a_path_with_a_control_character_is_refused(value: str) -> None:
    verdict = judge(changed(PROMPT, ('"src/login.py"', value)))

    assert verdict.verdict == "rejected"
    assert rules_of(verdict).count("path/outside-workspace") == 1


@requirement("H-62")
def test_nothing_in_a_request_is_executed(tmp_path: Path) -> None:
    mark = tmp_path / "made"
    prompt = changed(
        PROMPT,
        (
            "Write the tests first, then the endpoint.",
            f"$(touch {mark}) `touch {mark}` {{{{7*7}}}}",
        ),
    )
    file = tmp_path / "prompt.md"
    file.write_text(prompt, encoding="utf-8")

    assert request_of(judge(prompt)).task_details == f"$(touch {mark}) `touch {mark}` {{{{7*7}}}}"
    write_prompt(request_of(judge(prompt)), title=f"$(touch {mark})")
    ended = subprocess.run(
        [sys.executable, "-m", "goop_mcp", "gate", str(file)],
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0
    assert not mark.exists()


@requirement("H-63")
@pytest.mark.parametrize(
    "prompt",
    [
        pytest.param("x" * (DEFAULT_LIMITS.text_bytes + 1), id="text"),
        pytest.param(
            changed(PROMPT, ("Next:", "x" * DEFAULT_LIMITS.envelope_bytes)), id="envelope"
        ),
        pytest.param(
            changed(PROMPT, ("Next:", "x" * (DEFAULT_LIMITS.field_bytes + 1))), id="field"
        ),
        pytest.param(
            changed(
                PROMPT,
                ('priority="high"', " ".join(f'a{n}=""' for n in range(DEFAULT_LIMITS.attributes))),
            ),
            id="attributes",
        ),
        pytest.param(
            changed(
                PROMPT,
                ("</constraints>", "<constraint/>" * DEFAULT_LIMITS.elements + "</constraints>"),
            ),
            id="elements",
        ),
    ],
)
def test_what_is_over_a_limit_is_refused(prompt: str) -> None:
    for verdict in judge_both(prompt):
        assert "envelope/too-large" in rules_of(verdict)
        assert not verdict.accepted


@pytest.mark.parametrize(
    "piece", ["```xml\n", "~~~\n```\n", "<agent_request>", "a```", "<!--", "{{a}}", "<mode>", "<x>"]
)
def test_time_grows_with_the_size_of_the_prompt(piece: str) -> None:
    def seconds(size: int) -> float:
        """Return the time of the processor, which other programs hardly change."""
        text = PROMPT + piece * (size // len(piece)) + "\n"
        best = float("inf")
        for _ in range(3):
            started = time.thread_time()
            judge(text)
            best = min(best, time.thread_time() - started)

        return best

    assert seconds(400_000) < max(seconds(50_000), 0.002) * 8 * 4


@requirement("H-57")
def test_the_first_judgement_of_a_process_takes_under_50_milliseconds() -> None:
    code = (
        "import sys, time; from goop_mcp.validation import pipeline; "
        "from goop_mcp.protocols.agent_request import AGENT_REQUEST; "
        "text = open(sys.argv[1], encoding='utf-8').read(); start = time.thread_time(); "
        "verdict = pipeline.validate(text, (AGENT_REQUEST,), protocol='agent_request'); "
        "print(time.thread_time() - start); assert verdict.accepted"
    )
    best = min(
        float(
            subprocess.run(
                [sys.executable, "-c", code, str(CASES / "6_1_backend_api.md")],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                check=True,
                capture_output=True,
                text=True,
                timeout=300,
            ).stdout
        )
        for _ in range(3)
    )
    assert best < 0.05
