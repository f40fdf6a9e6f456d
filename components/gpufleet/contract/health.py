"""Programs that detect and repair broken nodes: actions, limits, and waiting times."""

import json
from dataclasses import dataclass
from pathlib import Path

MANAGED_LABEL = "k8saas.nvidia.com/ManagedByNVSentinel"
"""Node label whose value `false` excludes a node from NVSentinel (NVIDIA/NVSentinel 073b2f4
`distros/kubernetes/nvsentinel/values-full.yaml`, ruleSets)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairer:
    """A program that repairs nodes."""

    who: str
    """Its name in messages, `EKS node auto repair`."""
    watches: str
    repairs: str
    cannot: str
    after: str
    """Documented duration of a fault before it acts."""
    keeps: str
    """Documented part of a pool that it leaves in service."""
    source: str
    sets_floor: bool = False
    """Whether its floor can be configured."""
    fixed_percent: int | None = None
    """Without `sets_floor`: the share of a pool's nodes that may be unhealthy, rounded up; None:
    not documented."""
    always: bool = False
    """Whether it cannot be switched off."""

    def takes(self, nodes: int) -> int | None:
        """Maximum number of nodes of a pool that it repairs at a time; None: not known."""
        if self.fixed_percent is None:
            return None
        return -(-nodes * self.fixed_percent // 100)


_FACTS = Path(__file__).with_name("nvsentinel.json").read_text(encoding="utf-8")
NVSENTINEL = Repairer(**json.loads(_FACTS))
