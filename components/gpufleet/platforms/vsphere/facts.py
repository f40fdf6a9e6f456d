"""Plain facts of machines on vSphere."""

from gpufleet.contract.platform_facts import PlatformFacts, Relabelling
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric

FACTS = PlatformFacts(
    platform=Platform.VSPHERE,
    title="vSphere",
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onPrem",),
    importable=False,
    default_image="ubuntu-vsphere",
    rdma_by_network_operator=True,
    vgpu=True,
    # Every way of joining passes them to the kubelet (`node_join.py`).
    kubelet_sets_labels=True,
    relabelling=Relabelling(
        "pulumi up",
        "the machine is recreated: its first-boot data names the new configuration, and "
        "guests read that data only once",
        "you",
    ),
)
