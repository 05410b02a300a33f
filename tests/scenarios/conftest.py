import pytest

pytest.register_assert_rewrite("tests.scenarios.checks", "tests.scenarios.playing")

_MARKER = "scenarios"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARKER}: plays a whole project once more; only `make scenarios` runs it"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long plays, unless the marker is asked for."""
    if _MARKER in str(config.getoption("markexpr")):
        return

    long = [item for item in items if item.get_closest_marker(_MARKER) is not None]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)
