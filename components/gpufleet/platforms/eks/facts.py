"""Plain facts of Amazon EKS."""

from gpufleet.catalogue import InstanceType
from gpufleet.contract.platform_facts import platform_facts
from gpufleet.spec.pool_kinds import Fabric


def fabric_of(row: InstanceType) -> Fabric:
    """EFA, if the type supports it."""
    return Fabric.EFA if row.efa_interfaces else Fabric.NONE


FACTS = platform_facts(__file__, fabric_of=fabric_of)
