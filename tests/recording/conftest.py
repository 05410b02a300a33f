import pytest

_MARKER = "recorder"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARKER}: starts the recorder in each state; only `make recorder` runs it"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the states of the recorder, unless the marker is asked for."""
    if _MARKER in str(config.getoption("markexpr")):
        return

    long = [item for item in items if item.get_closest_marker(_MARKER) is not None]
    items[:] = [item for item in items if item not in long]
    config.hook.pytest_deselected(items=long)
