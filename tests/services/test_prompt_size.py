"""A built prompt states its size, and the share of its markup."""

from goop_mcp.services.build_request import build_request
from tests.requirements import requirement

DETAILS = "Write the tests, then the endpoint. " * 40


def size(details: str = DETAILS) -> dict[str, int | float]:
    return build_request(
        original_intent="Let users log in",
        current_task_summary="Add POST /login",
        task_details=details,
        deliverables=[{"kind": "file", "path": "src/login.py", "text": "The endpoint"}],
    ).size.to_dict()


@requirement("H-58")
def test_a_task_of_usual_length_grows_by_no_more_than_a_quarter() -> None:
    sizes = size()
    assert 0.15 <= sizes["overhead"] <= 0.25
    assert sizes["bytes"] > sizes["text_bytes"] > len(DETAILS)


def test_the_longer_the_task_the_smaller_is_the_share_of_the_markup() -> None:
    assert size("Do it now.")["overhead"] > size()["overhead"] > size(DETAILS * 10)["overhead"]


def test_bytes_are_those_of_the_file_and_tokens_are_counted_by_characters() -> None:
    wide = size("終わり" * 100)
    assert wide["bytes"] > 900
    assert wide["tokens"] < wide["bytes"] / 4
