"""Replies of agents of everyday size."""

from pathlib import Path
from typing import Final

__all__ = ["CUT_OFF", "ENVELOPE", "REPLY", "REPORT_FILE", "TO_REPAIR", "TWO_ERRORS", "XSD_FILE"]

_ROOT = Path(__file__).parent.parent
REPORT_FILE: Final = _ROOT / "tests/cases/goop_report/016_executor_complete.xml"
XSD_FILE: Final = _ROOT / "schemas/goop_report/0.1.6.xsd"

ENVELOPE: Final = REPORT_FILE.read_text("utf-8").strip()
"""The executor's example of the specification."""

_PROSE = """\
I have finished the task. The service issues and checks JSON Web Tokens, the middleware refuses
requests without one, and the routes for login and logout are in place. I chose `jose`, as it also
runs at the edge; `jsonwebtoken` does not.

All tests pass and the types check. The next task is the session management, which can start at
once: it needs only `src/auth/service.ts`.

"""


def _reply(envelope: str) -> str:
    return f"{_PROSE}```xml\n{envelope}\n```\n"


def _replaced(text: str, **changes: str) -> str:
    for old, new in changes.items():
        if old not in text:
            raise ValueError(
                f"{old!r} does not stand in the example; the benchmark has to follow it"
            )

        text = text.replace(old, new)

    return text


REPLY: Final = _reply(ENVELOPE)
"""A valid reply of 2 kB: prose, then the example in a fence."""

TWO_ERRORS: Final = _reply(_replaced(ENVELOPE, COMPLETE="DONE", decision="choice"))
"""An unknown status and an unknown memory type."""

TO_REPAIR: Final = _reply(
    _replaced(ENVELOPE, **{"login/logout": "login & logout", "12 passed": "12 passed, 0 < 1"})
)
"""A bare `&` and a bare `<`."""

CUT_OFF: Final = REPLY[: len(_PROSE) + len(ENVELOPE) * 7 // 10]
"""The reply stops after seven tenths of the envelope."""
