"""The mark that ties a test to the requirements it proves."""

import pytest

from tests.requirements.ledger import load_ledger, nearest_id


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Tie a test, a class of tests or a `pytest.param` to the requirements it proves.

    Write the ids out as plain strings: `read_ties` finds them in the source, not by running it.
    Raise ValueError at import when no id is given or the ledger lacks one, so that a slip shows
    where it was made.
    """
    if not ids:
        raise ValueError("requirement() needs at least one id, for example requirement('G-45')")

    for wrong_id in (id for id in ids if id not in load_ledger()):
        nearest = nearest_id(wrong_id)
        hint = f"; did you mean {nearest}?" if nearest else ""
        raise ValueError(
            f"requirement {wrong_id!r} is not in tests/requirements/requirements.jsonl{hint}"
        )

    return pytest.mark.requirement(*ids)
