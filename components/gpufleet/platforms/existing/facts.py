"""Plain facts of existing nodes."""

from gpufleet.contract.platform_facts import PlatformFacts, Relabelling
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric

FACTS = PlatformFacts(
    platform=Platform.EXISTING,
    title="a cluster that exists",
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onPrem", "onDemand"),
    cluster_fields=("region",),
    any_seller=True,
    nodes_exist=True,
    importable=False,
    default_image="plain",
    rdma_by_network_operator=True,
    relabelling=Relabelling(
        "pulumi up",
        "with `labelsBy: apply` it writes the labels of each wave; a NodeFeatureRule changes all "
        "nodes at once, and with `commands` you label those of each wave",
        "you",
    ),
)
