"""JSON envelopes for comparing a schema with the engine: good ones, and ones with errors."""

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from tests.protocols.json_replies import load_cases

Json = Any

# What is right in one place is wrong in another, so every value may come to stand anywhere.
VALUES: tuple[Json, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        3,
        100,
        -1,
        2.0,
        12.5,
        "",
        " ",
        "x",
        "1",
        [],
        {},
        ["x"],
        [1],
        [None],
        {"a": 1},
        [{}],
    ),
    *(
        "success",
        "error",
        "questions",
        "failure",
        "Success",
        "ok",
        "success|error",
        "<agent-name>",
        "<why>",
        "<x>",
    ),
    *(
        "plan",
        "Plan",
        "speckit-plan",
        "/speckit.tasks",
        "baker",
        "a|b",
        "HIGH",
        "high",
        "BLOCKER",
        "PASSED",
        "PASS",
    ),
    *(
        "2026-01-15T10:30:00Z",
        "2026-01-15T10:30:00.5+02:00",
        "2026-01-15",
        "yesterday",
        "2026-13-01T00:00:00Z",
    ),
    *(
        "MISSING_PLAN",
        "missing-plan",
        "T001",
        "T1",
        "a.md:1",
        "a.md",
        "docs/a.md",
        "a/{id}/b",
        "a/<id>/b",
    ),
    *(
        "PrerequisiteError",
        "prerequisiteerror",
        "ask_user",
        "Ask_User",
        "retry",
        "pray",
        "run_prerequisite_agent",
    ),
    *(
        "PASS",
        "BLOCKING",
        "Blocking",
        "MAYBE",
        "medium",
        "LOW",
        "90%",
        "config",
        "Config",
        "code",
        "ready_for_review",
    ),
    *(
        "complete",
        "ux",
        "APPROVED",
        "NOT_TESTED",
        "missing_input",
        "Done",
        "ä | b",
        "high|medium|low",
        "é…",
    ),
)


def good_envelopes(protocol: str) -> list[dict[str, Json]]:
    """Return the envelopes among the cases of `protocol` that strict mode takes."""
    found: list[dict[str, Json]] = [
        json.loads(case.text)
        for case in load_cases(protocol)
        if case.expected["strict"] != "errors" and case.file.endswith(".json")
    ]
    return found


def places(value: Json) -> Iterator[tuple[Json, Json]]:
    """Yield each container in `value` with each key or index in it."""
    if isinstance(value, dict):
        for key in list(value):
            yield value, key
            yield from places(value[key])
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value, index
            yield from places(value[index])


def variants(envelope: Json, value: Json) -> Iterator[Json]:
    """Yield copies of `envelope`, in each of which `value` stands in another place."""
    for number in range(sum(1 for _ in places(envelope))):
        copy = deepcopy(envelope)
        container, key = list(places(copy))[number]
        container[key] = deepcopy(value)
        yield copy


def without_each(envelope: Json) -> Iterator[tuple[str, Json]]:
    """Yield copies of `envelope`, each without one member, and the name of that member."""
    for number in range(sum(1 for _ in places(envelope))):
        copy = deepcopy(envelope)
        container, key = list(places(copy))[number]
        del container[key]
        yield str(key), copy


@st.composite
def envelopes(draw: st.DrawFn, protocol: str) -> dict[str, Json]:
    """Draw a good envelope and up to four changes to it."""
    envelope: dict[str, Json] = deepcopy(draw(st.sampled_from(good_envelopes(protocol))))
    for _ in range(draw(st.integers(0, 4))):
        found = list(places(envelope))
        if not found:
            break

        container, key = found[draw(st.integers(0, len(found) - 1))]
        if draw(st.booleans()):
            container[key] = deepcopy(VALUES[draw(st.integers(0, len(VALUES) - 1))])
        elif isinstance(container, dict) and draw(st.booleans()):
            name = draw(st.sampled_from(["extra", "error", "result", "verdict", "agent"]))
            container[name] = deepcopy(VALUES[draw(st.integers(0, len(VALUES) - 1))])
        else:
            del container[key]

    return envelope
