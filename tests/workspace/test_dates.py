"""Times as they stand in documents."""

import pytest

from goop_mcp.workspace.documents.dates import comparable_moment


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-01-15T10:00:00+02:00", "2026-01-15T08:00:00.000+00:00"),
        (" 2026-01-15T10:00:00 ", "2026-01-15T10:00:00.000+00:00"),
        ("2026-01-15", "2026-01-15T23:59:59.999+00:00"),
        ("soon", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-10:00", None),
    ],
)
def test_a_time_that_somebody_wrote_is_comparable_or_none(written: str, moment: str | None) -> None:
    assert comparable_moment(written) == moment
