"""Host slots that machines of this process have claimed and an inventory may not show yet.

Two creates at once would both see the last free GPU. Each claims its host here before it clones. A
claim is not counted against an inventory that shows the machine running with its devices, however
old that inventory is; it ends when the machine failed or was removed.
"""

import threading
from collections import defaultdict

from gpufleet.nodes.vsphere.inventory import Inventory
from gpufleet.nodes.vsphere.placement import Placement

_CLAIMED: dict[tuple[str, str], set[str]] = defaultdict(set)
"""Vcenter and host -> instance uuids of machines that go there."""
_LOCK = threading.Lock()


def claim(
    server: str, machine: str, inventory: Inventory, placement: Placement, refused: set[str]
) -> str | None:
    """Claim a slot on the host of the placement that has most left; None when all are claimed.

    Args:
        server: Id of the vCenter.
        machine: Instance uuid of the machine that wants it.
        inventory: What the placement was made from.
        placement: What each host offers.
        refused: Hosts that already failed this machine.
    """
    hosts = inventory.by_name()
    with _LOCK:
        left: dict[str, int] = {}
        for row in placement.slots:
            if row.host in refused:
                continue
            runs = {h.instance_uuid for h in hosts[row.host].holdings if h.powered_on}
            left[row.host] = row.free - len(_CLAIMED[server, row.host] - runs - {machine})
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] < 1:
            return None
        _CLAIMED[server, best].add(machine)
        return best


def release(server: str, machine: str) -> None:
    """Forget what a machine claimed: it failed, or it is gone."""
    with _LOCK:
        for (where, _), machines in _CLAIMED.items():
            if where == server:
                machines.discard(machine)
