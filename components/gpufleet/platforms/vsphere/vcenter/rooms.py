"""Where the machines of one group can go: an inventory that those made together share."""

import threading
import time
from collections.abc import Callable

from gpufleet.platforms.vsphere.vcenter.drs import DrsGroup
from gpufleet.platforms.vsphere.vcenter.errors import Code, VsphereError
from gpufleet.platforms.vsphere.vcenter.inventory import Inventory, PerGpu
from gpufleet.platforms.vsphere.vcenter.placement import Reach
from gpufleet.platforms.vsphere.vcenter.preflight import choose_hosts, wish_for
from gpufleet.platforms.vsphere.vcenter.reservations import claim
from gpufleet.platforms.vsphere.vcenter.settings import NodeSettings

_PAUSE = 1.0
"""Seconds before looking again when every free slot is claimed by another create."""
_LONGEST_PAUSE = 10.0


class Rooms:
    """Reads the inventory when it must, and claims a host for one machine after the other.

    An old inventory does no harm: what has been claimed since is known. It is read again when it
    shows no room, because machines may have gone.
    """

    def __init__(self, read: Callable[[], Inventory], server: str, per_gpu: PerGpu) -> None:
        """Nothing is read yet.

        Args:
            read: Reads the inventory.
            server: Id of the vCenter.
            per_gpu: Most vGPUs of a profile on one GPU.
        """
        self._read, self._server, self._per_gpu = read, server, per_gpu
        self._lock = threading.Lock()
        self._known: tuple[Inventory, float] | None = None

    def claim(
        self,
        settings: NodeSettings,
        machine: str,
        reach: Reach,
        group: DrsGroup | None,
        refused: set[str],
    ) -> str | None:
        """A host with room for the machine, claimed. None: every host has refused it.

        Waits while all free slots are claimed by machines that are being made, for as long as a
        clone may take.

        Raises:
            VsphereError: no host has room; the text says what each lacks.
        """
        deadline = time.monotonic() + settings.timeouts.clone
        wish = wish_for(settings, reach, group)
        pause = _PAUSE
        (inventory, read_at), fresh = self._inventory(None)
        while True:
            if refused and refused >= {host.name for host in inventory.hosts}:
                return None
            try:
                placement = choose_hosts(inventory, settings, reach, self._per_gpu, group)
            except VsphereError:
                if fresh:
                    raise
                (inventory, read_at), fresh = self._inventory(inventory)
                continue
            name = claim(self._server, machine, inventory, read_at, wish, self._per_gpu, refused)
            if name is not None:
                return name
            if refused and all(not row.free or row.host in refused for row in placement.slots):
                return None
            if time.monotonic() >= deadline:
                raise VsphereError(
                    Code.GPU_CAPACITY,
                    f"every free slot for {settings.name} was claimed by other machines of this "
                    f"update for {settings.timeouts.clone} s",
                    "add a host, or make fewer machines",
                )
            if fresh:
                time.sleep(pause)
                pause = min(pause * 1.5, _LONGEST_PAUSE)
            (inventory, read_at), fresh = self._inventory(inventory)

    def _inventory(self, known: Inventory | None) -> tuple[tuple[Inventory, float], bool]:
        """An inventory other than `known` with the time when reading it began, and whether that was
        just now."""
        with self._lock:
            if self._known is None or self._known[0] is known:
                began = time.monotonic()
                self._known = (self._read(), began)
                return self._known, True
            return self._known, False
