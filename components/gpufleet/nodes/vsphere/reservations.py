"""Host slots that machines of this process have claimed and an inventory may not show yet.

Two creates at once would both see the last free GPU. Each claims its host here before it clones,
and says when its machine runs. A claim counts against an inventory that was read before that,
unless it shows the machine running already: so an old inventory may be used, and a newer one is
believed.
"""

import threading
import time
from collections import defaultdict

from gpufleet.nodes.vsphere.inventory import Inventory
from gpufleet.nodes.vsphere.placement import Placement

_CLAIMED: dict[tuple[str, str], dict[str, float | None]] = defaultdict(dict)
"""Vcenter and host -> instance uuid of each machine that goes there, and since when it runs."""
_LOCK = threading.Lock()


def claim(
    server: str,
    machine: str,
    inventory: Inventory,
    read_at: float,
    placement: Placement,
    refused: set[str],
) -> str | None:
    """Claim a slot on the host of the placement that has most left; None when all are claimed.

    Args:
        server: Id of the vCenter.
        machine: Instance uuid of the machine that wants it.
        inventory: What the placement was made from.
        read_at: `time.monotonic()` when reading it began.
        placement: What each host offers.
        refused: Hosts that already failed this machine.
    """
    hosts = inventory.by_name()
    with _LOCK:
        left: dict[str, int] = {}
        for row in placement.slots:
            if row.host in refused:
                continue
            shown = {h.instance_uuid for h in hosts[row.host].holdings if h.powered_on}
            counted = {
                other
                for other, runs_since in _CLAIMED[server, row.host].items()
                if runs_since is None or runs_since > read_at
            }
            left[row.host] = row.free - len(counted - shown - {machine})
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] < 1:
            return None
        _CLAIMED[server, best][machine] = None
        return best


def runs(server: str, machine: str) -> None:
    """The machine that claimed a slot runs: an inventory read from now on shows it."""
    now = time.monotonic()
    with _LOCK:
        for (where, _), machines in _CLAIMED.items():
            if where == server and machine in machines:
                machines[machine] = now


def release(server: str, machine: str) -> None:
    """Forget what a machine claimed: it failed, or it is gone."""
    with _LOCK:
        for (where, _), machines in _CLAIMED.items():
            if where == server:
                machines.pop(machine, None)
