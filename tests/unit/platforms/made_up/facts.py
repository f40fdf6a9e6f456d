"""Plain facts of machines in racks."""

from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.spec.base import Platform
from gpufleet.spec.pool import Fabric

FACTS = PlatformFacts(
    platform=Platform.RACK,
    title="Rack",
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onPrem",),
    default_image="rack-linux",
    topology_levels=("rack.example.com/row", "kubernetes.io/hostname"),
    reset_may_be_forbidden=False,
    rdma_by_network_operator=True,
    importable=False,
)
