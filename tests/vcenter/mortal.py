"""A simulator that is killed at any call and restarts with its state, as a vCenter does.

vcsim keeps its inventory in memory. The inventory follows from its model and the calls that changed
it, and the proxy before it records each of them: they are replayed after a restart, in the same
order. Finished operations are done again, incomplete machines included; accepted but unfinished
ones stay undone; sessions, tasks and events are gone; references and the server's own uuid are the
same (`references`).
"""

import threading
from dataclasses import dataclass
from pathlib import Path

from gpufleet_sandbox.errors import SandboxError
from tests.vcenter.fault_proxy import Change, FaultProxy, Life
from tests.vcenter.plain_soap import PlainSoap, machine_of, task_of, tasks_of
from tests.vcenter.references import References
from tests.vcenter.simulator import RunningVcenter, SimulatedVcenter, start

_DATACENTER = "DC0"
_STARTS = 60
"""A Go map, which has no order, decides which machine of the model becomes the template: the
simulator is started until it is the same as in the first run, one time in three with three."""
_SPOKEN = ("soapaction", "content-type")
"""Headers of a call that belong to the call, and not to the connection or the session."""


@dataclass(frozen=True, slots=True)
class _Known:
    """Common settings of every run."""

    machines: dict[str, str]
    server_id: str


class MortalVcenter:
    """The simulator behind one proxy."""

    def __init__(
        self,
        program: Path,
        inventory: SimulatedVcenter,
        running: RunningVcenter,
        proxy: FaultProxy,
    ) -> None:
        """Manage a simulator that was not changed yet.

        Args:
            program: The built `vcsim`.
            inventory: Start inventory of the simulator. Without TLS.
            running: The simulator.
            proxy: The proxy before it.
        """
        self._program, self._inventory, self._proxy = program, inventory, proxy
        self._dying = threading.Lock()
        self._lives = 1
        self._done: list[tuple[Change, str | None]] = []
        """Calls of earlier runs, each with the machine that it created."""
        self._running = running
        self._known = _common(self._asked())
        self._failure: SandboxError | None = None

    @property
    def running(self) -> RunningVcenter:
        """The simulator as it runs now; one that is dying is waited for."""
        with self._dying:
            return self._running

    @property
    def failure(self) -> SandboxError | None:
        """Why it did not come back, if it did not."""
        with self._dying:
            return self._failure

    @property
    def deaths(self) -> int:
        """Times it was killed."""
        return self._lives - 1

    def forget_changes(self) -> None:
        """The inventory is the model's again: no change is left to replay."""
        with self._proxy.lock:
            self._proxy.changes.clear()
        self._done.clear()

    def die(self) -> None:
        """Kill it now, and start its next run with all finished operations.

        Calls in progress are interrupted. A failed restart is kept in `failure`, and the proxy then
        responds to no call.
        """
        with self._dying:
            try:
                self._live_again()
            except SandboxError as problem:
                self._failure = problem

    def stop(self) -> None:
        """End it for good."""
        self.running.stop()

    def _live_again(self) -> None:
        with self._proxy.lock:
            life, self._proxy.life = self._proxy.life, None
            taken, self._proxy.changes = self._proxy.changes, []
        if life is None:
            raise SandboxError("the simulator is down already")
        self._done += _carried_out(taken, life.names, self._asked())
        self._running.kill()
        soap, server_id = self._started()
        lasting = frozenset(self._known.machines)
        names = References(self._lives, lasting, (server_id, self._known.server_id))
        for change, made in self._done:
            _tell(soap, names, change, made)
        self._lives += 1
        self._proxy.life = Life(self._running.host, self._running.port, names)

    def _started(self) -> tuple[PlainSoap, str]:
        """A simulator with the same model, and its server's uuid."""
        found: _Known | None = None
        for _ in range(_STARTS):
            self._running = start(self._program, self._inventory)
            soap = self._asked()
            found = _common(soap)
            if found.machines == self._known.machines:
                return soap, found.server_id
            self._running.kill()
        raise SandboxError(
            f"the simulator began with {self._known.machines}, and its {_STARTS} next starts with "
            f"others, the last with {found and found.machines}"
        )

    def _asked(self) -> PlainSoap:
        known = self._inventory
        return PlainSoap(self._running.host, self._running.port, known.user, known.password)


def _common(soap: PlainSoap) -> _Known:
    return _Known(soap.machines(_DATACENTER), soap.server_id())


def _carried_out(
    taken: list[Change], names: References, soap: PlainSoap
) -> list[tuple[Change, str | None]]:
    """Those of the calls that came to something, each with the machine that it made."""
    done: list[tuple[Change, str | None]] = []
    for change in taken:
        if change.task is None:
            done.append((change, None))
            continue
        outcome = soap.outcome(names.inner(change.task))
        if outcome is not None:
            made = machine_of(outcome) if change.method == "CloneVM_Task" else None
            done.append((change, None if made is None else names.outer(made)))
    return done


def _tell(soap: PlainSoap, names: References, change: Change, made: str | None) -> None:
    """Repeat the call of an earlier run."""
    spoken = {k: v for k, v in change.headers.items() if k.lower() in _SPOKEN}
    answer = soap.post(names.inside(change.body), spoken)
    if change.task is None:
        return
    outcome = soap.outcome(task_of(answer))
    if outcome is None:
        raise SandboxError(f"{change.method} succeeded in an earlier life and fails in this one")
    for begun in tasks_of(outcome):
        soap.outcome(begun)
    if made is not None:
        names.bind(machine_of(outcome), made)
