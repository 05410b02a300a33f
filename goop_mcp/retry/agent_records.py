"""What is remembered of an agent from call to call: its usage, and whether calls succeed."""

from collections import OrderedDict, deque
from collections.abc import Hashable
from threading import Lock
from typing import Final
from weakref import ref

from goop_mcp.errors import GoopError
from goop_mcp.retry.replies import Agent, Usage

__all__ = ["AgentRecord", "AgentUnavailableError", "find_record", "key_of", "record_of"]

_FAILURES_TO_OPEN: Final = 5
_FIRST_REST: Final = 30.0
_LONGEST_REST: Final = 600.0
_USAGES_KEPT: Final = 5
_MOST_KEYS: Final = 1000


class AgentUnavailableError(GoopError):
    """Raised instead of a call to an agent whose last calls all failed.

    `retry_after` is when one may be tried.
    """

    # Of many jobs that share the agent, one that waited would go on loading a provider that fails.
    retryable = False

    def __init__(self, failures: int, retry_after: float) -> None:
        """Take how many calls failed in a row, and the seconds until the next one is allowed."""
        self.failures, self.retry_after = failures, retry_after
        super().__init__(
            f"not called: {failures} calls in a row failed; the next one is allowed in"
            f" {retry_after:.0f} s"
        )

    def __reduce__(self) -> tuple[type["AgentUnavailableError"], tuple[int, float]]:
        """Be made again from what it was made of."""
        return type(self), (self.failures, self.retry_after)


class AgentRecord:
    """The usages and the circuit of one agent.

    May be shared by threads; times are seconds that never go back.
    """

    __slots__ = ("_failures", "_lock", "_open_until", "_probing", "_rest", "_usages")

    def __init__(self) -> None:
        self._lock = Lock()
        self._usages: deque[Usage] = deque(maxlen=_USAGES_KEPT)
        self._failures = 0
        self._open_until: float | None = None
        self._rest = _FIRST_REST
        self._probing = False

    def add_usage(self, usage: Usage) -> None:
        """Remember what an answer used."""
        with self._lock:
            self._usages.append(usage)

    def expected_usage(self) -> Usage:
        """Return the largest of the last five usages; unknown where none is known."""
        with self._lock:
            tokens = [each.tokens for each in self._usages if each.tokens is not None]
            costs = [each.cost for each in self._usages if each.cost is not None]
        return Usage(tokens=max(tokens, default=None), cost=max(costs, default=None))

    def admit(self, now: float) -> bool:
        """Admit a call; return whether it is the probe of an open circuit.

        Raises AgentUnavailableError while the circuit is open, or its probe under way.
        """
        with self._lock:
            if self._open_until is None:
                return False

            # While a probe is under way nobody knows when the circuit closes: at the latest after
            # another rest.
            wait = self._rest if self._probing else self._open_until - now
            if wait > 0:
                raise AgentUnavailableError(self._failures, min(wait, self._rest))

            self._probing = True

            return True

    def settle(self, now: float, *, failed: bool | None, probe: bool) -> None:
        """Take note of how a call ended; `failed` is None where nothing was learned of the agent.

        Five failures in a row open the circuit for 30 s; each probe that fails doubles that, up to
        10 min. Calls that were under way when it opened change nothing by failing as well.
        """
        with self._lock:
            if probe:
                self._probing = False
            if failed is None:
                return
            if not failed:
                self._failures, self._open_until, self._rest = 0, None, _FIRST_REST
                return

            self._failures += 1
            if probe:
                self._rest = min(2 * self._rest, _LONGEST_REST)
                self._open_until = now + self._rest
            elif self._open_until is None and self._failures >= _FAILURES_TO_OPEN:
                self._open_until = now + self._rest


_records: dict[Hashable, tuple[AgentRecord, object]] = {}
_named: OrderedDict[str, AgentRecord] = OrderedDict()
_lock = Lock()


def key_of(agent: Agent) -> Hashable:
    """Return what identifies `agent` while it lives.

    Agents are the same when they are one object, a method of one object, or name the same
    `agent_key`, a text or another object. A bound method is a new object each time it is looked up;
    its own object and its function stay.
    """
    known = _known_as(agent)
    if isinstance(known, str):
        return known

    function = getattr(known, "__func__", None)

    return id(known) if function is None else (id(getattr(known, "__self__", known)), id(function))


def _known_as(agent: Agent) -> object:
    """Return what identifies `agent` and all that are the same: its `agent_key`, else itself."""
    key: object = getattr(agent, "agent_key", None)
    return agent if key is None else key


def find_record(key: Hashable) -> AgentRecord | None:
    """Return what is remembered of the agent with this `key_of`; None when that is nothing."""
    if isinstance(key, str):
        return _named.get(key)
    found = _records.get(key)
    return None if found is None else found[0]


def record_of(agent: Agent) -> AgentRecord:
    """Return the record of `agent`, a new one when nothing is remembered of it.

    A record goes with its agent; an agent that cannot be watched for that has a new one each time.
    """
    key = key_of(agent)
    with _lock:
        if isinstance(key, str):
            record = _named.setdefault(key, AgentRecord())
            _named.move_to_end(key)
            while len(_named) > _MOST_KEYS:
                _named.popitem(last=False)

            return record

        if key in _records:
            return _records[key][0]

        record = AgentRecord()

        # The key of an object is its `id`, which another object may get after its end: the record
        # is removed with the object. Of a bound method the object is watched, as the method itself
        # is gone at once.
        try:
            owner = _known_as(agent)
            owner = owner if isinstance(key, int) else getattr(owner, "__self__", owner)
            watch = ref(owner, lambda _: _records.pop(key, None))
        except TypeError:
            return record

        _records[key] = record, watch

        return record
