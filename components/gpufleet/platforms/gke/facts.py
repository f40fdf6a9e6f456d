"""Plain facts of Google Kubernetes Engine."""

from gpufleet.catalogue import InstanceType
from gpufleet.contract.platform_facts import platform_facts
from gpufleet.spec.pool_kinds import Fabric


def fabric_of(row: InstanceType) -> Fabric:
    """The kind of GPUDirect that a machine type has."""
    return Fabric((row.gpudirect or "none").lower().replace("gpudirect", "").strip(" -"))


FACTS = platform_facts(__file__, fabric_of=fabric_of)
