"""Plain facts of OpenShift on Google Cloud."""

from dataclasses import replace

from gpufleet.catalogue import GCP
from gpufleet.platforms.openshift.facts import FACTS as OPENSHIFT
from gpufleet.spec.base import Platform
from gpufleet.spec.pool_kinds import Fabric

FACTS = replace(
    OPENSHIFT,
    platform=Platform.OPENSHIFT_GCP,
    title="OpenShift on Google Cloud",
    clouds=(GCP,),
    example_region="us-central1",
    cluster_fields=("region", "project"),
    # GCPMachineProviderSpec has no field for a reservation, and one network interface cannot be
    # GPUDirect's.
    fabrics=(Fabric.NONE,),
    capacity=("onDemand", "spot"),
    spot_takes_a_price=False,
    images_of=Platform.OPENSHIFT,
    rdma_by_network_operator=False,
    vgpu=False,
    repair_options=("openshift_gcp.health.enabled", "openshift_gcp.health.max_unhealthy"),
    janitor="gcp",
)
