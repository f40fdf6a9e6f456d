"""Host slots that machines of this process have claimed and an inventory may not show yet.

Two creates at once would both see the last free GPU. Each claims its host here before it clones,
and says when its machine runs. A claim counts against an inventory that was read before that,
unless it shows the machine running already: so an old inventory may be used, and a newer one is
believed.
"""

import threading
import time
from collections import defaultdict
from dataclasses import dataclass

from gpufleet.platforms.vsphere.vcenter.inventory import Holding, Inventory, PerGpu
from gpufleet.platforms.vsphere.vcenter.placement import Wish, place


@dataclass(frozen=True, slots=True)
class Claim:
    """What a machine that is being made will hold of its host."""

    holding: Holding
    runs_since: float | None
    """`time.monotonic()` when its maker saw it run; None: not yet."""


_CLAIMED: dict[tuple[str, str], dict[str, Claim]] = defaultdict(dict)
"""Vcenter and host -> instance uuid of each machine that goes there, and what it will hold."""
_LOCK = threading.Lock()


def claim(
    server: str,
    machine: str,
    inventory: Inventory,
    read_at: float,
    wish: Wish,
    per_gpu: PerGpu,
    refused: set[str],
) -> str | None:
    """Claim a slot on the host that has most left; None when all are claimed.

    Args:
        server: Id of the vCenter.
        machine: Instance uuid of the machine that wants it.
        inventory: What the hosts have.
        read_at: `time.monotonic()` when reading it began.
        wish: What the machine asks of a host. What others claimed counts as what it is: a GPU that
            one of them will have by passthrough runs no vGPU.
        per_gpu: Most vGPUs of a profile on one GPU.
        refused: Hosts that already failed this machine.
    """
    with _LOCK:
        claimed: dict[str, tuple[Holding, ...]] = {}
        for host in inventory.hosts:
            shown = {held.instance_uuid for held in host.holdings if held.powered_on} | {machine}
            claimed[host.name] = tuple(
                other.holding
                for uuid, other in _CLAIMED[server, host.name].items()
                if uuid not in shown and (other.runs_since is None or other.runs_since > read_at)
            )
        slots = place(inventory.with_holdings(claimed), wish, per_gpu).slots
        left = {row.host: row.free for row in slots if row.host not in refused}
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] < 1:
            return None
        _CLAIMED[server, best][machine] = Claim(wish.holding(machine), None)
        return best


def runs(server: str, machine: str) -> None:
    """The machine that claimed a slot runs: an inventory read from now on shows it."""
    now = time.monotonic()
    with _LOCK:
        for (where, _), machines in _CLAIMED.items():
            if where == server and machine in machines:
                machines[machine] = Claim(machines[machine].holding, now)


def release(server: str, machine: str) -> None:
    """Forget what a machine claimed: it failed, or it is gone."""
    with _LOCK:
        for (where, _), machines in _CLAIMED.items():
            if where == server:
                machines.pop(machine, None)
