"""Host slots that creates of this process have claimed and vCenter does not show yet.

Two creates at once would both see the last free GPU. Each claims its host here before it clones,
and lets go when its machine is seen with its devices, or failed.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gpufleet.nodes.vsphere.placement import Placement

_CLAIMED: Counter[tuple[str, str]] = Counter()
_LOCK = threading.Lock()


@contextmanager
def claimed(server: str, placement: Placement, refused: set[str]) -> Iterator[str | None]:
    """Claim a host of the placement with a slot nobody else of this process has claimed.

    Args:
        server: Id of the vCenter.
        placement: What each host offers.
        refused: Hosts that already failed this machine.

    Yields:
        The host's name, or None when all slots are claimed.
    """
    name = _claim(server, placement, refused)
    try:
        yield name
    finally:
        if name is not None:
            with _LOCK:
                _CLAIMED[server, name] -= 1


def _claim(server: str, placement: Placement, refused: set[str]) -> str | None:
    with _LOCK:
        left = {
            row.host: row.free - _CLAIMED[server, row.host]
            for row in placement.slots
            if row.host not in refused
        }
        best = min(left, key=lambda name: (-left[name], name), default=None)
        if best is None or left[best] < 1:
            return None
        _CLAIMED[server, best] += 1
        return best
