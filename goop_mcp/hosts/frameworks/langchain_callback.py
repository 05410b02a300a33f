"""Notice the runs of a graph that fail or are cancelled, by the callbacks of langchain."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from goop_mcp.hosts.frameworks.packages import needing

with needing("langchain_core", extra="langchain"):
    from langchain_core.callbacks import BaseCallbackHandler

with needing("langgraph", extra="langgraph"):
    from langgraph.config import get_config
    from langgraph.errors import GraphBubbleUp

__all__ = ["FailedRunCallback"]

Report = Callable[[Mapping[str, Any], BaseException], None]


class FailedRunCallback(BaseCallbackHandler):
    """For `graph.with_config(callbacks=[...])`: calls `report` when a run fails or is cancelled.

    `report` receives the state as the nodes of the graph knew it, and what was raised. A run
    that waits for a person has not failed. May serve several runs at once.
    """

    # Called where the run is, and not on a thread: nothing waits for a thread in a cancellation.
    run_inline = True

    def __init__(self, report: Report) -> None:
        self._report = report
        # The graph's run around each run that is under way. Callbacks are inherited by everything
        # that a node or a tool starts; only the nodes of the graph itself have its state.
        self._graph_runs: dict[UUID, UUID] = {}
        self._states: dict[UUID, Mapping[str, Any]] = {}
        self._reported: set[UUID] = set()

    def mark_reported(self) -> None:
        """Note that the failure of the caller's run is reported already.

        The caller is a node of the graph.
        """
        around = getattr(get_config().get("callbacks"), "parent_run_id", None)
        if around in self._graph_runs:
            self._reported.add(self._graph_runs[around])

    # The arguments are those of langchain.
    def on_chain_start(  # noqa: D102
        self,
        serialized: object,  # noqa: ARG002
        inputs: object,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: object,
    ) -> None:
        graph_run = self._enter(run_id, parent_run_id)
        if parent_run_id == graph_run and isinstance(inputs, Mapping) and "messages" in inputs:
            self._states[graph_run] = inputs

    def on_chain_end(  # noqa: D102
        self, outputs: object, *, run_id: UUID, parent_run_id: UUID | None = None, **_: object
    ) -> None:
        self._leave(run_id)
        if parent_run_id in self._states and isinstance(outputs, Mapping):
            # A tool is not given the state. What a node adds to the messages depends on the graph;
            # every other value replaces the one before.
            added = {name: value for name, value in outputs.items() if name != "messages"}
            self._states[parent_run_id] = {**self._states[parent_run_id], **added}

    def on_chain_error(  # noqa: D102
        self, error: BaseException, *, run_id: UUID, **_: object
    ) -> None:
        is_graph, is_reported = self._graph_runs.get(run_id) == run_id, run_id in self._reported
        state = self._leave(run_id)
        if is_graph and not is_reported and not isinstance(error, GraphBubbleUp):
            self._report(state, error)

    def on_tool_start(  # noqa: D102
        self,
        serialized: object,  # noqa: ARG002
        input_str: object,  # noqa: ARG002
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **_: object,
    ) -> None:
        self._enter(run_id, parent_run_id)

    def on_tool_end(  # noqa: D102
        self,
        output: object,  # noqa: ARG002
        *,
        run_id: UUID,
        **_: object,
    ) -> None:
        self._leave(run_id)

    def on_tool_error(  # noqa: D102
        self,
        error: object,  # noqa: ARG002
        *,
        run_id: UUID,
        **_: object,
    ) -> None:
        self._leave(run_id)

    def _enter(self, run_id: UUID, parent_run_id: UUID | None) -> UUID:
        graph_run = run_id if parent_run_id is None else self._graph_runs.get(parent_run_id, run_id)
        self._graph_runs[run_id] = graph_run
        return graph_run

    def _leave(self, run_id: UUID) -> Mapping[str, Any]:
        self._graph_runs.pop(run_id, None)
        self._reported.discard(run_id)
        return self._states.pop(run_id, {})
