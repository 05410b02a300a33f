"""Distinguish a cancellation of the call from one that the agent causes itself."""

from anyio import get_cancelled_exc_class

__all__ = ["is_being_cancelled"]


def is_being_cancelled() -> bool:
    """Whether the running task is being cancelled, where a cancellation was caught.

    Under asyncio whoever awaits something cancelled gets the same exception without being
    cancelled. Under trio nobody does.
    """
    if get_cancelled_exc_class().__module__.startswith("trio"):
        return True

    # Is there where it is used; nobody else should load it
    import asyncio  # noqa: PLC0415

    task = asyncio.current_task()

    return task is None or task.cancelling() > 0
