"""Plain facts of the local control plane with simulated nodes."""

from gpufleet.catalogue import AWS, GCP
from gpufleet.contract.platform_facts import PlatformFacts, Relabelling
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric

FACTS = PlatformFacts(
    platform=Platform.SANDBOX,
    title="the sandbox",
    # It simulates the instance types of any cloud.
    clouds=(AWS, GCP),
    cluster_fields=("region",),
    vendors=("nvidia", "aws"),
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onDemand", "spot", "reserved", "onPrem"),
    sells_as_listed=False,
    importable=False,
    default_image="sandbox",
    reset_may_be_forbidden=False,
    rdma_by_network_operator=True,
    # It simulates the guest.
    vgpu=True,
    simulated=True,
    own_charts=True,
    relabelling=Relabelling(
        "pulumi up", "the node's label names the new configuration", "pulumi up"
    ),
)
