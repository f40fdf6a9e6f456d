"""Plain facts of OpenShift on vSphere."""

from gpufleet.contract.platform_facts import PlatformFacts
from gpufleet.platforms.openshift.beta_claims import TECHNOLOGY_PREVIEW
from gpufleet.platforms.openshift.health_check import REPAIRERS
from gpufleet.platforms.openshift.network_parts import NETWORK_PARTS
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric, Provisioner

FACTS = PlatformFacts(
    platform=Platform.OPENSHIFT,
    title="OpenShift",
    provisioners=(Provisioner.MANAGED, Provisioner.CLUSTER_AUTOSCALER),
    fabrics=(Fabric.NONE, Fabric.RDMA),
    capacity=("onPrem",),
    default_image="rhcos",
    rdma_by_network_operator=True,
    vgpu=True,
    lifecycle_manager=True,
    repairers=REPAIRERS,
    repair_options=("openshift.health.enabled", "openshift.health.max_unhealthy"),
    network_parts=NETWORK_PARTS,
    console_dashboards=True,
    beta_claims=TECHNOLOGY_PREVIEW,
)
